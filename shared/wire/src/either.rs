//! A value that is written as a word, as a number or as an object, read by what it is and not by trial, so that a fault
//! within an object is found where it stands.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};

/// How the forms of one value become it. `O` is the object's form.
pub trait Either<O>: Sized {
    /// What may stand there, for a refusal.
    const EXPECTED: &'static str;

    /// The value that a word means; `None` for a word that means none.
    fn word(word: &str) -> Option<Self>;

    /// The value that a number means; `None` where no number is one.
    fn number(_number: u64) -> Option<Self> {
        None
    }

    /// The value that an object means.
    fn object(object: O) -> Self;
}

/// Reads such a value.
///
/// # Errors
/// The reader's, and one that says what may stand there.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::route::KeyBody;
/// assert_eq!(read_json(br#""tenant""#), Ok(KeyBody::Tenant));
/// let refused = read_json::<KeyBody>(br#"{"header":5}"#).unwrap_err();
/// assert_eq!(refused.field, "/header");
/// ```
pub fn deserialize<'de, D, O, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    O: Deserialize<'de>,
    T: Either<O>,
{
    struct Forms<O, T>(PhantomData<(O, T)>);

    impl<'de, O: Deserialize<'de>, T: Either<O>> Visitor<'de> for Forms<O, T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
            T::word(word).ok_or_else(|| E::invalid_value(Unexpected::Str(word), &self))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            T::number(number).ok_or_else(|| E::invalid_type(Unexpected::Unsigned(number), &self))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            O::deserialize(MapAccessDeserializer::new(map)).map(T::object)
        }
    }

    deserializer.deserialize_any(Forms(PhantomData))
}
