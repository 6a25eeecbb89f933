//! A JSON object whose keys are all different. Most readers let the last of two equal keys win, and the first would
//! be dropped unseen.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use weir_core::ordered::OrderedMap;

/// Reads a map, refusing a key that was there before.
///
/// # Errors
/// The reader's, and one that names the key given twice.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::policy::PolicyDocument;
/// let twice = br#"{"tiers":{"free":{"weight":1},"free":{"weight":2}}}"#;
/// let refused = read_json::<PolicyDocument>(twice).unwrap_err();
/// assert!(refused.to_string().contains("\"free\" is given twice"));
/// ```
pub fn deserialize<'de, D, V>(deserializer: D) -> Result<OrderedMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Unique<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = OrderedMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = OrderedMap::new();
            while let Some(key) = entries.next_key::<String>()? {
                let value = entries.next_value()?;
                if map.contains_key(&key) {
                    return Err(A::Error::custom(format_args!("{key:?} is given twice")));
                }
                map.insert(key, value);
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Unique(PhantomData))
}

/// Reads a map that may be null, refusing a key that was there before.
///
/// # Errors
/// As [`deserialize`].
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::check::CheckRequest;
/// let twice = br#"{"limit":"login","keys":{"ip":"a","ip":"b"}}"#;
/// let refused = read_json::<CheckRequest>(twice).unwrap_err();
/// assert_eq!(refused.field, "/keys");
/// ```
pub fn optional<'de, D, V>(deserializer: D) -> Result<Option<OrderedMap<String, V>>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Unique<V>(OrderedMap<String, V>);

    impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserialize(deserializer).map(Self)
        }
    }

    let map = Option::<Unique<V>>::deserialize(deserializer)?;
    Ok(map.map(|map| map.0))
}
