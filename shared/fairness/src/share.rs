//! The shares of one budget: who may have how much of it in this window.

use std::borrow::Cow;

use weir_core::limits::TENANT_DEPTH_MAX;
use weir_core::ordered::{OrderedMap, sort_by};
use weir_core::units::Revision;

use super::ask::{Above, Ask, ClaimVersion, Claimant, Floor, Moment, Room, SetAside, TenantClaim};
use super::machine::Machine;
use crate::weight::Weight;

/// The rule by which tenants share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Equal shares; what is left to whoever comes first.
    Fair,
    /// Weighted shares; what is left to whoever comes first.
    Weighted,
    /// Weighted max-min; the guarantee of a tenant that is there stays reserved.
    Pinned,
    /// Weighted max-min; a guarantee is released at an even pace.
    Paced,
    /// Weighted max-min; what all are expected to need of their guarantees is reserved for them together.
    Pooled,
    /// Weighted max-min; nothing is reserved.
    Unreserved,
}

impl Rule {
    /// Whether units that a holder has and no tenant uses there lie idle for all of them.
    #[must_use]
    pub fn pools_idle(self) -> bool {
        match self {
            Self::Pooled | Self::Unreserved => true,
            Self::Fair | Self::Weighted | Self::Pinned | Self::Paced => false,
        }
    }
}

/// The terms of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareTerms {
    /// How tenants share.
    pub rule: Rule,
    /// Tenants told apart among those that the policy does not name; those beyond share one account.
    pub tenants_max: u64,
    /// What those that the policy does not name weigh together, at most.
    pub unknown_weight_max: Weight,
    /// Whether the tenants of one window still count at the beginning of the next.
    pub carried: bool,
    /// Units that are set aside by name for tenants without a parent, whether they are there or not.
    pub floors: u64,
}

/// One tenant's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRow {
    /// The tenant.
    pub name: String,
    /// Its weight.
    pub weight: Weight,
    /// Units that are its own in this window.
    pub guarantee: u64,
    /// Units that it may use, as things stand.
    pub ceiling: u64,
    /// Units that it has used.
    pub used: u64,
}

/// The accounts of every tenant that shares a budget.
///
/// A tenant below others has an account among those with the same parent, and each of those above it has one among
/// theirs: all of them are charged, and all must have room.
///
/// ```
/// use weir_fairness::ask::{Ask, Moment, Claimant};
/// use weir_fairness::share::{Rule, Share, ShareTerms};
/// use weir_fairness::weight::Weight;
/// let mut share = Share::new(ShareTerms {
///     rule: Rule::Pinned, tenants_max: 100, unknown_weight_max: Weight::WHOLE, carried: true, floors: 0,
/// });
/// let claimant = |name: &str| Claimant::plain(name);
/// let at = Moment { limit: 90, unlent: 90, left_ms: 1_000, window_ms: 1_000 };
/// for name in ["a", "b", "c"] {
///     share.set_used(&claimant(name), 0);
/// }
/// // 90 / 3 = 30 each, which nobody else can have; what is left of them is lent ahead by halves.
/// let ask = Ask { waiting: 10, smallest: 10, expected: 100, holders: 1, ..Ask::default() };
/// let room = share.room(&claimant("a"), &ask, &at);
/// assert_eq!((room.waiting, room.ahead, room.ceiling), (10, 10, 30));
/// share.charge("a", room.waiting + room.ahead);
/// assert_eq!((share.used("a"), share.used_total()), (20, 20));
/// ```
#[derive(Debug, Clone)]
pub struct Share {
    terms: ShareTerms,
    /// Those without a parent.
    top: Machine,
    /// Those below a tenant, by its name.
    below: OrderedMap<String, Below>,
    /// Of tenants that have a parent and asked in this window: the names above them, the parent first.
    chains: OrderedMap<String, Vec<String>>,
}

/// Tenants with one parent.
#[derive(Debug, Clone)]
struct Below {
    machine: Machine,
    /// Windows in which none of them asked.
    idle_windows: u8,
    /// What is set aside for them by name, and by which revision.
    floors: (Revision, SetAside),
}

impl Below {
    fn new(terms: ShareTerms) -> Self {
        let terms = ShareTerms { floors: 0, ..terms };
        Self {
            machine: Machine::new(terms),
            idle_windows: 0,
            floors: (Revision(0), SetAside::default()),
        }
    }

    /// Other terms, for what comes, but for what is set aside for those here.
    fn retune(&mut self, terms: ShareTerms) {
        let floors = self.floors.1.units;
        self.machine.retune(ShareTerms { floors, ..terms });
    }
}

impl Share {
    /// Nobody has used anything.
    #[must_use]
    pub fn new(terms: ShareTerms) -> Self {
        Self {
            terms,
            top: Machine::new(terms),
            below: OrderedMap::new(),
            chains: OrderedMap::new(),
        }
    }

    /// Other terms, for what comes. What was used stays used, also under another rule.
    pub fn retune(&mut self, terms: ShareTerms) {
        if terms == self.terms {
            return;
        }
        self.terms = terms;
        self.top.retune(terms);
        for below in self.below.values_mut() {
            below.retune(terms);
        }
    }

    /// The next window: nobody has used anything, and those that were there count as [`ShareTerms::carried`] says.
    pub fn roll(&mut self) {
        self.chains.clear();
        self.top.roll();
        // After two windows without any of them nobody is carried either.
        self.below.retain(|_, below| below.idle_windows < 2);
        for below in self.below.values_mut() {
            below.machine.roll();
            below.idle_windows += 1;
        }
    }

    /// What a claimant may be charged. It counts as there from now on, with those above it; nothing is charged.
    pub fn room(&mut self, claimant: &Claimant, ask: &Ask, at: &Moment) -> Room {
        let TenantClaim { above, .. } = &claimant.claim;
        if above.is_empty() && self.chains.is_empty() {
            return self.top.room(&claimant.name, &claimant.claim, ask, at);
        }
        let claimant = &*self.where_it_stands(claimant);
        let TenantClaim {
            above,
            claim_version,
            ..
        } = &claimant.claim;
        self.place(claimant);
        self.merge_newer_floors(claimant);
        let (mut at, mut whole) = (*at, None);
        let mut parent: Option<&str> = None;
        for one in above.iter().rev().take(TENANT_DEPTH_MAX) {
            let machine = self.machine(parent);
            let claim = claim_of(one, *claim_version);
            let room = machine.room(&one.name, &claim, ask, &at);
            let left = room.ceiling.saturating_sub(machine.used(&one.name));
            let guarantee = machine.guarantee(&one.name, &claim, &at);
            at = Moment {
                limit: room.ceiling.max(guarantee),
                unlent: at.unlent.min(left),
                ..at
            };
            whole = Some(narrowed(whole, room, ask));
            parent = Some(&one.name);
        }
        let room = self
            .machine(parent)
            .room(&claimant.name, &claimant.claim, ask, &at);
        narrowed(whole, room, ask)
    }

    /// Takes over what is set aside for those below the tenants above a claimant, unless a later word was heard.
    fn merge_newer_floors(&mut self, claimant: &Claimant) {
        let TenantClaim {
            above,
            claim_version,
            ..
        } = &claimant.claim;
        let terms = self.terms;
        for one in above.iter().take(TENANT_DEPTH_MAX) {
            let said = (claim_version.revision, one.floors);
            if let Some(below) = self.below.get_mut(&one.name)
                && below.floors < said
            {
                let changes = below.floors.1.units != said.1.units;
                below.floors = said;
                if changes {
                    below.retune(terms);
                }
            }
        }
    }

    /// What a claimant would be told, without it counting as there: its ceiling, and what it could have.
    #[must_use]
    pub fn peek(&self, claimant: &Claimant, at: &Moment) -> Room {
        let (mut at, mut left) = (*at, u64::MAX);
        let mut machine = Some(&self.top);
        let fresh = Machine::new(ShareTerms {
            floors: 0,
            ..self.terms
        });
        for one in claimant.claim.above.iter().rev().take(TENANT_DEPTH_MAX) {
            let here = machine.unwrap_or(&fresh);
            let claim = claim_of(one, claimant.claim.claim_version);
            let room = here.peek(&one.name, &claim, &at);
            left = left.min(room.left);
            at.limit = room.ceiling;
            machine = self.below.get(&one.name).map(|below| &below.machine);
        }
        let room = machine
            .unwrap_or(&fresh)
            .peek(&claimant.name, &claimant.claim, &at);
        Room {
            left: room.left.min(left),
            ..room
        }
    }

    /// Counts units as used, by a tenant and all above it.
    pub fn charge(&mut self, name: &str, units: u64) {
        let Some(chain) = self.chains.get(name).cloned() else {
            return self.top.charge(name, units);
        };
        self.charge_chain(name, &chain, units);
    }

    fn charge_chain(&mut self, name: &str, chain: &[String], units: u64) {
        let mut name = name;
        for parent in chain {
            self.machine(Some(parent)).charge(name, units);
            name = parent;
        }
        self.top.charge(name, units);
    }

    /// Takes back units that were charged to a tenant, and to all above it.
    pub fn lower(&mut self, name: &str, units: u64) {
        let chain = self.chains.get(name).cloned().unwrap_or_default();
        let mut name = name;
        for parent in &chain {
            self.machine(Some(parent)).lower(name, units);
            name = parent;
        }
        self.top.lower(name, units);
    }

    /// Sets what a claimant has used in this window: corrected by what came back, or learned again. It counts as there
    /// from now on.
    pub fn set_used(&mut self, claimant: &Claimant, used: u64) {
        let TenantClaim { above, .. } = &claimant.claim;
        if above.is_empty() && self.chains.is_empty() {
            return self.top.set_used(&claimant.name, &claimant.claim, used);
        }
        let claimant = &*self.where_it_stands(claimant);
        self.place(claimant);
        self.set_chain_used(claimant, |_| used);
    }

    /// Sets what a claimant has used by what it had, and changes all above it by as much.
    fn set_chain_used(&mut self, claimant: &Claimant, used: impl Fn(u64) -> u64) {
        let parent = claimant.claim.above.first().map(|one| one.name.as_str());
        let machine = self.machine(parent);
        let before = machine.used(&claimant.name);
        machine.set_used(&claimant.name, &claimant.claim, used(before));
        let after = machine.used(&claimant.name);
        let above = claimant.claim.above.iter().take(TENANT_DEPTH_MAX);
        let parents = claimant.claim.above.iter().skip(1).map(Some);
        for (one, parent) in above.zip(parents.chain([None])) {
            let machine = self.machine(parent.map(|parent| parent.name.as_str()));
            let used = machine.used(&one.name).saturating_add(after);
            let claim = claim_of(one, claimant.claim.claim_version);
            machine.set_used(&one.name, &claim, used.saturating_sub(before));
        }
    }

    /// The claimant below those that a later claim put it below: an earlier one does not take it back. What else an earlier
    /// claim says, the accounts ignore by themselves.
    fn where_it_stands<'a>(&self, claimant: &'a Claimant) -> Cow<'a, Claimant> {
        let chain = self.chains.get(&claimant.name);
        let parent = chain.and_then(|chain| self.below.get(chain.first()?));
        let machine = parent.map_or(&self.top, |below| &below.machine);
        let known = machine.claim_version(&claimant.name);
        if known.is_none_or(|known| known <= claimant.claim.claim_version) {
            return Cow::Borrowed(claimant);
        }
        let names = chain.into_iter().flatten();
        let above = names.map(|name| Above {
            name: name.clone(),
            weight: Weight::WHOLE,
            borrow_max: None,
            lend_max: None,
            ceiling: None,
            floor: Floor::default(),
            floors: SetAside::default(),
        });
        let mut claimant = claimant.clone();
        claimant.claim.above = above.collect();
        Cow::Owned(claimant)
    }

    /// Takes a tenant, with what it has used, to where it stands now.
    fn place(&mut self, claimant: &Claimant) {
        let above = claimant.claim.above.iter().take(TENANT_DEPTH_MAX);
        let before = self.chains.get(&claimant.name);
        let is_there = match before {
            Some(chain) => chain.iter().eq(above.clone().map(|one| &one.name)),
            None => claimant.claim.above.is_empty(),
        };
        if is_there {
            return;
        }
        let before = before.cloned().unwrap_or_default();
        let used = self.leave(&claimant.name, &before);
        if claimant.claim.above.is_empty() {
            self.chains.remove(&claimant.name);
        } else {
            let chain = above.map(|one| one.name.clone()).collect();
            self.chains.insert(claimant.name.clone(), chain);
        }
        self.set_chain_used(claimant, |before| before.saturating_add(used));
    }

    /// Takes what a tenant has used off the accounts of its chain, and says how much it is.
    fn leave(&mut self, name: &str, chain: &[String]) -> u64 {
        let parent = chain.first().map(String::as_str);
        let used = self.machine(parent).clear(name);
        for (index, one) in chain.iter().enumerate() {
            let parent = chain.get(index + 1).map(String::as_str);
            self.machine(parent).lower(one, used);
        }
        used
    }

    fn machine(&mut self, parent: Option<&str>) -> &mut Machine {
        let Some(parent) = parent else {
            return &mut self.top;
        };
        let terms = self.terms;
        let below = self
            .below
            .entry(parent.to_owned())
            .or_insert_with(|| Below::new(terms));
        below.idle_windows = 0;
        &mut below.machine
    }

    /// Units that a tenant has used.
    #[must_use]
    pub fn used(&self, name: &str) -> u64 {
        let parent = self.chains.get(name).and_then(|chain| chain.first());
        let below = parent.and_then(|parent| self.below.get(parent));
        if let Some(below) = below {
            return below.machine.used(name);
        }
        let is_above = |(_, chain): (&String, &Vec<String>)| {
            let index = chain.iter().position(|one| one == name)?;
            Some(chain.get(index + 1).cloned())
        };
        let parent = self.below.contains_key(name);
        let parent = parent.then(|| self.chains.iter().find_map(is_above));
        let machine = match parent.flatten().flatten() {
            Some(parent) => self.below.get(&parent).map(|below| &below.machine),
            None => None,
        };
        machine.unwrap_or(&self.top).used(name)
    }

    /// Units that a tenant has used by its own account, if it has one in this window.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<u64> {
        let parent = self.chains.get(name).and_then(|chain| chain.first());
        let below = parent.and_then(|parent| self.below.get(parent));
        below.map_or(&self.top, |below| &below.machine).own(name)
    }

    /// The rule by which tenants share.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.terms.rule
    }

    /// Units that all tenants have used.
    #[must_use]
    pub fn used_total(&self) -> u64 {
        self.top.used_total()
    }

    /// The share of each tenant, and of each that has tenants below it, by name.
    #[must_use]
    pub fn rows(&self, at: &Moment) -> Vec<ShareRow> {
        let mut rows = self.top.rows(at);
        let mut done = 0;
        for _ in 0..TENANT_DEPTH_MAX {
            let level: Vec<(String, u64)> = rows
                .iter()
                .skip(done)
                .map(|row| (row.name.clone(), row.ceiling))
                .collect();
            done = rows.len();
            for (name, limit) in level {
                if let Some(below) = self.below.get(&name) {
                    rows.extend(below.machine.rows(&Moment { limit, ..*at }));
                }
            }
        }
        sort_by(&mut rows, |one, other| one.name.cmp(&other.name));
        rows
    }

    /// Steps that were taken so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let below = self.below.values().map(|below| below.machine.operations());
        below.fold(self.top.operations(), u64::saturating_add)
    }
}

/// The claim of a tenant that is above others. The policy names it.
fn claim_of(above: &Above, claim_version: ClaimVersion) -> TenantClaim {
    TenantClaim {
        weight: above.weight,
        known: true,
        borrow_max: above.borrow_max,
        lend_max: above.lend_max,
        ceiling: above.ceiling,
        floor: above.floor,
        claim_version,
        above: Vec::new(),
    }
}

/// What is left of the room above when one more has to have room; the ceiling is that of the last.
fn narrowed(above: Option<Room>, room: Room, ask: &Ask) -> Room {
    let Some(above) = above else { return room };
    let retry_ms = match (above.waiting, room.waiting) {
        _ if ask.waiting == 0 => None,
        (0, 0) => above
            .retry_ms
            .zip(room.retry_ms)
            .map(|(one, other)| one.max(other)),
        (0, _) => above.retry_ms,
        (_, 0) => room.retry_ms,
        _ => None,
    };
    let waiting = above.waiting.min(room.waiting);
    Room {
        waiting,
        ahead: above.ahead.min(room.ahead),
        ceiling: room.ceiling,
        used: room.used,
        left: above.left.min(room.left),
        allowance: above.allowance.min(room.allowance),
        contended: above.contended || room.contended,
        retry_ms,
    }
}

#[cfg(test)]
mod tests;
