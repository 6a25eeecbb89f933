//! What the tenants of one budget, or below one tenant, have used and are guaranteed, and how much of all guarantees is
//! unused.
//!
//! That sum, `max(0, g_j - used_j)` over all tenants, follows each charge. When the weights change it is read from one
//! tree of used units for each distinct weight, into which those charged since are placed first. So a charge costs the
//! same for any number of tenants, and a change of weights `O(K log n)` for `K` distinct ones.

mod release;
mod told;

use smol_str::SmolStr;
use weir_core::ordered::OrderedMap;

use self::release::{carries, paced};
use super::ask::{ClaimVersion, Floor, Moment, TenantClaim};
use super::classes::{ClassId, ClassKey, Classes, Tally, Unused};
use super::member::{Keeping, Member, class_of, stranger};
use super::name_index::NameIndex;
use super::share::ShareTerms;

/// The account that the tenants beyond `tenants_max` share. No tenant's name has a control character.
pub const OVERFLOW: &str = "\u{1}overflow";

/// One tenant at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// What is set aside for it and its part of the rest by weight, at most its ceiling.
    pub guarantee: u64,
    /// Units.
    pub used: u64,
    /// Units that nobody has.
    pub pool: u64,
    /// Units of them that are kept for others.
    pub kept: u64,
    /// Units of those that are kept for tenants that have not come.
    pub kept_carried: u64,
    /// Units above the guarantee that it may use.
    pub borrow_max: u64,
    /// Units that it may use, whatever else is free.
    pub most: u64,
}

/// Names an account; it stays until the window rolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountId(usize);

impl AccountId {
    /// How many accounts were opened before it.
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

/// What holds while weights and limit stand.
#[derive(Debug, Clone, Copy)]
struct CachedUnused {
    limit: u64,
    /// Units that weights divide.
    rest: u64,
    unused: Unused,
}

/// The accounts.
#[derive(Debug, Clone)]
pub struct Accounts {
    terms: ShareTerms,
    keeping: Keeping,
    index: NameIndex,
    members: Vec<Member>,
    /// The account that was looked for last: it is charged next.
    last: usize,
    /// Tenants of the last window that were not seen yet; empty once they do not count any more.
    carried: OrderedMap<SmolStr, Member>,
    classes: Classes,
    unknown: u64,
    used_total: u64,
    /// Members to place again before a sum is read from the trees.
    moved: Vec<usize>,
    /// What holds while weights and limit stand.
    cached_unused: Option<CachedUnused>,
    operations: u64,
}

impl Accounts {
    /// Nobody has an account yet.
    #[must_use]
    pub fn new(terms: ShareTerms, keeping: Keeping) -> Self {
        Self {
            terms,
            keeping,
            index: NameIndex::default(),
            members: Vec::new(),
            last: 0,
            carried: OrderedMap::new(),
            classes: Classes::new(terms.unknown_weight_max.micros(), terms.floors),
            unknown: 0,
            used_total: 0,
            moved: Vec::new(),
            cached_unused: None,
            operations: 0,
        }
    }

    /// Other terms, for what comes.
    pub fn retune(&mut self, terms: ShareTerms) {
        self.terms = terms;
        self.classes
            .bound_unknown(terms.unknown_weight_max.micros());
        self.classes.say_floors(terms.floors);
        self.cached_unused = None;
    }

    /// The next window: nobody has used anything.
    pub fn roll(&mut self) {
        self.index = NameIndex::default();
        let members = std::mem::take(&mut self.members);
        self.carried.clear();
        if self.terms.carried {
            let named = |member: Member| (member.name.clone(), member);
            self.carried = members.into_iter().map(named).collect();
        }
        self.classes.roll(self.terms.carried);
        self.moved.clear();
        (self.unknown, self.used_total, self.cached_unused) = (0, 0, None);
    }

    /// The account of a tenant, opened if it has none.
    pub fn join(&mut self, name: &str, claim: &TenantClaim) -> AccountId {
        self.count(1);
        if let Some(id) = self.own_id(name) {
            self.last = id;
            self.restate(id, claim);
            return AccountId(id);
        }
        if claim.known || self.unknown < self.terms.tenants_max {
            return self.open(name, claim);
        }
        match self.own_id(OVERFLOW) {
            Some(id) => self.tighten(id, claim),
            None => self.open(OVERFLOW, &shared(claim)),
        }
    }

    /// The account that many share, under the least ceiling of those that came to it.
    fn tighten(&mut self, id: usize, claim: &TenantClaim) -> AccountId {
        let class = self.class(id);
        if let (Some(class), Some(ceiling)) = (class, claim.ceiling)
            && ceiling < class.ceiling
        {
            self.reclass(id, ClassKey { ceiling, ..class });
            self.cached_unused = None;
            self.moved(id);
        }
        AccountId(id)
    }

    /// What a member has in common with those of its class.
    fn class(&self, id: usize) -> Option<ClassKey> {
        let class = self.classes.get(self.members.get(id)?.class)?;
        Some(class.key)
    }

    /// The class of a member, or the one that a tenant that is none would have.
    fn class_or(&self, member: Option<&Member>, claim: &TenantClaim) -> ClassKey {
        let class = member.and_then(|member| self.classes.get(member.class));
        class.map_or_else(|| class_of(claim), |class| class.key)
    }

    /// A tenant's own account.
    fn own_id(&self, name: &str) -> Option<usize> {
        let name_of = |id: usize| self.members.get(id).map(|member| member.name.as_str());
        if name_of(self.last) == Some(name) {
            return Some(self.last);
        }
        self.index.get(name, name_of)
    }

    fn own_member(&self, name: &str) -> Option<&Member> {
        self.members.get(self.own_id(name)?)
    }

    fn open(&mut self, name: &str, claim: &TenantClaim) -> AccountId {
        let name = SmolStr::from(name);
        let carried = self.carried.remove(name.as_str());
        let id = self.members.len();
        let class = self.classes.id(class_of(claim));
        let mut member = Member::new(name, class, claim, self.keeping);
        if let Some(before) = carried
            .as_ref()
            .filter(|one| one.claim_version > claim.claim_version)
        {
            member.claim_as(before);
        }
        let class = member.class;
        self.members.push(member);
        let members = &self.members;
        let name_of = |id: usize| members.get(id).map(|member| member.name.as_str());
        let placed = name_of(id).map_or(0, |name| self.index.push(name, name_of));
        self.count(placed);
        self.last = id;
        if let Some(key) = self.class(id) {
            self.unknown += u64::from(!key.known);
            match carried.map(|before| before.class) {
                Some(before) => self.come_back(before, class),
                None => self.weigh(key),
            }
        }
        self.classes.enter(class);
        self.moved(id);
        self.keep(id);
        AccountId(id)
    }

    /// One that was carried, as one of the class `before`, has come as one of another or the same.
    fn come_back(&mut self, before: ClassId, class: ClassId) {
        self.classes.uncarry(before);
        if let Some(CachedUnused { unused, .. }) = &mut self.cached_unused {
            let guarantee = u128::from(self.classes.guarantee(before));
            unused.carried = unused.carried.saturating_sub(guarantee);
        }
        let key = |id: ClassId| self.classes.get(id).map(|class| class.key);
        if before != class
            && let (Some(before), Some(class)) = (key(before), key(class))
        {
            self.classes.unweigh(before);
            self.weigh(class);
        }
    }

    fn weigh(&mut self, class: ClassKey) {
        self.classes.weigh(class);
        self.cached_unused = None;
    }

    /// Takes over what a tenant that has an account claims now.
    fn restate(&mut self, id: usize, claim: &TenantClaim) {
        let (Some(key), Some(member)) = (self.class(id), self.members.get_mut(id)) else {
            return;
        };
        if claim.claim_version < member.claim_version || member.claims(key, claim, self.keeping) {
            return;
        }
        let class = class_of(claim);
        let before = (key, member.unkept, member.borrow_max);
        member.bound(claim, self.keeping);
        let same = before == (class, member.unkept, member.borrow_max);
        if key != class {
            self.reclass(id, class);
        }
        if !same {
            self.cached_unused = None;
            self.moved(id);
        }
    }

    /// Has a member belong to another class.
    fn reclass(&mut self, id: usize, class: ClassKey) {
        let Some(before) = self.class(id) else {
            return;
        };
        let after = self.classes.id(class);
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        let placed = member.placed.take();
        self.classes
            .leave(std::mem::replace(&mut member.class, after), placed);
        self.classes.unweigh(before);
        self.classes.weigh(class);
        self.classes.enter(after);
        self.unknown = self.unknown.saturating_sub(u64::from(!before.known));
        self.unknown += u64::from(!class.known);
    }

    /// The account at an instant.
    pub fn at(&mut self, id: AccountId, at: &Moment) -> Account {
        self.expire(at);
        let unused = self.stand(at);
        self.count(1);
        let Some(member) = self.members.get(id.0) else {
            return Account::nothing();
        };
        let Some(class) = self.classes.get(member.class) else {
            return Account::nothing();
        };
        let (guarantee, most) = (class.guarantee, class.key.ceiling);
        let absent = self.absent(at);
        let borrow_max = member.borrow_max.unwrap_or(u64::MAX);
        let others = unused.members - u128::from(member.kept_of(guarantee)).min(unused.members);
        let carried = match self.keeping {
            Keeping::Whole => paced(unused.carried, at),
            Keeping::AboveLendMax => 0,
        };
        let units = |units: u128| u64::try_from(units).unwrap_or(u64::MAX);
        Account {
            guarantee,
            used: member.used,
            pool: at.limit.saturating_sub(self.used_total).min(at.unlent),
            kept: units(others.saturating_add(carried)).saturating_add(absent),
            kept_carried: units(carried),
            borrow_max: borrow_max.min(most - guarantee),
            most,
        }
    }

    /// Lets those go that were carried and have not come.
    fn expire(&mut self, at: &Moment) {
        if !self.carried.is_empty() && !carries(at) {
            self.carried.clear();
            self.classes.drop_carried();
            self.cached_unused = None;
        }
    }

    /// What is unused, read anew where weights or the limit have changed.
    fn stand(&mut self, at: &Moment) -> Unused {
        let (limit, rest) = (at.limit, self.classes.rest(at));
        if let Some(cached) = self.cached_unused
            && (cached.limit, cached.rest) == (limit, rest)
        {
            return cached.unused;
        }
        self.place();
        let unused = self.classes.stand(limit, rest);
        self.cached_unused = Some(CachedUnused {
            limit,
            rest,
            unused,
        });
        unused
    }

    fn place(&mut self) {
        for id in std::mem::take(&mut self.moved) {
            let Some(member) = self.members.get_mut(id) else {
                continue;
            };
            member.moved = false;
            let key = member.key();
            if key == member.placed {
                continue;
            }
            let Some(class) = self.classes.get_mut(member.class) else {
                continue;
            };
            let keys = &mut class.keys;
            if let Some(key) = member.placed {
                keys.remove(key, Tally::of(key));
            }
            if let Some(key) = key {
                keys.insert(key, Tally::of(key));
            }
            member.placed = key;
        }
    }

    fn moved(&mut self, id: usize) {
        if let Some(member) = self.members.get_mut(id)
            && !std::mem::replace(&mut member.moved, true)
        {
            self.moved.push(id);
        }
    }

    /// Counts what is kept for a member that just came.
    fn keep(&mut self, id: usize) {
        let (Some(member), Some(cached)) = (self.members.get(id), &mut self.cached_unused) else {
            return;
        };
        let kept = u128::from(member.kept_of(self.classes.guarantee(member.class)));
        cached.unused.members = cached.unused.members.saturating_add(kept);
    }

    fn use_up(&mut self, id: usize, used: u64) {
        self.count(1);
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        let guarantee = self.classes.guarantee(member.class);
        let before = (member.used, member.kept_of(guarantee));
        member.used = used;
        if let Some(CachedUnused { unused, .. }) = &mut self.cached_unused {
            let kept = u128::from(member.kept_of(guarantee));
            unused.members = unused.members.saturating_sub(u128::from(before.1));
            unused.members = unused.members.saturating_add(kept);
        }
        self.used_total = self
            .used_total
            .saturating_sub(before.0)
            .saturating_add(used);
        if before.0 != used {
            self.moved(id);
        }
    }

    /// Counts units as used. Those of a name without an account go to the one that is shared: nothing is forgotten.
    pub fn charge(&mut self, name: &str, units: u64) {
        let id = match self.id(name) {
            Some(id) => id,
            None => self.open(OVERFLOW, &stranger()).0,
        };
        let used = self.members.get(id).map_or(0, |member| member.used);
        self.use_up(id, used.saturating_add(units));
    }

    /// Sets what a tenant has used. The account that many share is never lowered, as each of them knows its own part
    /// alone.
    pub fn set_used(&mut self, name: &str, claim: &TenantClaim, used: u64) {
        let AccountId(id) = self.join(name, claim);
        let is_own = self.own_id(name) == Some(id) && name != OVERFLOW;
        let before = self.members.get(id).map_or(0, |member| member.used);
        let used = if is_own { used } else { before.max(used) };
        if used != before {
            self.use_up(id, used);
        }
    }

    /// Takes units off what was charged to a tenant.
    pub fn lower(&mut self, name: &str, units: u64) {
        if let Some(id) = self.id(name) {
            let used = self.members.get(id).map_or(0, |member| member.used);
            self.use_up(id, used.saturating_sub(units));
        }
    }

    /// What a tenant with an account of its own has used.
    pub fn own(&self, name: &str) -> Option<u64> {
        self.own_member(name).map(|member| member.used)
    }

    /// By which word the claim is that an own account of a tenant goes by.
    pub fn claim_version(&self, name: &str) -> Option<ClaimVersion> {
        self.own_member(name).map(|member| member.claim_version)
    }

    fn id(&self, name: &str) -> Option<usize> {
        self.own_id(name).or_else(|| self.own_id(OVERFLOW))
    }

    /// What a tenant has used; of one without an account, what those without one have used together.
    pub fn used(&self, name: &str) -> u64 {
        let id = self.id(name);
        let member = id.and_then(|id| self.members.get(id));
        member.map_or(0, |member| member.used)
    }

    /// Units that all have used in the window.
    #[must_use]
    pub fn used_total(&self) -> u64 {
        self.used_total
    }

    /// Steps that were taken so far.
    pub fn operations(&self) -> u64 {
        self.operations.saturating_add(self.classes.steps())
    }

    fn count(&mut self, steps: u64) {
        self.operations = self.operations.saturating_add(steps);
    }
}

impl Account {
    fn nothing() -> Self {
        Self {
            guarantee: 0,
            used: 0,
            pool: 0,
            kept: 0,
            kept_carried: 0,
            borrow_max: 0,
            most: 0,
        }
    }
}

/// The claim of an account that many share, whoever of them came first: nobody's word is later than another's, and
/// nothing is set aside for all of them.
pub fn shared(claim: &TenantClaim) -> TenantClaim {
    TenantClaim {
        claim_version: ClaimVersion::default(),
        floor: Floor::default(),
        ..claim.clone()
    }
}
