//! A question that was checked: what to charge, to whom, how much.

use crate::invalid::{Fault, Invalid};
use crate::limits::COST_MAX;
use crate::policy::name::tenant_name;
use crate::wire::check::{CheckItem, CheckRequest};

/// One checked question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Who asks.
    pub tenant: Option<String>,
    /// What to charge.
    pub target: Target,
    /// Units to charge; 0 looks.
    pub cost: u64,
    /// Pointer to the fields of the target: empty, or `/checks/0`.
    pub at: &'static str,
}

/// What a check charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A budget.
    Budget(String),
    /// A limit, under a key.
    Limit {
        /// Its name.
        name: String,
        /// The key.
        key: Option<String>,
    },
}

impl TryFrom<CheckRequest> for Check {
    type Error = Invalid;

    fn try_from(request: CheckRequest) -> Result<Self, Invalid> {
        let (item, at) = item(&request)?;
        let check = Self {
            tenant: request.tenant,
            target: target(item.budget, item.limit, item.key)
                .map_err(|refused| refused.under(at))?,
            cost: item.cost.unwrap_or(1),
            at,
        };
        check.bounded()?;
        Ok(check)
    }
}

impl Check {
    fn bounded(&self) -> Result<(), Invalid> {
        if let Some(tenant) = &self.tenant {
            tenant_name(tenant).map_err(|fault| Invalid::new("/tenant", fault))?;
        }
        match &self.target {
            Target::Budget(_) if self.tenant.is_none() => {
                return Err(Invalid::new("/tenant", Fault::Missing));
            }
            Target::Limit { key: Some(key), .. } => {
                tenant_name(key)
                    .map_err(|fault| Invalid::new(format!("{}/key", self.at), fault))?;
            }
            _ => {}
        }
        if self.cost > COST_MAX {
            return Err(Invalid::new(
                format!("{}/cost", self.at),
                Fault::OutOfRange {
                    got: self.cost.to_string(),
                    min: "0".to_owned(),
                    max: COST_MAX.to_string(),
                },
            ));
        }
        Ok(())
    }
}

/// The one thing asked, from the short or the long form, and where it stands.
fn item(request: &CheckRequest) -> Result<(CheckItem, &'static str), Invalid> {
    let short = CheckItem {
        budget: request.budget.clone(),
        limit: request.limit.clone(),
        key: request.key.clone(),
        cost: request.cost,
    };
    let Some(checks) = &request.checks else {
        return Ok((short, ""));
    };
    if short != CheckItem::default() {
        return Err(Invalid::new(
            "/checks",
            Fault::Excluded {
                by: "the short form",
            },
        ));
    }
    match checks.as_slice() {
        [one] => Ok((one.clone(), "/checks/0")),
        [] => Err(Invalid::new("/checks", Fault::Missing)),
        more => Err(Invalid::new(
            "/checks",
            Fault::TooMany {
                got: more.len(),
                max: 1,
                what: "checks",
            },
        )),
    }
}

fn target(
    budget: Option<String>,
    limit: Option<String>,
    key: Option<String>,
) -> Result<Target, Invalid> {
    match (budget, limit) {
        (Some(_), Some(_)) => Err(Invalid::new("/limit", Fault::Excluded { by: "budget" })),
        (Some(_), None) if key.is_some() => {
            Err(Invalid::new("/key", Fault::Excluded { by: "budget" }))
        }
        (Some(budget), None) => Ok(Target::Budget(budget)),
        (None, Some(name)) => Ok(Target::Limit { name, key }),
        (None, None) => Err(Invalid::new("/budget", Fault::Missing)),
    }
}
