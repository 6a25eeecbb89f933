//! A unit counter as it travels: a JSON number up to 2^53, a string above, so that no reader loses digits.

use std::fmt;
use std::ops::AddAssign;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_core::limits::JSON_INTEGER_MAX;

/// A count of units or calls. Saturates at `u128::MAX`, which 10^9 units a second reach after 10^22 years.
///
/// ```
/// use weir_wire::count::Count;
/// assert_eq!(serde_json::to_string(&Count(9_007_199_254_740_991)).unwrap(), "9007199254740991");
/// assert_eq!(serde_json::to_string(&Count(9_007_199_254_740_992)).unwrap(), "\"9007199254740992\"");
/// let back: Count = serde_json::from_str("\"9007199254740992\"").unwrap();
/// assert_eq!(back, Count(9_007_199_254_740_992));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u128);

impl Count {
    /// Whether nothing was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

/// Whether a number is left out where it travels: a reader takes its absence for nothing.
#[must_use]
pub fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl AddAssign<u64> for Count {
    fn add_assign(&mut self, units: u64) {
        self.0 = self.0.saturating_add(u128::from(units));
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.0) {
            Ok(small) if small <= JSON_INTEGER_MAX => serializer.serialize_u64(small),
            _ => serializer.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a non-negative integer, or a string of one")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(value.into()))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Count, E> {
                value.parse().map(Count).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}
