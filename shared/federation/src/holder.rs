//! The child's side of one pool: what it holds of the open window, and its one message in flight.
//!
//! A message that was not answered is sent again as it was, never replaced: the parent has either not seen it or
//! answers it again. A reply to anything but the message in flight is never credited.
//!
//! What is held lies in balances, one for each tenant where tenants share the pool. Units of a window that was opened with what
//! had been lent ahead belong to nobody at first: they are unassigned, and go to whoever is short until the parent has
//! spoken in that window.

mod allowance;
mod bounded;
mod compose;
mod contact;
mod credit;
mod draw;
mod lapse;
mod lease;
mod outlook;
mod relay;
mod surplus;
#[cfg(test)]
mod tests;

use weir_core::limits::{CALL_MS_MAX, STRANGERS_MAX, TENANT_BALANCES_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Revision, Sequence, WindowLabel};
use weir_fairness::ask::{Claimant, Party};
use weir_wire::exchange::{ExchangeBody, Refusal, Seen, Terms};

use super::ahead::Ahead;
use super::pace::Pace;
use super::tenant_balance::TenantBalance;
use super::tenant_balances::TenantBalances;
use super::waiting::{Need, Ticket, Waiting};

pub use bounded::ceiling_part;
pub use draw::Drawn;
pub use lease::Lease;
pub use outlook::Outlook;
pub use relay::Relay;

/// The child's side of one pool.
///
/// One that is [idle](Holder::idle) may be dropped and made again. The new one must have a higher incarnation: the
/// parent answers an equal message as it did before, and a reply that is under way is known by incarnation and sequence
/// alone.
#[derive(Debug, Clone)]
pub struct Holder {
    pool: String,
    id: HolderId,
    incarnation: Incarnation,
    sequence: Sequence,
    seen: Option<Seen>,
    refused: Option<Seen>,
    unanswered: Option<Sent>,
    lease: Option<Lease>,
    tenant_balances: TenantBalances,
    /// Units of the open window that are in no balance.
    unassigned: u64,
    /// What those with a ceiling may take of that.
    bounded: bounded::Bounded,
    /// Units of the open window that were lent before it opened.
    early: u64,
    /// Whether the parent has spoken in the open window.
    confirmed: bool,
    /// Whether the parent, or its own, was out of reach when it was last asked.
    alone: bool,
    /// The policy revision last spoken by, and whether tenants share the pool by it.
    spoken: Option<(Revision, bool)>,
    /// Whether windows follow each other at a fixed length, so that the next can be known.
    fixed: bool,
    /// How windows followed each other when the parent last answered.
    windows: Option<surplus::Windows>,
    /// Windows to come, the next first.
    ahead: Vec<Ahead>,
    /// Units of those that an earlier life was lent: the parent tells each life what it has lent to that one.
    inherited: OrderedMap<WindowLabel, u64>,
    /// Units of windows to come that go back with the next message.
    surplus: OrderedMap<WindowLabel, u64>,
    /// For how many windows to come slices are held whatever the demand.
    standing: u64,
    /// Whether it may hold slices, though the terms in force may have it hold none.
    holds_slices: bool,
    waiting: Waiting,
    /// The largest cost that somebody waited for lately.
    cost_max: u64,
    /// The last tenant that a message had no room for.
    told_next: Option<String>,
    /// The time of next contact, once the parent has named one.
    contact_at: EpochMs,
    contact_ms: u64,
    /// Before this nothing is asked for ahead of demand.
    refill_at: EpochMs,
    lapses: lapse::Lapses,
    /// Whether what tenants hold here and do not use lies idle for all of them.
    pooled: bool,
    /// Whether a holder below was lent fewer idle units than it asked for.
    idle_missed: bool,
    /// How fast all tenants use units here.
    flow: Pace,
    /// Whether nothing will be spent here any more.
    closing: bool,
}

#[derive(Debug, Clone)]
struct Sent {
    body: ExchangeBody,
    first_at: EpochMs,
    sent_at: EpochMs,
    in_flight: bool,
}

impl Holder {
    /// A holder of the pool of that name ([`PoolName`](super::pool_name::PoolName)) that holds nothing. `seen` is the
    /// last reply that an earlier life of it credited durably.
    #[must_use]
    pub fn new(pool: String, id: HolderId, incarnation: Incarnation, seen: Option<Seen>) -> Self {
        Self {
            pool,
            id,
            incarnation,
            sequence: Sequence(0),
            seen,
            refused: None,
            unanswered: None,
            lease: None,
            tenant_balances: TenantBalances::default(),
            unassigned: 0,
            bounded: bounded::Bounded::default(),
            early: 0,
            confirmed: false,
            alone: false,
            spoken: None,
            fixed: false,
            windows: None,
            ahead: Vec::new(),
            inherited: OrderedMap::new(),
            surplus: OrderedMap::new(),
            standing: 0,
            holds_slices: false,
            waiting: Waiting::default(),
            cost_max: 0,
            told_next: None,
            contact_at: EpochMs(0),
            contact_ms: 0,
            refill_at: EpochMs(0),
            lapses: lapse::Lapses::default(),
            pooled: false,
            idle_missed: false,
            flow: Pace::new(EpochMs(0)),
            closing: false,
        }
    }

    /// Puts back what an earlier life held durably. To whom it was lent on is not known any more: what was not is
    /// unassigned.
    #[must_use]
    pub fn with_lease(mut self, lease: Lease, ahead: Vec<Ahead>) -> Self {
        self.unassigned = lease.balance();
        self.lease = Some(lease);
        let units = ahead.iter().map(|ahead| (ahead.label, ahead.units));
        self.inherited = OrderedMap::from_iter(units);
        self.ahead = ahead;
        self
    }

    /// What is held, whether or not its window is over.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// What is held of a window that is still open.
    #[must_use]
    pub fn open_lease(&self, now: EpochMs) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.open(now))
    }

    /// What is held of windows to come, the next first.
    #[must_use]
    pub fn ahead(&self) -> &[Ahead] {
        &self.ahead
    }

    /// The last reply that was credited.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        self.seen
    }

    /// Opens the next window with what was lent ahead of it, when the present one is over.
    #[inline]
    pub fn advance(&mut self, now: EpochMs) {
        if self.lease.is_none_or(|lease| now >= lease.ends_at) {
            self.open_next(now);
        }
    }

    fn open_next(&mut self, now: EpochMs) {
        let label = self
            .lease
            .as_ref()
            .map_or(WindowLabel(0), |lease| lease.label);
        let limit = self.lease.as_ref().map_or(0, |lease| lease.limit);
        let next = |ahead: &&Ahead| ahead.label > label && ahead.open(now);
        let Some(ahead) = self.ahead.iter().find(next).copied() else {
            return;
        };
        self.note_lapse(ahead.label);
        self.ahead.retain(|later| later.label > ahead.label);
        self.lease = Some(Lease {
            label: ahead.label,
            ends_at: ahead.ends_at,
            over_at: ahead.ends_at.plus(CALL_MS_MAX),
            span_ms: ahead.span_ms(),
            limit,
            held: ahead.units,
            used: ahead.lent,
            left: limit,
            outage: false,
        });
        self.roll(Some(ahead), ahead.span_ms(), now);
    }

    /// Spends `cost` units of the tenant's balance and answers whether it covered them.
    #[must_use]
    pub fn spend(&mut self, party: &Party, cost: u64, now: EpochMs) -> bool {
        self.advance(now);
        if self.open_lease(now).is_none() || !self.bind(party, cost, now) {
            return false;
        }
        if let (Some(tenant_balance), Some(lease)) = (
            self.tenant_balances.get_mut(party.name()),
            self.lease.as_mut(),
        ) {
            tenant_balance.cost = cost;
            tenant_balance.use_units(cost, now);
            lease.used = lease.used.saturating_add(cost);
            if self.pooled {
                self.flow.note(cost, 0, now);
            }
        }
        true
    }

    /// Puts `units` that a tenant spent here in the window `label` back into its balance, as the request that spent
    /// them was denied elsewhere. Answers whether it did: not when another window is held by now.
    #[must_use]
    pub fn unspend(&mut self, label: WindowLabel, tenant: Option<&str>, units: u64) -> bool {
        let lease = self.lease.as_mut().filter(|lease| lease.label == label);
        let tenant_balance = self.tenant_balances.get_mut(tenant);
        let (Some(lease), Some(tenant_balance)) = (
            lease,
            tenant_balance.filter(|tenant_balance| tenant_balance.used >= units),
        ) else {
            return false;
        };
        tenant_balance.unuse(units);
        lease.used -= units.min(lease.used);
        true
    }

    /// Counts units that a tenant was denied here, as demand.
    pub fn deny(&mut self, party: &Party, cost: u64, now: EpochMs) {
        if let Some(tenant_balance) = self.tenant_balance(party, now) {
            tenant_balance.deny(cost, now);
        }
    }

    /// Takes out of what a tenant is expected to use what a request of it held and did not use: the parent has it back.
    pub fn came_to_less(&mut self, tenant: Option<&str>, units: u64) {
        if let Some(tenant_balance) = self.tenant_balances.get_mut(tenant) {
            tenant_balance.unnote(units);
            self.flow.unnote(units);
        }
    }

    /// Registers a need that waits, or keeps the ticket in hand while the message that carries it is not answered.
    /// `None` when too many wait already.
    #[must_use]
    pub fn wait_on(
        &mut self,
        party: &Party,
        ticket: Option<Ticket>,
        need: Need,
        now: EpochMs,
    ) -> Option<Ticket> {
        match ticket {
            Some(ticket) if !self.answered(ticket) => return Some(ticket),
            Some(ticket) => self.unwait(ticket),
            None => {}
        }
        let tenant_balance = self.tenant_balance(party, now)?;
        if need.units > 0 {
            tenant_balance.cost = need.smallest;
            self.cost_max = self.cost_max.max(need.smallest);
        }
        let next = self.message(Sequence(self.sequence.0 + 1));
        self.waiting.add(party.name(), need, next, now)
    }

    /// Takes a waiting need off again.
    pub fn unwait(&mut self, ticket: Ticket) {
        self.waiting.remove(ticket);
    }

    /// Whether a message that carried the ticket's want was answered or refused.
    #[must_use]
    pub fn answered(&self, ticket: Ticket) -> bool {
        self.seen.max(self.refused) >= Some(ticket.message())
    }

    /// Makes the next message, or repeats the one that was not answered. `None` while one is in flight.
    pub fn begin(&mut self, terms: Terms, now: EpochMs) -> Option<ExchangeBody> {
        if let Some(sent) = self.unanswered.as_mut() {
            if sent.in_flight && now.since(sent.sent_at) < CALL_MS_MAX {
                return None;
            }
            sent.in_flight = true;
            sent.sent_at = now;
            return Some(sent.body.clone());
        }
        self.advance(now);
        let body = self.compose(terms, now);
        self.unanswered = Some(Sent {
            body: body.clone(),
            first_at: now,
            sent_at: now,
            in_flight: true,
        });
        Some(body)
    }

    /// The message was not answered in time: it will be sent again as it was.
    pub fn fail(&mut self, sequence: Sequence) {
        if let Some(sent) = self.unanswered.as_mut()
            && sent.body.sequence == sequence
        {
            sent.in_flight = false;
            self.left_alone(true);
        }
    }

    /// Whether the parent, or its own, is out of reach. Anyone may then take unassigned units: nobody else will divide them.
    fn left_alone(&mut self, alone: bool) {
        let was_alone = std::mem::replace(&mut self.alone, alone);
        if alone {
            for tenant_balance in self.tenant_balances.iter_mut() {
                tenant_balance.unassigned_max = u64::MAX;
            }
        } else if was_alone {
            self.end_unlimited();
        }
    }

    /// The parent refused the message. A stale sequence jumps past the parent's; anything else is dropped.
    pub fn refused(&mut self, sequence: Sequence, refusal: &Refusal) {
        let this = |sent: &&Sent| sent.body.sequence == sequence;
        if self.unanswered.as_ref().filter(this).is_none() {
            return;
        }
        self.unanswered = None;
        match refusal {
            Refusal::Stale { have, .. } => self.sequence = self.sequence.max(*have),
            _ => self.refused = Some(self.message(sequence)),
        }
    }

    /// Forgets how long to hold back: the policy has changed, what was exhausted may not be.
    pub fn ask_again(&mut self) {
        self.contact_at = EpochMs(0);
        self.refill_at = EpochMs(0);
        for tenant_balance in self.tenant_balances.iter_mut() {
            if let Some(told) = tenant_balance.told.as_mut() {
                told.until = EpochMs(0);
            }
        }
    }

    /// Holds slices of so many windows to come, whatever the demand.
    pub fn hold_slices(&mut self, windows: u64) {
        self.standing = windows;
        self.holds_slices = true;
    }

    fn message(&self, sequence: Sequence) -> Seen {
        Seen {
            incarnation: self.incarnation,
            sequence,
        }
    }

    /// Whether what is asked by the revision `asked` was meant for another kind of pool: one that tenants share, or do
    /// not share any more, as this holder has heard since.
    #[must_use]
    pub fn has_changed(&self, asked: Revision, shared: bool) -> bool {
        self.spoken
            .is_some_and(|(revision, now_shared)| asked < revision && shared != now_shared)
    }

    /// Whether the tenant has a balance, or room for one. Tenants that the policy does not name leave room for those that
    /// it does: names can be invented.
    #[must_use]
    pub fn has_seat(&self, party: &Party) -> bool {
        let reserved = |one: &Claimant| one.claim.known || one.is_overflow();
        let reserved = party.tenant().is_none_or(reserved);
        let most = if reserved {
            TENANT_BALANCES_MAX
        } else {
            STRANGERS_MAX
        };
        self.tenant_balances.len() < most || self.tenant_balances.contains(party.name())
    }

    /// The tenant's balance, made where it has none. `None` when there are too many.
    fn tenant_balance(&mut self, party: &Party, now: EpochMs) -> Option<&mut TenantBalance> {
        if !self.tenant_balances.contains(party.name()) {
            if !self.has_seat(party) {
                return None;
            }
            let mut tenant_balance = TenantBalance::new(party.clone(), now);
            if self.pooled && self.confirmed && !self.alone {
                tenant_balance.unassigned_max = 0;
            }
            self.tenant_balances.insert(tenant_balance);
        }
        let tenant_balance = self.tenant_balances.get_mut(party.name())?;
        tenant_balance.restate(party);
        Some(tenant_balance)
    }

    /// Sees that the balance has `units`, taking what is missing from unassigned ones. False when those are not enough.
    fn bind(&mut self, party: &Party, units: u64, now: EpochMs) -> bool {
        let (unassigned, first) = (self.unassigned_for(party), self.first_max(units));
        let Some(tenant_balance) = self.tenant_balance(party, now) else {
            return false;
        };
        let missing = units.saturating_sub(tenant_balance.balance());
        if missing > tenant_balance.unassigned_of(unassigned, first) {
            return false;
        }
        tenant_balance.take_unassigned(missing);
        self.bounded.take(party, missing);
        self.unassigned -= missing;
        true
    }

    /// Unassigned units that a tenant's ceilings let it take.
    fn unassigned_for(&self, party: &Party) -> u64 {
        match self.unassigned {
            0 => 0,
            units => units.min(self.bounded.most(party)),
        }
    }
}
