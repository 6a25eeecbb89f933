//! A number of units that may be without a bound.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a policy writes in the place of a number that is meant to have no bound.
const UNLIMITED: &str = "unlimited";

/// A number of units, or `"unlimited"`.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::amount::AmountBody;
/// assert_eq!(read_json(b"5"), Ok(AmountBody::Units(5)));
/// assert_eq!(read_json(b"\"unlimited\""), Ok(AmountBody::Unlimited));
/// assert!(read_json::<AmountBody>(b"-1").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountBody {
    /// So many.
    Units(u64),
    /// Any number.
    Unlimited,
}

impl AmountBody {
    /// The number, if there is one.
    #[must_use]
    pub fn units(self) -> Option<u64> {
        match self {
            Self::Units(units) => Some(units),
            Self::Unlimited => None,
        }
    }
}

impl Serialize for AmountBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Units(units) => serializer.serialize_u64(*units),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for AmountBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;

        impl Visitor<'_> for Amount {
            type Value = AmountBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an integer of at least 0 or {UNLIMITED:?}")
            }

            fn visit_u64<E: Error>(self, units: u64) -> Result<AmountBody, E> {
                Ok(AmountBody::Units(units))
            }

            fn visit_i64<E: Error>(self, units: i64) -> Result<AmountBody, E> {
                let negative = |_| E::invalid_value(Unexpected::Signed(units), &self);
                u64::try_from(units)
                    .map(AmountBody::Units)
                    .map_err(negative)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<AmountBody, E> {
                if text == UNLIMITED {
                    return Ok(AmountBody::Unlimited);
                }
                Err(E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Amount)
    }
}
