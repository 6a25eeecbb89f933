//! Questions that were checked: what to charge, to whom, how much. What they name may still be unknown to the policy.

pub mod batch;
pub mod decision_text;
pub mod guard;
pub mod report;
pub mod reserve;
pub mod reset;
pub mod settle;
pub mod short;
mod target;
pub mod template;

pub use target::{Keys, Target};
use target::{cost, targets};
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::CHECKS_MAX;
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedSet;
use weir_policy::count;
use weir_wire::check::{CheckItem, CheckRequest};

/// One checked question.
///
/// ```
/// use weir_check::{Check, Target};
/// use weir_core::invalid::read_json;
/// let text = br#"{"tenant":"acme","checks":[{"budget":"tokens","cost":3},{"limit":"per_ip","key":"k"}]}"#;
/// let check = Check::read(read_json(text).unwrap(), "").unwrap();
/// assert_eq!(check.items[0].target, Target::Budget("tokens".to_owned()));
/// assert_eq!((check.items[1].cost, check.items[1].at.as_str()), (1, "/checks/1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Who asks.
    pub tenant: Option<String>,
    /// What to charge, all or nothing: 1 to 16 items, each budget, meter and overload resource at most once, and at most
    /// one guard.
    pub items: Vec<Item>,
    /// Whether what is charged may be settled later; some cost is above 0 then.
    pub reserve: bool,
}

/// One thing to charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What to charge.
    pub target: Target,
    /// Units to charge; 0 looks. Of a guard at most 1.
    pub cost: u64,
    /// Pointer to where its fields stand: empty, `/checks/3`, `/requests/2/checks/0`.
    pub at: String,
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
            if tenant.is_none() && items.iter().any(|item| item.target.needs_tenant()) {
                return Err(Invalid::new("/tenant", Fault::Missing));
            }
            once(&items)?;
            if reserve {
                settled(&items)?;
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
    /// The items of one entry, whose fields stand at the pointer `at`: one, or as many as it names meters.
    fn read(body: CheckItem, at: &str) -> Result<Vec<Self>, Invalid> {
        let targets = targets(body).map_err(|refused| refused.under(at))?;
        let items = targets.into_iter().map(|(target, cost)| Self {
            target,
            cost,
            at: at.to_owned(),
        });
        Ok(items.collect())
    }

    /// Pointer to the name of what it charges.
    #[must_use]
    pub fn name_at(&self) -> String {
        format!("{}{}", self.at, self.target.pointer())
    }
}

/// The items of the short form, or of the long one.
fn items(request: CheckRequest) -> Result<Vec<Item>, Invalid> {
    let short = CheckItem {
        budget: request.budget,
        limit: request.limit,
        key: request.key,
        keys: request.keys,
        meter: request.meter,
        meters: request.meters,
        guard: request.guard,
        overload: request.overload,
        cost: request.cost,
    };
    let Some(checks) = request.checks else {
        return Item::read(short, "");
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
    let items = numbered.map(|(index, body)| Item::read(body, &format!("/checks/{index}")));
    let items: Vec<Item> = items.collect::<Result<Vec<_>, _>>()?.concat();
    // Several meters of one entry are as many things to charge.
    count("/checks", "checks", items.len(), CHECKS_MAX)?;
    Ok(items)
}

/// Refuses a budget, meter or overload resource that an earlier item charges: the request's charge of it is one charge,
/// with one cost.
/// Refuses a second guard: the answer carries one slot.
fn once(items: &[Item]) -> Result<(), Invalid> {
    let mut charged = OrderedSet::new();
    let mut guarded = false;
    for item in items {
        let (kind, name) = match &item.target {
            Target::Limit { .. } => continue,
            Target::Budget(name) => ("budget", name),
            Target::Meter { name, .. } => ("meter", name),
            Target::Overload(name) => ("overload", name),
            Target::Guard(_) if guarded => {
                let by = "another guard";
                return Err(Invalid::new(item.name_at(), Fault::Excluded { by }));
            }
            Target::Guard(name) => {
                guarded = true;
                ("guard", name)
            }
        };
        if !charged.insert((kind, name)) {
            let got = name.clone();
            return Err(Invalid::new(item.name_at(), Fault::Duplicate { got }));
        }
    }
    Ok(())
}

/// Refuses a reservation of nothing that could be settled.
fn settled(items: &[Item]) -> Result<(), Invalid> {
    let charges = |item: &&Item| item.cost > 0;
    let unsettled = |item: &Item| matches!(item.target, Target::Guard(_) | Target::Overload(_));
    if items.iter().filter(charges).any(|item| !unsettled(item)) {
        return Ok(());
    }
    let by = match items.iter().find(charges).map(|item| &item.target) {
        Some(Target::Guard(_)) => "a guard alone, whose slot is released",
        Some(_) => "an overload resource alone, which is not settled",
        None => "a cost of 0",
    };
    Err(Invalid::new("/reserve", Fault::Excluded { by }))
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
