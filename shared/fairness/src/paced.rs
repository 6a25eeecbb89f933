//! Weighted max-min in which a guarantee is released at an even pace.
//!
//! A member keeps a reserve that others cannot have: at first its guarantee, later what an even pace still needs, plus
//! one request. Within it everything is admitted. Beyond it a member gets what all reserves leave, as long as it is
//! below the level: the shares by weight of all that want more.
//!
//! `docs/src/explanation/fairness.md` has the promises of this rule, their proofs, and what is measured.

use super::accounts::OVERFLOW;
use super::allowance::{Allowance, Delay};
use super::ask::{Ask, ClaimVersion, Moment, Room, TenantClaim};
use super::hungry::{Appetite, Level, Turn, level};
use super::id_set::IdSet;
use super::member::stranger;
use super::pace::Stretch;
use super::paced_accounts::{Member, PacedAccounts};
use super::pooled::{Pooled, Stake};
use super::rate::{parts, units};
use super::share::{Rule, ShareRow, ShareTerms};

#[cfg(test)]
mod tests;

/// Up to so many members that want more, the level is computed at each ask.
const EXACT_MEMBERS: usize = 64;

/// Beyond, each time that one in so many of them has asked: an ask costs `O(log n)` on average.
const LEVEL_PARTS: usize = 16;

/// How often in a window the pooled reserve is computed anew: it looks at every member.
const POOLED_PER_WINDOW: u64 = 64;

/// Tenants that share by this rule.
///
/// ```
/// use weir_fairness::ask::{Ask, Moment, TenantClaim};
/// use weir_fairness::paced::Paced;
/// use weir_fairness::share::{Rule, ShareTerms};
/// use weir_fairness::weight::Weight;
/// let mut paced = Paced::new(ShareTerms {
///     rule: Rule::Paced, tenants_max: 100, unknown_weight_max: Weight::WHOLE, carried: true, floors: 0,
/// });
/// let at = |left_ms, unlent| Moment { limit: 100, unlent, left_ms, window_ms: 1_000 };
/// let claim = TenantClaim::default();
/// let ask = |cost| Ask { waiting: cost, smallest: cost, ..Ask::default() };
/// assert_eq!(paced.room("light", &claim, &ask(1), &at(1_000, 100)).waiting, 1);
/// paced.charge("light", 1);
/// // Two of equal weight: 50 each. Of 99 that remain, 49 are reserved for "light".
/// assert_eq!(paced.room("hungry", &claim, &ask(51), &at(1_000, 99)).waiting, 0);
/// assert_eq!(paced.room("hungry", &claim, &ask(50), &at(1_000, 99)).waiting, 50);
/// paced.charge("hungry", 50);
/// // In the last millisecond "light" needs no more than one request: 49 - 1 are released.
/// assert_eq!(paced.room("hungry", &claim, &ask(49), &at(1, 49)).waiting, 0);
/// assert_eq!(paced.room("hungry", &claim, &ask(48), &at(1, 49)).waiting, 48);
/// ```
#[derive(Debug, Clone)]
pub struct Paced {
    accounts: PacedAccounts,
    /// Members that are expected to use more than their reserve.
    hungry: IdSet,
    /// Room for what the level is computed from.
    room: (Vec<Appetite>, Vec<Turn>),
    /// As of the last time that it was computed; `None`: there is enough for all.
    level: Option<Level>,
    asks_since_level: usize,
    rule: Rule,
    /// When the pooled reserve was computed last: so many milliseconds were left.
    pooled_at_ms: Option<u64>,
}

impl Paced {
    /// Nobody has used anything.
    #[must_use]
    pub fn new(terms: ShareTerms) -> Self {
        Self {
            accounts: PacedAccounts::new(terms),
            hungry: IdSet::default(),
            room: Default::default(),
            level: None,
            asks_since_level: usize::MAX,
            rule: terms.rule,
            pooled_at_ms: None,
        }
    }

    /// Other terms, for what comes.
    pub fn retune(&mut self, terms: ShareTerms) {
        self.accounts.retune(terms);
        self.rule = terms.rule;
        self.pooled_at_ms = None;
    }

    /// The next window. Members that were not seen for two windows are dropped.
    pub fn roll(&mut self) {
        self.accounts.roll();
        self.hungry.clear();
        self.level = None;
        self.asks_since_level = usize::MAX;
        self.pooled_at_ms = None;
    }

    /// Counts a tenant among the members.
    pub fn join(&mut self, name: &str, claim: &TenantClaim) {
        self.accounts.open(name, claim);
    }

    /// What a tenant may be charged. It is a member from now on, and what it asks for counts as demand.
    pub fn room(&mut self, name: &str, claim: &TenantClaim, ask: &Ask, at: &Moment) -> Room {
        let id = self.accounts.open(name, claim);
        self.begin(at);
        self.count_demand(id, ask, at);
        self.relevel(id, ask, at);
        let room = self.grant(id, ask, at);
        self.note(id, ask, &room, at);
        room
    }

    /// What a tenant would be told, without it counting as a member.
    #[must_use]
    pub fn peek(&self, name: &str, claim: &TenantClaim, at: &Moment) -> Room {
        let used = self.used(name);
        let own = self.accounts.own(name);
        let (ceiling, left) = match own.filter(|_| self.accounts.has_begun()) {
            Some(id) => {
                let left = self.allowance(id, at).up_to_level();
                (used.saturating_add(left), left)
            }
            None => {
                let ceiling = self.guarantee(name, claim, at).max(used);
                let left = self.accounts.pool(at).min(ceiling.saturating_sub(used));
                (ceiling, left)
            }
        };
        Room {
            ceiling,
            used,
            left,
            ..Room::default()
        }
    }

    /// Counts units as used. Those of a name without an account go to the one that is shared: nothing is forgotten.
    pub fn charge(&mut self, name: &str, units: u64) {
        let id = match self.accounts.id(name) {
            Some(id) => id,
            None => self.accounts.open(OVERFLOW, &stranger()),
        };
        let used = self.accounts.member(id).map_or(0, |member| member.used);
        self.accounts.use_up(id, used.saturating_add(units));
    }

    /// Sets what a tenant has used, which is a member from now on. What it has less is what it was lent ahead and did not
    /// need: it was no demand. The account that many share is never lowered, as each of them knows its own part alone.
    pub fn set_used(&mut self, name: &str, claim: &TenantClaim, used: u64) {
        let id = self.accounts.open(name, claim);
        let is_own = self.accounts.own(name) == Some(id) && name != OVERFLOW;
        let before = self.accounts.member(id).map_or(0, |member| member.used);
        if is_own && let Some(member) = self.accounts.member_mut(id) {
            member.pace.came_back(before.saturating_sub(used));
            if self.rule.pools_idle() {
                // Of what lay idle at a holder, without an ask.
                member.pace.took(used.saturating_sub(before));
            }
        }
        self.accounts
            .use_up(id, if is_own { used } else { before.max(used) });
    }

    /// Takes units off what a tenant has used.
    pub fn lower(&mut self, name: &str, units: u64) {
        if let Some(id) = self.accounts.id(name) {
            let used = self.accounts.member(id).map_or(0, |member| member.used);
            self.accounts.use_up(id, used.saturating_sub(units));
        }
    }

    /// What is set aside for a tenant and `floor(w * R / W)` of the rest `R`, at most its ceiling: what it is guaranteed,
    /// or would be if it came. What it may use falls below this when it stays behind an even pace.
    #[must_use]
    pub fn guarantee(&self, name: &str, claim: &TenantClaim, at: &Moment) -> u64 {
        self.accounts.guarantee(name, claim, at.limit)
    }

    /// By which word the claim is that a tenant's own account goes by.
    #[must_use]
    pub fn claim_version(&self, name: &str) -> Option<ClaimVersion> {
        self.accounts.claim_version(name)
    }

    /// Units that a tenant has used, if it has an account of its own.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<u64> {
        let id = self.accounts.own(name)?;
        self.accounts.member(id).map(|member| member.used)
    }

    /// Units that a tenant has used.
    #[must_use]
    pub fn used(&self, name: &str) -> u64 {
        self.accounts.used(name)
    }

    /// Units that all tenants have used.
    #[must_use]
    pub fn used_total(&self) -> u64 {
        self.accounts.used_total()
    }

    /// Units that are reserved for members, rounded up.
    pub fn reserved(&mut self, at: &Moment) -> u64 {
        self.begin(at);
        units(self.accounts.reserved().saturating_add(parts(1) - 1))
    }

    /// Members, those of the last windows included.
    #[must_use]
    pub fn members(&self) -> usize {
        self.accounts.len()
    }

    /// Each tenant's share, by name.
    #[must_use]
    pub fn rows(&self, at: &Moment) -> Vec<ShareRow> {
        let mut seen = self.clone();
        seen.begin(at);
        seen.level = seen.solve(None, at);
        let rows = seen.accounts.named().filter_map(|(name, id)| {
            let member = seen.accounts.member(id)?;
            let left = seen.allowance(id, at).up_to_level();
            Some(ShareRow {
                name: name.to_owned(),
                weight: member.weight,
                guarantee: seen.accounts.guaranteed(member, at.limit),
                ceiling: member.used.saturating_add(left),
                used: member.used,
            })
        });
        rows.collect()
    }

    /// Steps that were taken so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.accounts.operations()
    }

    /// Lets time pass. At a window's first ask it finds who of the members that were carried will want more than the
    /// reserve.
    fn begin(&mut self, at: &Moment) {
        let rolled = self.accounts.begin(at);
        self.pool_reserves(at);
        if !rolled {
            return;
        }
        let now = self.now(at);
        self.hungry.clear();
        for id in 0..self.accounts.len() {
            let member = self.accounts.member(id);
            let expected = member.map_or(0, |member| member.pace.expected(now, at));
            if expected > self.counted(id) {
                self.hungry.insert(id);
            }
        }
    }

    fn now(&self, at: &Moment) -> Stretch {
        Stretch::at(self.accounts.window(), at)
    }

    /// Computes what is reserved for all members together, where that is what the rule does and it was not done lately.
    fn pool_reserves(&mut self, at: &Moment) {
        match self.rule {
            Rule::Pooled => {}
            Rule::Unreserved => return self.accounts.keep_at_most(Some(0)),
            _ => return self.accounts.keep_at_most(None),
        }
        let since_ms = self
            .pooled_at_ms
            .map(|left_ms| left_ms.saturating_sub(at.left_ms));
        if since_ms.is_some_and(|ms| ms < at.window_ms / POOLED_PER_WINDOW) {
            return;
        }
        self.pooled_at_ms = Some(at.left_ms);
        let now = self.now(at);
        let mut pooled = Pooled::default();
        for id in 0..self.accounts.len() {
            let counted = self.accounts.counted(id);
            if let Some(member) = self.accounts.member(id) {
                pooled.add(Stake {
                    reserve: counted,
                    expected: member.pace.expected(now, at),
                    cost_max: member.costs.largest(),
                    whole: member.floor.units > 0,
                });
            }
        }
        self.accounts.count(self.accounts.len() as u64);
        self.accounts.keep_at_most(Some(pooled.parts()));
    }

    /// Counts what is asked for.
    fn count_demand(&mut self, id: usize, ask: &Ask, at: &Moment) {
        let now = self.now(at);
        if let Some(member) = self.accounts.member_mut(id) {
            let asked = ask.waiting.saturating_add(ask.denied);
            let asked = asked.saturating_add(member.pace.taken());
            if asked > 0 || ask.expected > 0 {
                member.pace.ask(asked, now);
            }
            if ask.waiting > 0 {
                member.costs.asked(cost_of(ask));
            }
        }
        self.accounts.restate_reserve(id, at);
    }

    /// Computes the level, where enough has changed since it was.
    fn relevel(&mut self, id: usize, ask: &Ask, at: &Moment) {
        self.asks_since_level = self.asks_since_level.saturating_add(1);
        let hungry = self.hungry.len();
        if hungry > EXACT_MEMBERS && self.asks_since_level < hungry / LEVEL_PARTS {
            return;
        }
        self.asks_since_level = 0;
        let wanted = ask.waiting.saturating_add(ask.expected);
        self.level = self.solve(Some((id, parts(wanted))), at);
    }

    /// The level of the members that want more than their reserve, and of the one that asks.
    fn solve(&mut self, asker: Option<(usize, u128)>, at: &Moment) -> Option<Level> {
        let now = self.now(at);
        let mut hungry = std::mem::take(&mut self.hungry);
        let looked_at = hungry.len().saturating_add(1);
        let (mut appetites, mut turns) = std::mem::take(&mut self.room);
        appetites.clear();
        self.accounts.count(looked_at as u64);
        hungry.retain(|id| {
            let Some(appetite) = self.appetite(id, now, at) else {
                return false;
            };
            let is_hungry = appetite.expected > appetite.reserve;
            if is_hungry && asker.is_none_or(|(asker, _)| asker != id) {
                appetites.push(appetite);
            }
            is_hungry
        });
        self.hungry = hungry;
        if let Some((id, wanted)) = asker
            && let Some(appetite) = self.appetite(id, now, at)
        {
            appetites.push(Appetite {
                expected: appetite.expected.max(wanted),
                ..appetite
            });
        }
        let reserves = appetites.iter().map(|appetite| appetite.reserve);
        let reserves = reserves.fold(0, u128::saturating_add);
        let level = level(&appetites, self.accounts.free(reserves, at), &mut turns);
        self.room = (appetites, turns);
        level
    }

    fn appetite(&self, id: usize, now: Stretch, at: &Moment) -> Option<Appetite> {
        let member = self.accounts.member(id)?;
        let can_use = member.costs.smallest() <= self.accounts.pool(at);
        let expected = if can_use {
            member.pace.expected(now, at)
        } else {
            0
        };
        let aside = self.accounts.set_aside(member, at.limit);
        Some(Appetite {
            weight: self.weight(member),
            used: member.used.saturating_sub(aside),
            below: parts(aside.saturating_sub(member.used)),
            reserve: self.counted(id),
            expected: expected.min(parts(self.most(member, at))),
        })
    }

    /// Parts that others have to leave for a member.
    fn counted(&self, id: usize) -> u128 {
        match self.rule {
            Rule::Unreserved => 0,
            _ => self.accounts.counted(id),
        }
    }

    fn weight(&self, member: &Member) -> u128 {
        let weights = self.accounts.weights();
        weights.counted(member.weight, member.known)
    }

    /// Units that a member may still use, whatever others leave.
    fn most(&self, member: &Member, at: &Moment) -> u64 {
        let ceiling = member.ceiling.unwrap_or(u64::MAX);
        let most = member.borrow_max.map_or(ceiling, |borrow_max| {
            let guarantee = self.accounts.guaranteed(member, at.limit);
            guarantee.saturating_add(borrow_max).min(ceiling)
        });
        if most == u64::MAX {
            return u64::MAX;
        }
        most.saturating_sub(member.used)
    }

    fn allowance(&self, id: usize, at: &Moment) -> Allowance {
        let Some(member) = self.accounts.member(id) else {
            return Allowance::default();
        };
        let level = self.level.map(|level| {
            let aside = self.accounts.set_aside(member, at.limit);
            let share = self.weight(member).saturating_mul(level.height);
            let share = share.saturating_add(parts(aside));
            let below = share.saturating_sub(parts(member.used));
            units(below.saturating_add(parts(1) - 1))
        });
        let rounding = self.accounts.rounding();
        let free = self.accounts.free(self.counted(id), at);
        Allowance {
            pool: self.accounts.pool(at),
            free: units(free.saturating_add(rounding)),
            own: match self.rule {
                Rule::Unreserved => 0,
                _ => units(self.accounts.reserve(id)),
            },
            most: self.most(member, at),
            below_level: level.unwrap_or(u64::MAX),
        }
    }

    fn grant(&self, id: usize, ask: &Ask, at: &Moment) -> Room {
        let allowance = self.allowance(id, at);
        let member = self.accounts.member(id);
        let used = member.map_or(0, |member| member.used);
        let cost = cost_of(ask);
        let (waiting, ahead, left) = allowance.split(ask, cost);
        let retry_ms = (waiting < ask.waiting || left == 0)
            .then(|| self.delay(id, &allowance, at).ms(&allowance, cost, at))
            .flatten();
        let expected = member.map_or(0, |one| units(one.pace.expected(self.now(at), at)));
        let lacks = waiting < ask.waiting || expected > left.saturating_add(ahead);
        Room {
            waiting,
            ahead,
            ceiling: used.saturating_add(allowance.in_steps(cost)),
            used,
            left,
            allowance: left,
            contended: lacks && allowance.competes(cost),
            retry_ms,
        }
    }

    /// What a member waits for.
    fn delay(&self, id: usize, allowance: &Allowance, at: &Moment) -> Delay {
        let counted = self.accounts.counted(id);
        let reserved = self.accounts.reserved().saturating_sub(counted);
        let lacks = match (self.level, self.accounts.member(id)) {
            (Some(level), Some(member)) if allowance.below_level == 0 => {
                let aside = self.accounts.set_aside(member, at.limit);
                let above = member.used.saturating_sub(aside);
                let own = parts(above) / self.weight(member).max(1) + 1;
                let rise = own.saturating_sub(level.height);
                level.slope.saturating_mul(rise)
            }
            _ => 0,
        };
        Delay {
            reserved,
            lasting: self.accounts.lasting(id),
            lacks,
        }
    }

    /// Notes what became of an ask.
    fn note(&mut self, id: usize, ask: &Ask, room: &Room, at: &Moment) {
        let now = self.now(at);
        let Some(member) = self.accounts.member_mut(id) else {
            return;
        };
        member.pace.lent_ahead(room.ahead, now);
        if room.waiting > 0 {
            member.costs.granted(cost_of(ask));
        } else if ask.waiting > 0 {
            member.costs.denied(cost_of(ask));
        }
        let expected = member.pace.expected(now, at);
        self.accounts.restate_reserve(id, at);
        let granted = parts(room.waiting.saturating_add(room.ahead));
        if expected > self.counted(id).saturating_sub(granted) {
            self.hungry.insert(id);
        }
    }
}

/// The smallest cost that waits.
fn cost_of(ask: &Ask) -> u64 {
    ask.smallest.clamp(1, ask.waiting.max(1))
}
