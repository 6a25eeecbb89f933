//! Questions that were checked: what to charge, to whom, how much. What they name may still be unknown to the policy.

pub mod batch;
pub mod reserve;
pub mod settle;

use std::collections::{BTreeMap, BTreeSet};

use crate::invalid::{Fault, Invalid, step};
use crate::limits::{CHECKS_MAX, COMPOSITE_DIMENSIONS_MAX, COST_MAX};
use crate::policy::name::{label, tenant_name};
use crate::policy::{between, count};
use crate::wire::check::{CheckItem, CheckRequest};

/// One checked question.
///
/// ```
/// use weir_shared::check::{Check, Target};
/// use weir_shared::invalid::read_json;
/// let text = br#"{"tenant":"acme","checks":[{"budget":"tokens","cost":3},{"limit":"per_ip","key":"k"}]}"#;
/// let check = Check::read(read_json(text).unwrap(), "").unwrap();
/// assert_eq!(check.items[0].target, Target::Budget("tokens".to_owned()));
/// assert_eq!((check.items[1].cost, check.items[1].at.as_str()), (1, "/checks/1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Who asks.
    pub tenant: Option<String>,
    /// What to charge, all or nothing: 1 to 16 items, each budget at most once.
    pub items: Vec<Item>,
    /// Whether what is charged may be settled later; some cost is above 0 then.
    pub reserve: bool,
}

/// One thing to charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What to charge.
    pub target: Target,
    /// Units to charge; 0 looks.
    pub cost: u64,
    /// Pointer to where its fields stand: empty, `/checks/3`, `/requests/2/checks/0`.
    pub at: String,
}

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
}

/// The keys within a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// None was given.
    None,
    /// One, for a limit of its own.
    One(String),
    /// One a dimension, by the dimension's name: 1 to 8.
    Named(BTreeMap<String, String>),
}

impl TryFrom<CheckRequest> for Check {
    type Error = Invalid;

    fn try_from(request: CheckRequest) -> Result<Self, Invalid> {
        Self::read(request, "")
    }
}

impl Check {
    /// The question that stands at the pointer `at` of the body: empty, or `/requests/2`.
    ///
    /// # Errors
    /// What is missing, out of range or given twice, with its pointer in the body.
    pub fn read(request: CheckRequest, at: &str) -> Result<Self, Invalid> {
        let reserve = request.reserve.unwrap_or(false);
        let tenant = request.tenant.clone();
        let items = items(request).and_then(|items| {
            named(tenant.as_deref())?;
            if tenant.is_none() && items.iter().any(Item::is_budget) {
                return Err(Invalid::new("/tenant", Fault::Missing));
            }
            once(&items)?;
            if reserve && items.iter().all(|item| item.cost == 0) {
                let by = "a cost of 0";
                return Err(Invalid::new("/reserve", Fault::Excluded { by }));
            }
            Ok(items)
        });
        let mut items = items.map_err(|refused| refused.under(at))?;
        for item in &mut items {
            item.at.insert_str(0, at);
        }
        Ok(Self {
            tenant,
            items,
            reserve,
        })
    }
}

impl Item {
    /// The item whose fields stand at the pointer `at`.
    fn read(body: CheckItem, at: String) -> Result<Self, Invalid> {
        let (target, cost) = target(body.budget, body.limit, body.key, body.keys)
            .and_then(|target| Ok((target, cost(body.cost)?)))
            .map_err(|refused| refused.under(&at))?;
        Ok(Self { target, cost, at })
    }

    fn is_budget(&self) -> bool {
        matches!(self.target, Target::Budget(_))
    }
}

/// The items of the short form, or of the long one.
fn items(request: CheckRequest) -> Result<Vec<Item>, Invalid> {
    let short = CheckItem {
        budget: request.budget,
        limit: request.limit,
        key: request.key,
        keys: request.keys,
        cost: request.cost,
    };
    let Some(checks) = request.checks else {
        return Ok(vec![Item::read(short, String::new())?]);
    };
    if short != CheckItem::default() {
        let by = "the short form";
        return Err(Invalid::new("/checks", Fault::Excluded { by }));
    }
    if checks.is_empty() {
        return Err(Invalid::new("/checks", Fault::Missing));
    }
    count("/checks", "checks", checks.len(), CHECKS_MAX)?;
    let numbered = checks.into_iter().enumerate();
    numbered
        .map(|(index, body)| Item::read(body, format!("/checks/{index}")))
        .collect()
}

/// Refuses a budget that an earlier item charges: the request's charge of a budget is one charge, with one cost.
fn once(items: &[Item]) -> Result<(), Invalid> {
    let mut budgets = BTreeSet::new();
    for item in items {
        if let Target::Budget(name) = &item.target
            && !budgets.insert(name)
        {
            let got = name.clone();
            return Err(Invalid::new(
                format!("{}/budget", item.at),
                Fault::Duplicate { got },
            ));
        }
    }
    Ok(())
}

fn target(
    budget: Option<String>,
    limit: Option<String>,
    key: Option<String>,
    keys: Option<BTreeMap<String, String>>,
) -> Result<Target, Invalid> {
    let excluded = |field: &str, by| Err(Invalid::new(field, Fault::Excluded { by }));
    match (budget, limit) {
        (Some(_), Some(_)) => excluded("/limit", "budget"),
        (Some(_), None) if key.is_some() => excluded("/key", "budget"),
        (Some(_), None) if keys.is_some() => excluded("/keys", "budget"),
        (Some(budget), None) => Ok(Target::Budget(budget)),
        (None, Some(_)) if key.is_some() && keys.is_some() => excluded("/keys", "key"),
        (None, Some(name)) => Ok(Target::Limit {
            name,
            keys: self::keys(key, keys)?,
        }),
        (None, None) => Err(Invalid::new("/budget", Fault::Missing)),
    }
}

fn keys(key: Option<String>, keys: Option<BTreeMap<String, String>>) -> Result<Keys, Invalid> {
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

/// A key that may be absent.
fn one(key: Option<String>) -> Result<Option<String>, Invalid> {
    if let Some(key) = &key {
        tenant_name(key).map_err(|fault| Invalid::new("/key", fault))?;
    }
    Ok(key)
}

/// A tenant that may be absent.
fn named(tenant: Option<&str>) -> Result<(), Invalid> {
    tenant.map_or(Ok(()), |tenant| {
        tenant_name(tenant).map_err(|fault| Invalid::new("/tenant", fault))
    })
}

/// The cost, 1 when absent.
fn cost(cost: Option<u64>) -> Result<u64, Invalid> {
    between("/cost", cost.unwrap_or(1), 0, COST_MAX)
}
