//! Windows of budgets while they are open, and the fairness record that is left of each.

use weir_core::limits::{
    RECORD_TENANTS_MAX, WINDOW_GRACE_MS, WINDOW_TENANTS_MAX, WINDOWS_OPEN_MAX,
};
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_core::units::{EpochMs, WindowLabel};
use weir_wire::accounting::OTHERS;
use weir_wire::count::Count;
use weir_wire::decimal::Decimal;
use weir_wire::series::WindowUse;
use weir_wire::windows::{
    ClosedWindow, HeldPart, HeldParts, StoredWindow, TenantPart, WindowPart, WindowParts,
    WindowRecord, WindowTenant,
};

use super::fairness_index::jain;
use super::guarantee::Guarantees;
use super::reserved::is_over;

mod row;

/// How long after its end a window is expected to be told of in full by holders that live: two contacts at both depths.
const SETTLE_MS: u64 = 3_000;

/// Where the end of a window was not told: how long it counts as open.
const UNTOLD_MS: u64 = 60_000;

/// A budget and one of its windows.
pub type WindowName = (String, WindowLabel);

/// Who opens the windows of a budget.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// The budget.
    pub budget: String,
    /// The region whose own they are; `None` stands for a coordinator.
    pub region: Option<String>,
}

/// The windows of budgets that are open, or were so lately.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    open: OrderedMap<WindowName, Open>,
}

/// One of them.
#[derive(Debug, Clone, Default)]
struct Open {
    part: WindowPart,
    closed: Option<ClosedWindow>,
    /// The last entry of the journal that is in what was stored.
    through: u64,
    changed: bool,
}

/// What is left of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Which.
    pub name: WindowName,
    /// Its record; `None` of a window of which nothing was ever said.
    pub record: Option<WindowRecord>,
    /// Units that each tenant was served beyond its entitlement.
    pub borrowed: OrderedMap<String, u128>,
}

impl Windows {
    /// Puts a stored window back.
    pub fn restore(&mut self, stored: StoredWindow) {
        let name = (stored.budget, stored.label);
        let open = Open {
            part: stored.part,
            closed: stored.closed,
            through: stored.through,
            changed: false,
        };
        self.open.insert(name, open);
    }

    /// Adds what holders counted, as the entry `sequence` of the journal. What is stored with it already is passed over.
    pub fn add(&mut self, parts: &WindowParts, sequence: u64, at: EpochMs) {
        for (budget, labels) in parts {
            for (label, part) in labels {
                let name = (budget.clone(), *label);
                let open = self.open.entry(name).or_default();
                if sequence <= open.through {
                    continue;
                }
                open.add(part, at);
                if open.part.ends_at == EpochMs(0) {
                    open.part.ends_at = at.plus(UNTOLD_MS);
                }
                open.changed = true;
            }
        }
    }

    /// Takes what the root says of windows that are over.
    pub fn close(&mut self, budget: &str, closed: &[ClosedWindow]) {
        for window in closed {
            let name = (budget.to_owned(), window.label);
            if let Some(open) = self.open.get_mut(&name) {
                open.part.limit = window.limit;
                open.part.ends_at = window.ends_at;
                open.closed = Some(*window);
                open.changed = true;
            }
        }
    }

    /// Roots that have windows which are over and of which they have said nothing yet, each with the first of those.
    #[must_use]
    pub fn unclosed(&self, now: EpochMs) -> OrderedMap<Root, WindowLabel> {
        let mut first = OrderedMap::new();
        for ((budget, label), open) in &self.open {
            if open.closed.is_none() && now >= open.part.ends_at {
                let root = Root {
                    budget: budget.clone(),
                    region: open.part.region.clone(),
                };
                first.entry(root).or_insert(*label);
            }
        }
        first
    }

    /// Whether some window has to be finished now.
    #[must_use]
    pub fn due(&self, now: EpochMs) -> bool {
        self.open.len() > WINDOWS_OPEN_MAX || self.open.values().any(|open| open.over(now))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes out the windows of which nothing more is expected, and where there are too many, those that ended first.
    pub fn finish(&mut self, now: EpochMs) -> Vec<Finished> {
        self.open.values_mut().for_each(|open| open.expire(now));
        let mut over: Vec<_> = self.open.iter().collect();
        sort_by_key(&mut over, |(_, open)| open.part.ends_at);
        let excess = self.open.len().saturating_sub(WINDOWS_OPEN_MAX);
        let names = over.iter().enumerate();
        let names = names.filter(|(index, (_, open))| *index < excess || open.over(now));
        let names: Vec<_> = names.map(|(_, (name, _))| (*name).clone()).collect();
        names
            .into_iter()
            .filter_map(|name| {
                let open = self.open.remove(&name)?;
                Some(open.finished(name, now))
            })
            .collect()
    }

    /// What has to be stored of those that remain, as of the entry `through` of the journal, each within a row.
    pub fn store(&mut self, through: u64) -> Vec<StoredWindow> {
        let changed = self.open.iter_mut().filter(|(_, open)| open.changed);
        changed
            .map(|((budget, label), open)| {
                open.changed = false;
                open.through = through;
                let less = row::bounded(&open.part);
                let part = less.as_ref().unwrap_or(&open.part);
                StoredWindow::new(budget, *label, through, part, open.closed)
            })
            .collect()
    }

    /// The records of the windows of a budget, or of all, as far as they are known.
    pub fn records<'a>(
        &'a self,
        budget: Option<&'a str>,
        now: EpochMs,
    ) -> impl Iterator<Item = WindowRecord> + 'a {
        let wanted = move |name: &WindowName| budget.is_none_or(|budget| budget == name.0);
        let open = self.open.iter().filter(move |(name, _)| wanted(name));
        open.filter_map(move |(name, open)| {
            let mut open = open.clone();
            open.expire(now);
            open.record(name, now)
        })
    }

    /// Units that tenants were served beyond their entitlements in these windows, so far.
    #[must_use]
    pub fn borrowed(&self) -> OrderedMap<String, OrderedMap<String, u128>> {
        let mut sums: OrderedMap<String, OrderedMap<String, u128>> = OrderedMap::new();
        for ((budget, _), open) in &self.open {
            let sum = sums.entry(budget.clone()).or_default();
            for (tenant, units) in open.borrowed() {
                *sum.entry(tenant).or_default() += units;
            }
        }
        sums
    }

    /// What was used so far, of each budget, of the window that is open at `now`: where the next one is open as well, of
    /// the one that ends first.
    #[must_use]
    pub fn open_at(&self, now: EpochMs) -> OrderedMap<String, WindowUse> {
        let mut uses = OrderedMap::new();
        let open = self.open.iter();
        for ((budget, label), open) in open.filter(|(_, open)| now < open.part.ends_at) {
            let tenants = open.part.tenants.values();
            let used: u128 = tenants.map(|part| part.served().0).sum();
            let reserved: u128 = open.reserved().values().sum();
            uses.entry(budget.clone()).or_insert(WindowUse {
                label: *label,
                ends_at: open.part.ends_at,
                limit: open.part.limit,
                used: Count(used.saturating_add(reserved)),
            });
        }
        uses
    }

    /// What each tenant is guaranteed in the last window in which anybody asked, by budget.
    #[must_use]
    pub fn entitlements(&self) -> OrderedMap<String, OrderedMap<String, u64>> {
        let asked = |open: &&Open| !open.part.tenants.is_empty();
        let mut last = OrderedMap::new();
        // Labels rise, so the last one of a budget stays.
        for ((budget, _), open) in self.open.iter().filter(|(_, open)| asked(open)) {
            let guarantees = Guarantees::of_window(&open.part);
            let tenants = open.part.tenants.keys();
            let each = tenants.map(|name| (name.clone(), guarantees.units(name)));
            last.insert(budget.clone(), OrderedMap::from_iter(each));
        }
        last
    }
}

impl Open {
    /// Whether nothing more is expected of it: what is reserved in it may still be settled.
    fn over(&self, now: EpochMs) -> bool {
        now >= self.part.ends_at.plus(WINDOW_GRACE_MS) && self.part.reservations.is_empty()
    }

    /// Takes what holders counted. Of reservations that count as used in full, what was settled late is counted no second
    /// time.
    fn add(&mut self, part: &WindowPart, at: EpochMs) {
        let mut part = part.clone();
        let (over, open) = split_over(std::mem::take(&mut part.reservations), at);
        for (tenant, held) in over.into_values().flatten() {
            if let Some(one) = part.tenants.get_mut(&tenant) {
                let beyond = one.admitted.0.saturating_sub(held.released.0);
                one.admitted = Count(beyond.saturating_add(held.reserved.0));
            }
        }
        part.reservations = open;
        self.part.add(&part, WINDOW_TENANTS_MAX);
    }

    /// Counts as used in full what nobody has settled in time.
    fn expire(&mut self, at: EpochMs) {
        let (over, open) = split_over(std::mem::take(&mut self.part.reservations), at);
        self.part.reservations = open;
        for (tenant, units) in over.values().flat_map(held) {
            self.part.tenant(&tenant, false, 0).admitted += Count(units);
            self.changed = true;
        }
        self.changed |= !over.is_empty();
    }

    /// Units of reservations that are open, by tenant.
    fn reserved(&self) -> OrderedMap<String, u128> {
        let mut sums = OrderedMap::new();
        for (tenant, units) in self.part.reservations.values().flat_map(held) {
            *sums.entry(tenant).or_default() += units;
        }
        sums
    }

    /// Whether anybody has a weight: a budget in which nobody has one guarantees nothing.
    fn guaranteed(&self) -> bool {
        let mut parts = self.part.tenants.values();
        parts.any(|part| part.weight_micros > 0)
    }

    /// What each tenant was served beyond its entitlement; nothing where nothing is guaranteed.
    fn borrowed(&self) -> OrderedMap<String, u128> {
        if !self.guaranteed() {
            return OrderedMap::new();
        }
        let guarantees = Guarantees::of_window(&self.part);
        let tenants = self.part.tenants.iter();
        let beyond = tenants.map(|(name, part)| {
            let entitled = u128::from(guarantees.units(name));
            (name.clone(), part.served().0.saturating_sub(entitled))
        });
        OrderedMap::from_iter(beyond.filter(|(_, units)| *units > 0))
    }

    /// What is reserved in one that has to make room will have been used in full.
    fn finished(mut self, name: WindowName, now: EpochMs) -> Finished {
        self.expire(EpochMs(u64::MAX));
        Finished {
            record: self.record(&name, now),
            borrowed: self.borrowed(),
            name,
        }
    }

    /// `None` while nobody has said how large the window is.
    fn record(&self, (budget, label): &WindowName, now: EpochMs) -> Option<WindowRecord> {
        if self.part.limit == 0 {
            return None;
        }
        let parts = || self.part.tenants.values();
        let sum = |of: fn(&TenantPart) -> u128| Count(parts().map(of).sum());
        let admitted = sum(|part| part.served().0);
        let held = self.reserved();
        let reserved = Count(held.values().sum());
        let lapsed = self.part.lapsed.0;
        let granted = self.closed.map(|closed| u128::from(closed.granted));
        let returned = self.closed.map_or(0, |closed| u128::from(closed.returned)) + lapsed;
        let unaccounted = self.part.unaccounted;
        let told = admitted.0 + reserved.0 + returned + unaccounted.0;
        let exact = granted.is_none_or(|units| units == told);
        let past = now >= self.part.ends_at.plus(SETTLE_MS);
        let settled = past && exact && granted.is_some();
        let guarantees = Guarantees::of_window(&self.part);
        let weights = guarantees.weight_of_all();
        Some(WindowRecord {
            budget: budget.clone(),
            region: self.part.region.clone(),
            label: *label,
            ends_at: self.part.ends_at,
            limit: self.part.limit,
            complete: settled && reserved.is_zero() || self.over(now),
            granted: granted.map(Count),
            admitted,
            reserved,
            beyond: sum(|part| part.beyond.0),
            returned: Count(returned),
            unaccounted: granted.map(|_| unaccounted),
            exact,
            denied: sum(|part| part.denied.0),
            would_deny: sum(|part| part.would_deny.0),
            jain: self.jain(&held, &guarantees).map(Decimal),
            tenants_seen: self.part.tenants.len() as u64,
            weights: (weights > 0).then(|| weight(weights)),
            tenants: self.tenants(&held, &guarantees),
        })
    }

    /// Of what each tenant asked for within its entitlement, the part that it was served, compared by Jain's index. Where
    /// nothing is guaranteed, of what it asked for.
    fn jain(&self, held: &OrderedMap<String, u128>, guarantees: &Guarantees) -> Option<f64> {
        let guaranteed = self.guaranteed();
        let named = self.part.tenants.iter().filter(|(name, _)| *name != OTHERS);
        let ratios = named.filter_map(|(name, part)| {
            let had = had(name, part, held);
            let asked = had.saturating_add(part.refused().0);
            let entitled = u128::from(guarantees.units(name));
            let claim = if guaranteed {
                asked.min(entitled)
            } else {
                asked
            };
            (claim > 0).then(|| had.min(claim) as f64 / claim as f64)
        });
        jain(ratios)
    }

    fn tenants(
        &self,
        held: &OrderedMap<String, u128>,
        guarantees: &Guarantees,
    ) -> Vec<WindowTenant> {
        let mut ranked: Vec<_> = self.part.tenants.iter().collect();
        sort_by_key(&mut ranked, |(name, part)| {
            let asked = had(name, part, held).saturating_add(part.refused().0);
            (*name == OTHERS, std::cmp::Reverse(asked))
        });
        let mut named = Vec::new();
        let mut others: Option<WindowTenant> = None;
        for (index, (name, part)) in ranked.into_iter().enumerate() {
            let mut one = self.tenant(name, part, guarantees);
            one.reserved = Count(held.get(name).copied().unwrap_or(0));
            if index < RECORD_TENANTS_MAX && name != OTHERS {
                named.push(one);
            } else {
                match others.as_mut() {
                    Some(others) => others.add(&one),
                    None => {
                        others = Some(WindowTenant {
                            tenant: OTHERS.to_owned(),
                            parent: None,
                            ..one
                        });
                    }
                }
            }
        }
        named.extend(others);
        named
    }

    fn tenant(&self, name: &str, part: &TenantPart, guarantees: &Guarantees) -> WindowTenant {
        let entitlement = guarantees.units(name);
        let served = part.served();
        let borrowed = if self.guaranteed() {
            served.0.saturating_sub(entitlement.into())
        } else {
            0
        };
        let counts_as = guarantees.weight_among_all(name);
        let branch = self.part.tree.get(name);
        WindowTenant {
            tenant: name.to_owned(),
            weight: weight(part.weight_micros),
            parent: branch.and_then(|branch| branch.parent.clone()),
            counts_as: (counts_as != part.weight_micros).then(|| weight(counts_as)),
            entitlement,
            served,
            borrowed: Count(borrowed),
            denied: part.denied,
            reserved: Count(0),
            beyond: part.beyond,
            would_deny: part.would_deny,
        }
    }
}

fn weight(micros: u64) -> Decimal {
    Decimal(micros as f64 / 1e6)
}

/// Units that a tenant has had: what is reserved is.
fn had(name: &str, part: &TenantPart, held: &OrderedMap<String, u128>) -> u128 {
    let reserved = held.get(name).copied().unwrap_or(0);
    part.served().0.saturating_add(reserved)
}

/// Reservations whose time is over, and those that may still be settled.
fn split_over(mut reservations: HeldParts, at: EpochMs) -> (HeldParts, HeldParts) {
    let mut minutes = reservations.keys().copied();
    let first_open = minutes.find(|until| !is_over(*until, at));
    let open = first_open.map(|until| reservations.split_off(&until));
    (reservations, open.unwrap_or_default())
}

/// Units of a minute's reservations that are open, by tenant. Who reserved among the others and is released by name is
/// released among the others.
fn held(tenants: &OrderedMap<String, HeldPart>) -> OrderedMap<String, u128> {
    let surplus = |part: &HeldPart| part.released.0.saturating_sub(part.reserved.0);
    let beyond: u128 = tenants.values().map(surplus).sum();
    let open = tenants.iter().map(|(name, part)| {
        let open = part.reserved.0.saturating_sub(part.released.0);
        let less = if name == OTHERS { beyond } else { 0 };
        (name.clone(), open.saturating_sub(less))
    });
    OrderedMap::from_iter(open.filter(|(_, units)| *units > 0))
}

#[cfg(test)]
mod tests;
