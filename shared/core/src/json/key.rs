//! A member's name as a deserializer: JSON writes numbers there as texts.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::fault::Fault;

/// A name.
pub(super) struct Key<'a>(pub &'a str);

impl Key<'_> {
    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if let Ok(number) = self.0.parse() {
            return visitor.visit_u64(number);
        }
        match self.0.parse() {
            Ok(number) => visitor.visit_i64(number),
            Err(_) => Err(Fault::invalid_type(Unexpected::Str(self.0), &visitor)),
        }
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.number(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    numbers!(
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64
    );

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de, 'a> EnumAccess<'de> for Key<'a> {
    type Error = Fault;
    type Variant = <StrDeserializer<'a, Fault> as EnumAccess<'de>>::Variant;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), Fault> {
        StrDeserializer::new(self.0).variant_seed(seed)
    }
}
