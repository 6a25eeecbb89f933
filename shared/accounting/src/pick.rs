//! Reads one tenant out of a stored cell without building the others.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use weir_core::json::Reader;
use weir_wire::accounting::TenantCounters;
use weir_wire::cells::StoredTenant;
use weir_wire::stored::Damaged;

/// The counters of `tenant` in the text of a cell, if it is there by name.
///
/// ```
/// use weir_accounting::pick::pick;
/// let text = r#"{"v":1,"through":3,"tenants":{"acme":{"m":{"bytes":[2,9]}},"duff":{"m":{"bytes":[1,1]}}}}"#;
/// let acme = pick(text, "acme").unwrap().unwrap();
/// assert_eq!(acme.meters["bytes"].admitted_units.0, 9);
/// assert_eq!(pick(text, "hooli").unwrap(), None);
/// ```
///
/// # Errors
/// When the text is not a cell.
pub fn pick(text: &str, tenant: &str) -> Result<Option<TenantCounters>, Damaged> {
    let mut reader = Reader::new(text);
    let read = reader.deserialize_map(Member {
        name: "tenants",
        inner: Tenant(tenant),
    });
    let found = reader.end(read).map_err(|fault| Damaged::Form {
        message: fault.to_string(),
    })?;
    Ok(found.flatten().as_ref().map(TenantCounters::from))
}

/// Reads one member of a map.
struct Member<'a, S> {
    name: &'a str,
    inner: S,
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for Member<'_, S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map with {}", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            if key == self.name {
                found = Some(map.next_value_seed(self.inner)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Reads one tenant of a map of tenants.
#[derive(Clone, Copy)]
struct Tenant<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Tenant<'_> {
    type Value = Option<StoredTenant>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(Member {
            name: self.0,
            inner: Counted,
        })
    }
}

/// Reads the counters of a tenant.
#[derive(Clone, Copy)]
struct Counted;

impl<'de> DeserializeSeed<'de> for Counted {
    type Value = StoredTenant;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        serde::Deserialize::deserialize(reader)
    }
}
