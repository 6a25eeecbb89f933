//! Settlements of a region: what a reservation did not use goes back into its pools, or more is charged, once.
//!
//! That it was settled, what goes back into each pool and what it comes to for the accounts are rows of one write. Who asks
//! again, or meanwhile, is told what the first settlement came to. Nothing is given back twice. Units that were lent beyond
//! the reservation are lost until their window ends where nobody hears of them: their runner is gone, or all dies before the
//! write.

use std::mem;

use weir_core::limits::{PURGE_MS, SETTLEMENT_SILENT_MS_MAX, SETTLEMENTS_WAITING_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, OpId, WindowLabel};
use weir_limiting::settlement::{PoolChange, SettleBody, SettleReply};
use weir_wire::accounting::SettledEntry;

use crate::Refund;
use crate::settled::SettledNode;

/// What happens to it.
#[derive(Debug, Clone)]
pub enum Event<R> {
    /// A caller settles a reservation.
    Settle {
        /// What it says.
        body: Box<SettleBody>,
        /// What the policy says of it.
        facts: Facts,
    },
    /// What is stored of an earlier settlement, if there was one.
    Loaded(Option<SettleReply>),
    /// What was charged of a pool beyond the reservation.
    Lent(Debt),
    /// What a pool took back; nothing where it is not there, or its row is being written.
    Refunded(Option<Refund<R>>),
    /// What was to be done could not be: nothing was loaded, lent or taken back.
    Failed,
    /// The rows are durable.
    Persisted,
    /// None of them is.
    NotPersisted,
}

/// What the policy says of a settlement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether it names the tenant.
    pub known: bool,
    /// The pools of the settlement that are the region's own.
    pub own: Vec<String>,
}

/// What was charged beyond a reservation, and to which window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Debt {
    /// Units.
    pub units: u64,
    /// The window.
    pub label: WindowLabel,
}

/// Rows to be written, all or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<R> {
    /// The reservation.
    pub op: OpId,
    /// Until when its settlement is kept.
    pub expires_at: EpochMs,
    /// What it came to.
    pub reply: SettleReply,
    /// The rows of pools that took units back.
    pub pools: Vec<(String, R)>,
    /// What it comes to for the accounts, under its number.
    pub entry: Option<(u64, SettledEntry)>,
}

/// Something to be done, in the order of the list. `C` names who asked, `R` is the row of a pool.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C, R> {
    /// Read what is stored of the reservation's settlement, and say `Loaded` or `Failed`.
    Load(OpId),
    /// Drop the settlements that were kept until then or less.
    Forget(EpochMs),
    /// Borrow what was used beyond, as far as the window lasts, and say `Lent` or `Failed`.
    Lend(PoolChange),
    /// Give back into the pool, and say `Refunded` or `Failed`. Its node lets nothing out until it hears of the row.
    Refund(PoolChange),
    /// Make the rows durable, and say `Persisted` or `NotPersisted`.
    Persist(Box<Rows<R>>),
    /// Tell the node of the pool that its row is durable, or not.
    Written {
        /// The pool.
        pool: String,
        /// Whether it is durable.
        durable: bool,
    },
    /// What these pools have in memory is ahead of their rows: drop their nodes, and make others of the rows when they are
    /// asked next.
    Drop(Vec<String>),
    /// There is something to tell: ledgers of the entry, coordinators of what went back.
    Flush,
    /// Answer the caller.
    Reply(C, SettleReply),
    /// Nothing is known of what the caller asked.
    Fail(C),
}

/// What a settlement waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Loading,
    Lending,
    Refunding,
    /// The reply, and the number of its entry.
    Writing(SettleReply, Option<u64>),
}

/// A settlement under way.
#[derive(Debug, Clone)]
struct Run<C, R> {
    /// Who began it.
    caller: C,
    body: Box<SettleBody>,
    facts: Facts,
    heard_at: EpochMs,
    stage: Stage,
    /// Who asked for the same meanwhile.
    joined: Vec<C>,
    /// What was charged beyond, by pool.
    debts: Vec<Debt>,
    /// What was taken back, by pool.
    returned: Vec<u64>,
    /// The rows of pools that took units back.
    rows: Vec<(String, R)>,
    /// The pools of those rows, until they are durable or not.
    unwritten: Vec<String>,
    /// The pools that took units back.
    ahead: Vec<String>,
}

/// All settlements of a region, and the entries that they come to.
#[derive(Debug, Clone)]
pub struct SettlementNode<C, R> {
    region: String,
    settled: SettledNode,
    /// By the reservation.
    runs: OrderedMap<OpId, Run<C, R>>,
    /// The reservation of each of these, by the caller that began it.
    begun: OrderedMap<C, OpId>,
    /// When settlements that are over were last dropped; never at first.
    forgot_at: EpochMs,
}

type Effects<C, R> = Vec<Effect<C, R>>;

impl<C: Clone + Ord, R> SettlementNode<C, R> {
    /// Starts with the entries that are stored.
    #[must_use]
    pub fn new(region: &str, settled: SettledNode) -> Self {
        Self {
            region: region.to_owned(),
            settled,
            runs: OrderedMap::new(),
            begun: OrderedMap::new(),
            forgot_at: EpochMs(0),
        }
    }

    /// The entries, to read.
    #[must_use]
    pub fn settled(&self) -> &SettledNode {
        &self.settled
    }

    /// The entries, to tell the ledgers.
    pub fn settled_mut(&mut self) -> &mut SettledNode {
        &mut self.settled
    }

    /// Takes one event of the settlement that `caller` began. Of one that is not under way it changes nothing.
    #[must_use]
    pub fn step(&mut self, caller: &C, event: Event<R>, now: EpochMs) -> Effects<C, R> {
        if let Event::Settle { body, facts } = event {
            return self.begin(caller, body, facts, now);
        }
        let Some(op) = self.begun.remove(caller) else {
            return Vec::new();
        };
        let Some(mut run) = self.runs.remove(&op) else {
            return Vec::new();
        };
        run.heard_at = now;
        let mut effects = Vec::new();
        match (event, mem::take(&mut run.stage)) {
            (Event::Loaded(Some(reply)), Stage::Loading) => {
                run.reply(&reply, &mut effects);
                return effects;
            }
            (Event::Loaded(None), Stage::Loading) => {
                self.forget(now, &mut effects);
                self.go_on(&mut run, now, &mut effects);
            }
            (Event::Lent(debt), Stage::Lending) => {
                run.debts.push(debt);
                self.go_on(&mut run, now, &mut effects);
            }
            (Event::Refunded(refund), Stage::Refunding) => {
                run.refunded(refund);
                self.go_on(&mut run, now, &mut effects);
            }
            (Event::Persisted, Stage::Writing(reply, number)) => {
                if let Some(number) = number {
                    self.settled.wrote(number);
                }
                run.written(true, &mut effects);
                effects.push(Effect::Flush);
                run.reply(&reply, &mut effects);
                return effects;
            }
            (Event::NotPersisted, Stage::Writing(..)) | (Event::Failed, _) => {
                run.fail(&mut effects);
                return effects;
            }
            (_, stage) => run.stage = stage,
        }
        self.insert(run);
        effects
    }

    fn insert(&mut self, run: Run<C, R>) {
        self.begun.insert(run.caller.clone(), run.body.op);
        self.runs.insert(run.body.op, run);
    }

    /// Begins a settlement, or joins the one of the same reservation, unless that is lost.
    fn begin(
        &mut self,
        caller: &C,
        body: Box<SettleBody>,
        facts: Facts,
        now: EpochMs,
    ) -> Effects<C, R> {
        if let Some(run) = self.runs.get_mut(&body.op)
            && !run.is_lost(now)
        {
            run.joined.push(caller.clone());
            return Vec::new();
        }
        if let Some(lost) = self.runs.remove(&body.op) {
            self.begun.remove(&lost.caller);
            let mut effects = Vec::new();
            let again = lost.again(caller.clone(), now, &mut effects);
            effects.push(Effect::Load(again.body.op));
            self.insert(again);
            return effects;
        }
        if self.runs.len() >= SETTLEMENTS_WAITING_MAX {
            return vec![Effect::Fail(caller.clone())];
        }
        let effects = vec![Effect::Load(body.op)];
        self.insert(Run::new(caller.clone(), body, facts, now));
        effects
    }

    /// What nobody can settle any more is dropped, once a minute at most.
    fn forget(&mut self, now: EpochMs, effects: &mut Effects<C, R>) {
        if now.since(self.forgot_at) < PURGE_MS {
            return;
        }
        self.forgot_at = now;
        effects.push(Effect::Forget(now));
        let over = |run: &Run<C, R>| run.body.expires_at <= now && run.is_lost(now);
        let (over, rest): (OrderedMap<_, _>, _) = mem::take(&mut self.runs)
            .into_iter()
            .partition(|(_, run)| over(run));
        self.runs = rest;
        for run in over.into_values() {
            self.begun.remove(&run.caller);
            run.fail(effects);
        }
    }

    /// The next pool of which something was used beyond; when there is none, the next into which something goes back; then
    /// all is written.
    fn go_on(&self, run: &mut Run<C, R>, now: EpochMs, effects: &mut Effects<C, R>) {
        let pools = &run.body.pools;
        while let Some(change) = pools.get(run.debts.len()) {
            if change.debt > 0 {
                run.stage = Stage::Lending;
                return effects.push(Effect::Lend(change.clone()));
            }
            run.debts.push(Debt::default());
        }
        while let Some(change) = pools.get(run.returned.len()) {
            if change.back > 0 {
                run.stage = Stage::Refunding;
                return effects.push(Effect::Refund(change.clone()));
            }
            run.returned.push(0);
        }
        let reply = SettleReply {
            actual: run.body.actual,
            returned: run.returned.clone(),
            charged: run.debts.iter().map(|debt| debt.units).collect(),
        };
        // What it comes to for the accounts is written with it: whoever dies, it is counted, and once.
        let entry = run.entry(&reply, &self.region);
        let entry = entry.map(|entry| (self.settled.next_number(now), entry));
        run.stage = Stage::Writing(reply.clone(), entry.as_ref().map(|(number, _)| *number));
        effects.push(Effect::Persist(Box::new(Rows {
            op: run.body.op,
            expires_at: run.body.expires_at,
            reply,
            pools: mem::take(&mut run.rows),
            entry,
        })));
    }
}

impl<C: Clone, R> Run<C, R> {
    fn new(caller: C, body: Box<SettleBody>, facts: Facts, now: EpochMs) -> Self {
        Self {
            caller,
            body,
            facts,
            heard_at: now,
            stage: Stage::Loading,
            joined: Vec::new(),
            debts: Vec::new(),
            returned: Vec::new(),
            rows: Vec::new(),
            unwritten: Vec::new(),
            ahead: Vec::new(),
        }
    }

    /// The same once more for `caller`, after whoever began it was ended: what was charged and heard of is not charged again.
    fn again(mut self, caller: C, now: EpochMs, effects: &mut Effects<C, R>) -> Self {
        self.undo(effects);
        self.joined.push(self.caller);
        Self {
            joined: self.joined,
            debts: self.debts,
            ..Self::new(caller, self.body, self.facts, now)
        }
    }

    /// Whether it never ends: what ran it was ended, as nothing was heard of it for longer than anything takes that it
    /// waits for.
    fn is_lost(&self, now: EpochMs) -> bool {
        now.since(self.heard_at) > SETTLEMENT_SILENT_MS_MAX
    }

    fn refunded(&mut self, refund: Option<Refund<R>>) {
        let Some(change) = self.body.pools.get(self.returned.len()) else {
            return;
        };
        let pool = &change.pool;
        let (units, row) = refund.map_or((0, None), |refund| (refund.units, refund.row));
        if units > 0 || row.is_some() {
            self.ahead.push(pool.clone());
        }
        if let Some(row) = row {
            self.unwritten.push(pool.clone());
            self.rows.push((pool.clone(), row));
        }
        self.returned.push(units);
    }

    fn entry(&self, reply: &SettleReply, region: &str) -> Option<SettledEntry> {
        let charged_in: Vec<_> = self.debts.iter().map(|debt| debt.label).collect();
        let owns = |pool: &str| self.facts.own.iter().any(|own| own == pool);
        let known = self.facts.known;
        self.body.entry(reply, &charged_in, known, (region, &owns))
    }

    /// The pools hear what became of their rows.
    fn written(&mut self, durable: bool, effects: &mut Effects<C, R>) {
        let pools = mem::take(&mut self.unwritten).into_iter();
        effects.extend(pools.map(|pool| Effect::Written { pool, durable }));
    }

    /// What went back into pools and is in no row is taken from them again.
    fn undo(&mut self, effects: &mut Effects<C, R>) {
        self.written(false, effects);
        let ahead = mem::take(&mut self.ahead);
        if !ahead.is_empty() {
            effects.push(Effect::Drop(ahead));
        }
    }

    fn fail(mut self, effects: &mut Effects<C, R>) {
        self.undo(effects);
        effects.extend(self.callers().map(Effect::Fail));
    }

    fn reply(self, reply: &SettleReply, effects: &mut Effects<C, R>) {
        let callers = self.callers();
        effects.extend(callers.map(|caller| Effect::Reply(caller, reply.clone())));
    }

    fn callers(self) -> impl Iterator<Item = C> {
        [self.caller].into_iter().chain(self.joined)
    }
}

#[cfg(test)]
mod tests;
