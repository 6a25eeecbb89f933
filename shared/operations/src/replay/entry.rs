//! One request, as it is played.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{COST_MAX, REPLAY_AT_MAX};
use weir_core::name::{full_key, tenant_name};
use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_policy::limit::{Limit, Rule};
use weir_wire::accounting::{ANONYMOUS, OTHERS};
use weir_wire::replay::{ReplayKind, TraceEntry};

/// A request that can be played: both policies know what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When it is made.
    pub at: EpochMs,
    pub(super) kind: ReplayKind,
    pub(super) name: String,
    /// Whose; of a budget `None` is all who are not told apart.
    pub(super) tenant: Option<String>,
    pub(super) key: Option<String>,
    /// Calls that it stands for.
    pub(super) calls: u64,
    /// Units that they ask for together.
    pub(super) units: u64,
}

impl Entry {
    /// One request of a trace that is played against both policies.
    ///
    /// # Errors
    /// What it lacks or names too much, names that neither policy has, and what a limit needs in either of them.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_operations::replay::Entry;
    /// let policy = Policy::try_from(&read_json(br#"{ "regions": ["weur"], "tiers": { "free": { "weight": 1 } },
    ///   "default_tier": "free", "meters": { "rows": { "per_sec": 10 } } }"#).unwrap()).unwrap();
    /// let read = |text: &[u8]| Entry::of([&policy, &policy], read_json(text).unwrap());
    /// assert_eq!(read(br#"{ "at": 5, "tenant": "a", "meter": "rows", "cost": 3 }"#).unwrap().at.0, 5);
    /// assert_eq!(read(br#"{ "at": 5, "tenant": "a", "meter": "lines" }"#).unwrap_err().field, "/meter");
    /// ```
    pub fn of(policies: [&Policy; 2], entry: TraceEntry) -> Result<Self, Invalid> {
        let missing = |field: &str| Err(Invalid::new(field, Fault::Missing));
        let excluded = |field: &str, by| Err(Invalid::new(field, Fault::Excluded { by }));
        let Some(at) = entry.at else {
            return missing("/at");
        };
        let at = EpochMs(within("/at", at, 0..=REPLAY_AT_MAX)?);
        let units = within("/cost", entry.cost.unwrap_or(1), 1..=COST_MAX)?;
        let (kind, name, field, what) = match (entry.budget, entry.limit, entry.meter) {
            (Some(name), None, None) => (ReplayKind::Budget, name, "/budget", "budget"),
            (None, Some(name), None) => (ReplayKind::Limit, name, "/limit", "limit"),
            (None, None, Some(name)) => (ReplayKind::Meter, name, "/meter", "meter"),
            (None, None, None) => return missing("/budget"),
            (Some(_), Some(_), _) => return excluded("/limit", "budget"),
            (Some(_), None, Some(_)) => return excluded("/meter", "budget"),
            (None, Some(_), Some(_)) => return excluded("/meter", "limit"),
        };
        for (field, name) in [("/tenant", &entry.tenant), ("/key", &entry.key)] {
            if let Some(name) = name {
                tenant_name(name).map_err(|fault| Invalid::new(field, fault))?;
            }
        }
        if entry.key.is_some() && kind != ReplayKind::Limit {
            return excluded("/key", what);
        }
        if !knows(policies, kind, &name) {
            return Err(Invalid::new(field, Fault::Unknown { name, what }));
        }
        let (needs_tenant, needs_key) = needs(policies, kind, &name);
        if needs_tenant && entry.tenant.is_none() {
            return missing("/tenant");
        }
        if needs_key && entry.key.is_none() {
            return missing("/key");
        }
        Ok(Self {
            at,
            kind,
            name,
            tenant: entry.tenant,
            key: entry.key,
            calls: 1,
            units,
        })
    }

    /// So many calls, and units together, at one key of a limit.
    pub(crate) fn of_limit(
        name: String,
        tenant: Option<String>,
        key: String,
        at: EpochMs,
        (calls, units): (u64, u64),
    ) -> Self {
        Self {
            at,
            kind: ReplayKind::Limit,
            name,
            tenant,
            key: Some(key),
            calls,
            units,
        }
    }

    /// The key within a limit, the tenant included where each has its own.
    pub(super) fn key_in(&self, limit: &Limit) -> String {
        let tenant = self.tenant.as_deref().filter(|_| limit.per_tenant);
        full_key(tenant, self.key.as_deref().unwrap_or_default())
    }

    /// Under which name it is counted.
    pub(super) fn counted_as(&self) -> String {
        let nobody = match self.kind {
            ReplayKind::Limit => ANONYMOUS,
            ReplayKind::Budget | ReplayKind::Meter => OTHERS,
        };
        self.tenant.as_deref().unwrap_or(nobody).to_owned()
    }
}

/// Whether either policy has a rule of that name.
pub(super) fn knows(policies: [&Policy; 2], kind: ReplayKind, name: &str) -> bool {
    policies.iter().any(|policy| match kind {
        ReplayKind::Budget => policy.budgets.contains_key(name),
        ReplayKind::Limit => policy.limits.contains_key(name),
        ReplayKind::Meter => policy.meters.contains_key(name),
    })
}

/// Whether either policy needs the tenant, and whether either needs the key.
fn needs(policies: [&Policy; 2], kind: ReplayKind, name: &str) -> (bool, bool) {
    if kind != ReplayKind::Limit {
        return (true, false);
    }
    let mut needs = (false, false);
    for policy in policies {
        let Some(limit) = policy.limits.get(name) else {
            continue;
        };
        let parts: Vec<&Limit> = match &limit.rule {
            Rule::Composite(composite) => {
                let parts = composite.dimensions.iter();
                parts
                    .filter_map(|one| policy.limits.get(&one.limit))
                    .collect()
            }
            Rule::Single(_) | Rule::Shaper(_) => vec![limit],
        };
        needs.0 |= parts.iter().any(|part| part.per_tenant);
        needs.1 |= parts.iter().any(|part| !part.per_tenant);
    }
    needs
}
