//! A decimal as it travels: `4`, not `4.0`, where it is whole.

use serde::{Deserialize, Serialize, Serializer};
use weir_core::limits::JSON_INTEGER_MAX;

/// A JSON number.
///
/// ```
/// use weir_wire::decimal::Decimal;
/// assert_eq!(serde_json::to_string(&Decimal(4.0)).unwrap(), "4");
/// assert_eq!(serde_json::to_string(&Decimal(0.1)).unwrap(), "0.1");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Deserialize)]
#[serde(transparent)]
pub struct Decimal(pub f64);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 >= 0.0 && self.0 <= JSON_INTEGER_MAX as f64 && self.0.fract() == 0.0;
        if whole {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}
