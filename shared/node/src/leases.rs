//! What an isolate holds of the pools of one region, each a [node](LeaseNode), and what they want sent.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::mem;

use weir_core::limits::{EXCHANGES_PER_CONTACT_MAX, PURGE_MS};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Sequence, WindowLabel};
use weir_fairness::ask::Party;
use weir_federation::holder::Holder;
use weir_federation::pool_name::is_budget;
use weir_limiting::owner::Account;
use weir_limiting::roll::Roll;
use weir_limiting::room::Bounds;
use weir_policy::Policy;
use weir_wire::exchange::{ExchangeBody, Terms};

use super::lease::{
    Decided, Effect, Event, HolderDecision, LeaseNode, PoolAsk, Verdict, WaitingAsk,
};
use super::{LendAnswer, Spent};

/// A request that waits: the number of its question in this isolate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller(u64);

/// What there is for a request that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// Its answer.
    Answered(Verdict),
    /// Nothing yet; it looks again after so many milliseconds at the latest.
    Waits(u64),
    /// Nobody knows it: the policy has the pool no more, or it did not look for too long.
    Lost,
}

/// What a policy makes of a pool that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has it.
    Stays,
    /// It has it, and its windows are opened elsewhere.
    Moved,
    /// It has it no more.
    Gone,
}

impl Fate {
    /// What `policy` makes of a pool that was held under `before`.
    #[must_use]
    pub fn of(pool: &str, before: Option<&Policy>, policy: &Policy) -> Self {
        if !policy.lends(pool) {
            return Self::Gone;
        }
        // One whose windows are opened elsewhere by now has nothing to tell there.
        match before.is_some_and(|before| before.root(pool) != policy.root(pool)) {
            true => Self::Moved,
            false => Self::Stays,
        }
    }
}

/// The pools of one region of which an isolate holds units.
#[derive(Debug, Clone)]
pub struct Leases {
    id: HolderId,
    /// Holders made so far. Each is a life of its own: one of a budget that was removed and came back must not be
    /// taken for the one before.
    made: u64,
    nodes: OrderedMap<String, LeaseNode<Caller>>,
    /// Whose those of keys are.
    roll: Roll,
    /// Those of which units run low, to be asked for.
    low: Vec<String>,
    /// What is to be sent, by whoever can.
    unsent: Vec<ExchangeBody>,
    callers: u64,
    purged_at: EpochMs,
}

impl Leases {
    /// An isolate that holds nothing.
    #[must_use]
    pub fn new(id: HolderId) -> Self {
        Self {
            id,
            made: 0,
            nodes: OrderedMap::new(),
            roll: Roll::new(Bounds::LEASES),
            low: Vec::new(),
            unsent: Vec::new(),
            callers: 0,
            purged_at: EpochMs(0),
        }
    }

    /// The holder of a pool, where there is one.
    pub fn known(&mut self, pool: &str) -> Option<&mut Holder> {
        self.nodes.get_mut(pool).map(|node| node.holder_mut())
    }

    /// All holders.
    pub fn holders(&mut self) -> impl Iterator<Item = (&String, &mut Holder)> {
        let nodes = self.nodes.iter_mut();
        nodes.map(|(pool, node)| (pool, node.holder_mut()))
    }

    /// For whom a tenant's requests count at the holder of a pool: for itself, or where there are too many that the
    /// policy does not name, for all of those together.
    #[must_use]
    pub fn seat<'a>(&self, pool: &str, party: &'a Party) -> Cow<'a, Party> {
        match (self.nodes.get(pool), party) {
            (Some(node), Party::Tenant(claimant)) if !node.holder().has_seat(party) => {
                Cow::Owned(claimant.overflow_with().into())
            }
            _ => Cow::Borrowed(party),
        }
    }

    /// Whether there is a holder of the pool, or room for one on that account.
    pub fn has_room(&mut self, pool: &str, account: &Account, now: EpochMs) -> bool {
        if self.roll.admits(pool, account) {
            return true;
        }
        let purge = now.since(self.purged_at) >= PURGE_MS || now < self.purged_at;
        if purge {
            self.purged_at = now;
            self.nodes.retain(|_, node| !node.idle(now));
            self.forget_dropped();
        }
        purge && self.roll.admits(pool, account)
    }

    /// On whose accounts the pools of messages are, those that are keys'.
    #[must_use]
    pub fn accounts_of(&self, exchanges: &[ExchangeBody]) -> OrderedMap<String, Account> {
        let pools = exchanges.iter().map(|body| &body.budget);
        let accounts =
            pools.filter_map(|pool| Some((pool.clone(), self.roll.account(pool)?.clone())));
        accounts.collect()
    }

    /// What is held of a pool decides, or that nobody knows. More is asked for where units run low, also where nobody
    /// could say: else it would not be heard that somebody can by now.
    #[must_use]
    pub fn check(
        &mut self,
        pool: &str,
        ask: &PoolAsk<'_>,
        terms: &Terms,
        now: EpochMs,
    ) -> HolderDecision {
        let node = self.node(pool);
        let held = node.check(ask, now);
        if held == HolderDecision::Unknown {
            node.deny(ask, now);
        }
        if held != HolderDecision::Short && node.holder().runs_low(ask.party.name(), now) {
            let terms = terms.clone();
            self.run(pool, Event::Refill { terms }, now);
        }
        held
    }

    /// A cost above the limit is refused before anything is leased; see [`PoolAsk::never`].
    #[must_use]
    pub fn never(&mut self, pool: &str, ask: &PoolAsk<'_>, now: EpochMs) -> Decided {
        ask.never(self.node(pool).holder(), now)
    }

    /// Counts what nobody could decide as demand.
    pub fn deny(&mut self, pool: &str, ask: &PoolAsk<'_>, now: EpochMs) {
        self.node(pool).deny(ask, now);
    }

    /// A request waits; it has to [look](Leases::poll) for its answer, and to [leave](Leases::leave) at its end.
    pub fn wait(&mut self, pool: &str, asked: WaitingAsk, now: EpochMs) -> Caller {
        self.callers += 1;
        let caller = Caller(self.callers);
        self.run(pool, Event::Check { caller, asked }, now);
        caller
    }

    /// What there is for a request that waits. Whoever looks wakes the node when it is time.
    pub fn poll(&mut self, pool: &str, caller: Caller, now: EpochMs) -> Polled {
        let Some(node) = self.nodes.get(pool) else {
            return Polled::Lost;
        };
        if node.wakes_at().is_some_and(|at| now >= at) {
            self.run(pool, Event::Woke, now);
        }
        let node = self.node(pool);
        match node.take(caller) {
            Some(verdict) => Polled::Answered(verdict),
            None if node.waits(caller) => {
                Polled::Waits(node.wakes_at().map_or(0, |at| at.since(now)).max(1))
            }
            None => Polled::Lost,
        }
    }

    /// A request is gone, whether it was answered or not.
    pub fn leave(&mut self, pool: &str, caller: Caller, now: EpochMs) {
        if self.nodes.contains_key(pool) {
            self.run(pool, Event::Left { caller }, now);
        }
    }

    /// Puts units that were spent back, as the request that spent them was denied elsewhere.
    pub fn undo(&mut self, pool: &str, spent: Spent<'_>, now: EpochMs) {
        let node = self.nodes.get_mut(pool);
        // Units of a window that is over belong to nobody.
        let effects = node.and_then(|node| node.undo(spent, now));
        self.carry_out(effects.unwrap_or_default());
    }

    /// Units of a pool run low: they are asked for with the next [`Leases::refill`].
    pub fn runs_low(&mut self, pool: &str) {
        if !self.low.iter().any(|low| low == pool) {
            self.low.push(pool.to_owned());
        }
    }

    /// Whether units run low that were not asked for.
    #[must_use]
    pub fn has_low(&self) -> bool {
        !self.low.is_empty()
    }

    /// Asks for units that run low, by the terms of the policy in force.
    pub fn refill(&mut self, terms: impl Fn(&str) -> Option<Terms>, now: EpochMs) {
        for pool in mem::take(&mut self.low) {
            if let Some(terms) = terms(&pool) {
                self.run(&pool, Event::Refill { terms }, now);
            }
        }
    }

    /// Hears of a pool at once, where units of an open window are held.
    pub fn look_again(&mut self, pool: &str, terms: Terms, now: EpochMs) {
        let open = |node: &LeaseNode<Caller>| node.holder().open_lease(now).is_some();
        if self.nodes.get(pool).is_some_and(open) {
            self.run(pool, Event::Changed { terms }, now);
        }
    }

    /// Tells the region what there is to tell, as far as one contact has room.
    pub fn flush(&mut self, terms: impl Fn(&str) -> Option<Terms>, now: EpochMs) {
        let nodes = self.nodes.iter_mut();
        let due = nodes.filter_map(|(pool, node)| {
            (node.wants_contact(now) || node.has_answers()).then(|| pool.clone())
        });
        for pool in due.collect::<Vec<_>>() {
            if self.unsent.len() >= EXCHANGES_PER_CONTACT_MAX {
                return;
            }
            if let Some(terms) = terms(&pool) {
                self.run(&pool, Event::Flush { terms }, now);
            }
        }
    }

    /// Nothing will be spent here any more: all that is held goes back as this is [flushed](Leases::flush).
    pub fn close(&mut self) {
        self.holders().for_each(|(_, holder)| holder.close());
    }

    /// Another parent is asked from now on. Whoever waits waits there. What is left has what there is to tell the parent
    /// before, and gives back all that it holds as it is [flushed](Leases::flush).
    #[must_use]
    pub fn moves(&mut self, now: EpochMs) -> Self {
        let mut left = Self {
            roll: self.roll.clone(),
            unsent: mem::take(&mut self.unsent),
            ..Self::new(self.id)
        };
        for pool in self.nodes.keys().cloned().collect::<Vec<_>>() {
            let holder = born(&pool, self.id, &mut self.made);
            let (node, effects) = self.node(&pool).moves(holder, now);
            left.nodes.insert(pool, node);
            self.carry_out(effects);
        }
        left
    }

    /// What is to be sent with one contact. Whoever takes it says what [came](Leases::answered) of each message.
    #[must_use]
    pub fn unsent(&mut self) -> Vec<ExchangeBody> {
        let room = self.unsent.len().min(EXCHANGES_PER_CONTACT_MAX);
        self.unsent.drain(..room).collect()
    }

    /// What came of a message: the region's answer, or none in time.
    pub fn answered(
        &mut self,
        pool: &str,
        sequence: Sequence,
        answer: Option<LendAnswer>,
        now: EpochMs,
    ) {
        if self.nodes.contains_key(pool) {
            self.run(pool, Event::Answered { sequence, answer }, now);
        }
    }

    /// Another policy is in force. Whoever waits for a pool that moved waits for it where it is now.
    pub fn adopt(&mut self, fate: impl Fn(&str) -> Fate, now: EpochMs) {
        self.nodes.retain(|pool, _| fate(pool) != Fate::Gone);
        self.forget_dropped();
        self.holders().for_each(|(_, holder)| holder.ask_again());
        let pools = self.nodes.keys().filter(|pool| fate(pool) == Fate::Moved);
        for pool in pools.cloned().collect::<Vec<_>>() {
            let holder = Box::new(born(&pool, self.id, &mut self.made));
            self.unsent.retain(|body| body.budget != pool);
            self.run(&pool, Event::Renewed { holder }, now);
        }
    }

    /// Whether there is anything left to tell the region.
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        self.nodes.values().any(|node| node.has_unsent(now))
            || self.budgets().any(|holder| holder.lapsing(now))
    }

    /// What was held of budgets' windows that are over, once.
    pub fn take_lapsed(&mut self, now: EpochMs) -> Vec<(String, WindowLabel, u64)> {
        let holders = self.holders().filter(|(pool, _)| is_budget(pool));
        let lapsed = holders.flat_map(|(pool, holder)| {
            let lapsed = holder.take_lapsed(now).into_iter();
            lapsed.map(|(label, units)| (pool.clone(), label, units))
        });
        lapsed.collect()
    }

    /// Holders of budgets, whose windows are recorded.
    fn budgets(&self) -> impl Iterator<Item = &Holder> {
        let nodes = self.nodes.iter().filter(|(pool, _)| is_budget(pool));
        nodes.map(|(_, node)| node.holder())
    }

    fn forget_dropped(&mut self) {
        let Self { nodes, roll, .. } = self;
        roll.retain(|pool| nodes.contains_key(pool));
        self.unsent.retain(|body| nodes.contains_key(&body.budget));
    }

    /// The node of a pool of the policy.
    fn node(&mut self, pool: &str) -> &mut LeaseNode<Caller> {
        let (id, made) = (self.id, &mut self.made);
        let nodes = self.nodes.entry(pool.to_owned());
        nodes.or_insert_with(|| LeaseNode::new(born(pool, id, made)))
    }

    fn run(&mut self, pool: &str, event: Event<Caller>, now: EpochMs) {
        let effects = self.node(pool).step(event, now);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect<Caller>>) {
        for effect in effects {
            match effect {
                Effect::Send(body) => self.unsent.push(*body),
                // Whoever waits looks for it, and wakes the node.
                Effect::Reply(_) | Effect::WakeAt(_) => {}
            }
        }
    }
}

/// The next life of a holder.
fn born(pool: &str, id: HolderId, made: &mut u64) -> Holder {
    *made += 1;
    Holder::new(pool.to_owned(), id, Incarnation(*made), None)
}
