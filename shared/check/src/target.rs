//! What an item charges, of all that it may name: exactly one.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{CHECKS_MAX, COMPOSITE_DIMENSIONS_MAX, COST_MAX};
use weir_core::name::{label, tenant_name};
use weir_core::ordered::OrderedMap;
use weir_policy::{between, count};
use weir_wire::check::CheckItem;

use super::one;

/// What an item charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A budget.
    Budget(String),
    /// A limit, under its keys.
    Limit {
        /// Its name.
        name: String,
        /// The keys.
        keys: Keys,
    },
    /// A meter of the tenant.
    Meter {
        /// Its name.
        name: String,
        /// Whether it stands in a map of several.
        among: bool,
    },
    /// A slot of a guard of the tenant.
    Guard(String),
    /// A resource that may be overloaded.
    Overload(String),
}

/// The keys within a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// None was given.
    None,
    /// One, for a limit of its own.
    One(String),
    /// One a dimension, by the dimension's name: 1 to 8.
    Named(OrderedMap<String, String>),
}

impl Target {
    /// Whether it cannot be charged without a tenant.
    pub(super) fn needs_tenant(&self) -> bool {
        !matches!(self, Self::Limit { .. })
    }

    /// Pointer to its name, from where the item's fields stand.
    ///
    /// ```
    /// use weir_check::Target;
    /// assert_eq!(Target::Budget("tokens".to_owned()).pointer(), "/budget");
    /// let meter = |among| Target::Meter { name: "ingest_bytes".to_owned(), among };
    /// assert_eq!(meter(false).pointer(), "/meter");
    /// assert_eq!(meter(true).pointer(), "/meters/ingest_bytes");
    /// ```
    #[must_use]
    pub fn pointer(&self) -> String {
        match self {
            Self::Budget(_) => "/budget".to_owned(),
            Self::Limit { .. } => "/limit".to_owned(),
            Self::Meter { name, among: true } => format!("/meters{}", step(name)),
            Self::Meter { among: false, .. } => "/meter".to_owned(),
            Self::Guard(_) => "/guard".to_owned(),
            Self::Overload(_) => "/overload".to_owned(),
        }
    }
}

/// The one thing that an item names, in the order in which the form lists them.
enum Named {
    Budget(String),
    Limit(String),
    Meter(String),
    Meters(OrderedMap<String, u64>),
    Guard(String),
    Overload(String),
}

/// What an item charges, each with its cost: one thing, or several meters.
pub(super) fn targets(body: CheckItem) -> Result<Vec<(Target, u64)>, Invalid> {
    let excluded = |field: &str, by| Err(Invalid::new(field, Fault::Excluded { by }));
    let (key, keys, cost) = (body.key, body.keys, body.cost);
    let given = [
        ("/budget", "budget", body.budget.map(Named::Budget)),
        ("/limit", "limit", body.limit.map(Named::Limit)),
        ("/meter", "meter", body.meter.map(Named::Meter)),
        ("/meters", "meters", body.meters.map(Named::Meters)),
        ("/guard", "guard", body.guard.map(Named::Guard)),
        ("/overload", "overload", body.overload.map(Named::Overload)),
    ];
    let mut given = given
        .into_iter()
        .filter_map(|(field, name, named)| Some((field, name, named?)));
    let Some((_, by, named)) = given.next() else {
        return Err(Invalid::new("/budget", Fault::Missing));
    };
    if let Some((field, ..)) = given.next() {
        return excluded(field, by);
    }
    if let Named::Limit(name) = named {
        if key.is_some() && keys.is_some() {
            return excluded("/keys", "key");
        }
        let keys = self::keys(key, keys)?;
        return Ok(vec![(Target::Limit { name, keys }, self::cost(cost)?)]);
    }
    if key.is_some() {
        return excluded("/key", by);
    }
    if keys.is_some() {
        return excluded("/keys", by);
    }
    match named {
        Named::Meters(_) if cost.is_some() => excluded("/cost", by),
        Named::Meters(meters) => several(meters),
        Named::Meter(name) => {
            let among = false;
            Ok(vec![(Target::Meter { name, among }, self::cost(cost)?)])
        }
        Named::Guard(name) => {
            let slots = between("/cost", cost.unwrap_or(1), 0, 1)?;
            Ok(vec![(Target::Guard(name), slots)])
        }
        Named::Overload(name) => Ok(vec![(Target::Overload(name), self::cost(cost)?)]),
        Named::Budget(name) | Named::Limit(name) => {
            Ok(vec![(Target::Budget(name), self::cost(cost)?)])
        }
    }
}

fn several(meters: OrderedMap<String, u64>) -> Result<Vec<(Target, u64)>, Invalid> {
    if meters.is_empty() {
        return Err(Invalid::new("/meters", Fault::Missing));
    }
    count("/meters", "meters", meters.len(), CHECKS_MAX)?;
    let targets = meters.into_iter().map(|(name, cost)| {
        let target = Target::Meter { name, among: true };
        let cost = between(&target.pointer(), cost, 0, COST_MAX)?;
        Ok((target, cost))
    });
    targets.collect()
}

fn keys(key: Option<String>, keys: Option<OrderedMap<String, String>>) -> Result<Keys, Invalid> {
    let Some(keys) = keys else {
        return Ok(one(key)?.map_or(Keys::None, Keys::One));
    };
    if keys.is_empty() {
        return Err(Invalid::new("/keys", Fault::Missing));
    }
    count("/keys", "keys", keys.len(), COMPOSITE_DIMENSIONS_MAX)?;
    for (dimension, key) in &keys {
        let at = || format!("/keys{}", step(dimension));
        label(dimension).map_err(|fault| Invalid::new(at(), fault))?;
        tenant_name(key).map_err(|fault| Invalid::new(at(), fault))?;
    }
    Ok(Keys::Named(keys))
}

/// The cost, 1 when absent.
pub(super) fn cost(cost: Option<u64>) -> Result<u64, Invalid> {
    between("/cost", cost.unwrap_or(1), 0, COST_MAX)
}
