//! The lease sizes of a budget: found by Weir, or between two bounds.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a policy writes where it gives no bounds.
const AUTO: &str = "auto";

/// `"auto"`, or `{"min":1,"max":16}`.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::lease_sizes::LeaseSizesBody;
/// assert_eq!(read_json(b"\"auto\""), Ok(LeaseSizesBody::Auto));
/// let refused = read_json::<LeaseSizesBody>(br#"{"min":1,"most":16}"#).unwrap_err();
/// assert_eq!(refused.field, "/most");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseSizesBody {
    /// What is lent ahead follows demand alone.
    Auto,
    /// It follows demand between two bounds.
    Between(LeaseBoundsBody),
}

/// The least and the most units of a lease ahead of demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LeaseBoundsBody {
    /// The least.
    pub min: Option<u64>,
    /// The most.
    pub max: Option<u64>,
}

impl Serialize for LeaseSizesBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(AUTO),
            Self::Between(bounds) => bounds.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LeaseSizesBody {
    /// By what it is, and not by trial, so that a fault within is found where it stands.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sizes;

        impl<'de> Visitor<'de> for Sizes {
            type Value = LeaseSizesBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{AUTO:?} or an object with min and max")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<LeaseSizesBody, E> {
                if text == AUTO {
                    return Ok(LeaseSizesBody::Auto);
                }
                Err(E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LeaseSizesBody, A::Error> {
                let bounds = LeaseBoundsBody::deserialize(MapAccessDeserializer::new(map))?;
                Ok(LeaseSizesBody::Between(bounds))
            }
        }

        deserializer.deserialize_any(Sizes)
    }
}
