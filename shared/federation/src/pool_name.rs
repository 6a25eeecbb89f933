//! Which pool an exchange is about: a budget, or one key of a global limit.
//!
//! Neither the policy's names nor those of requests contain control characters, so one of them separates the parts.

use std::fmt;

use weir_core::invalid::Fault;
use weir_core::name::{label, tenant_name};

/// Stands between a limit's name and a key, and between a tenant and its key.
const SEPARATOR: char = '\u{1}';

/// The name of a pool; as text, what [`ExchangeBody`](weir_wire::exchange::ExchangeBody) carries. At most 322
/// bytes: a policy's name, a tenant and a key.
///
/// ```
/// use weir_federation::pool_name::PoolName;
/// assert_eq!(PoolName::try_from("tokens"), Ok(PoolName::Budget("tokens".to_owned())));
/// let hourly = PoolName::Limit { limit: "hourly".to_owned(), key: "acme\u{1}10.0.0.1".to_owned() };
/// assert_eq!(hourly.to_string(), "hourly\u{1}acme\u{1}10.0.0.1");
/// assert_eq!(PoolName::try_from("hourly\u{1}acme\u{1}10.0.0.1"), Ok(hourly));
/// assert!(PoolName::try_from("hourly\u{1}").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolName {
    /// A budget.
    Budget(String),
    /// One key of a limit.
    Limit {
        /// The limit's name.
        limit: String,
        /// The key; where each tenant has its own keys, the tenant, U+0001 and the key.
        key: String,
    },
}

impl fmt::Display for PoolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(name) => f.write_str(name),
            Self::Limit { limit, key } => write!(f, "{limit}{SEPARATOR}{key}"),
        }
    }
}

impl TryFrom<&str> for PoolName {
    type Error = Fault;

    fn try_from(text: &str) -> Result<Self, Fault> {
        let Some((limit, key)) = text.split_once(SEPARATOR) else {
            label(text)?;
            return Ok(Self::Budget(text.to_owned()));
        };
        label(limit)?;
        // The part after a second separator may not contain a third: it is a control character.
        match key.split_once(SEPARATOR) {
            None => tenant_name(key)?,
            Some((tenant, key)) => {
                tenant_name(tenant)?;
                tenant_name(key)?;
            }
        }
        Ok(Self::Limit {
            limit: limit.to_owned(),
            key: key.to_owned(),
        })
    }
}

/// Whether a pool is a budget's: the windows of those are recorded.
///
/// ```
/// use weir_federation::pool_name::is_budget;
/// assert!(is_budget("tokens") && !is_budget("hourly\u{1}acme"));
/// ```
#[must_use]
pub fn is_budget(pool: &str) -> bool {
    matches!(PoolName::try_from(pool), Ok(PoolName::Budget(_)))
}

#[cfg(test)]
mod tests {
    use weir_core::limits::{LABEL_BYTES_MAX, NAME_BYTES_MAX};

    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_no_other_text_is_a_name() {
        let (limit, long) = ("l".repeat(LABEL_BYTES_MAX), "k".repeat(NAME_BYTES_MAX));
        let names = [
            "tokens".to_owned(),
            limit.clone(),
            "hourly\u{1}k".to_owned(),
            "hourly\u{1}acme\u{1}\u{e9} k".to_owned(),
            format!("{limit}\u{1}{long}\u{1}{long}"),
        ];
        for name in names {
            assert!(name.len() <= 322);
            let read = PoolName::try_from(name.as_str()).unwrap();
            assert_eq!(read.to_string(), name);
        }
        let others = [
            String::new(),
            "Tokens".to_owned(),
            "\u{1}".to_owned(),
            "\u{1}k".to_owned(),
            "hourly\u{1}".to_owned(),
            "hourly\u{1}\u{1}k".to_owned(),
            "hourly\u{1}acme\u{1}".to_owned(),
            "hourly\u{1}acme\u{1}k\u{1}k".to_owned(),
            "hourly\u{1}k\u{2}".to_owned(),
            format!("{limit}l"),
            format!("{limit}\u{1}{long}k"),
            format!("{limit}\u{1}{long}k\u{1}{long}"),
        ];
        for other in others {
            assert!(PoolName::try_from(other.as_str()).is_err(), "{other:?}");
        }
    }
}
