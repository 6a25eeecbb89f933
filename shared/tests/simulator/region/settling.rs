//! Settlements of a region: units that a reservation did not use go back, in the order that the region's node says.

use std::collections::VecDeque;

use weir_shared::limiting::owner::Account;
use weir_shared::limiting::settlement::{Accounted, PoolChange, SettleBody};
use weir_shared::node::escrow::Event as EscrowEvent;
use weir_shared::node::settled::{Cursors, SettledNode};
use weir_shared::node::settlement::{Effect, Event, Facts, Rows, SettlementNode};
use weir_shared::node::{Refund, Spent};
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::exchange::VERSION;

use super::{Broken, StoredEscrow, Violation, World};
use crate::simulator::network::Back;

/// The node of a life; who asks is the reservation itself.
pub(super) type Settlements = SettlementNode<u64, StoredEscrow>;

/// A life's node: nothing is under way.
pub(super) fn node(region: usize) -> Settlements {
    let name = format!("region {region}");
    SettlementNode::new(&name, SettledNode::new(&name, 0, Cursors::default()))
}

impl World {
    /// A settled reservation gives units back.
    pub(crate) fn settled(&mut self, region: usize, back: Back) {
        let life = self.region_reached(region);
        let body = SettleBody {
            v: VERSION,
            region: region.to_string(),
            op: OpId(back.id),
            actual: 0,
            expires_at: EpochMs(u64::MAX),
            pools: vec![PoolChange {
                pool: self.pool_name().to_string(),
                tenant: self.tenant_name(back.tenant),
                label: back.label,
                back: back.units,
                debt: 0,
                reserved: back.units,
            }],
            account: Account::default(),
            accounted: Accounted::default(),
        };
        let settle = Event::Settle {
            body: Box::new(body),
            facts: Facts::default(),
        };
        self.settlement_runs(life, back.id, settle);
    }

    /// Lets the node of a life take an event of a settlement, and does what it says, in its order.
    fn settlement_runs(&mut self, life: usize, op: u64, first: Event<StoredEscrow>) {
        let mut effects = VecDeque::from(self.settlement_steps(life, op, first));
        while let Some(effect) = effects.pop_front() {
            let event = match effect {
                Effect::Load(_) if self.is_broken(Broken::RefundTakenTwice) => Event::Loaded(None),
                Effect::Load(op) => {
                    let kept = &self.regions[self.lives[life].region].settled;
                    Event::Loaded(kept.get(&op).cloned())
                }
                Effect::Refund(change) => {
                    if self.halts(|world| world.region_dies(life)) {
                        return;
                    }
                    Event::Refunded(Some(self.taken_back(life, &change)))
                }
                Effect::Persist(rows) => match self.settlement_writes(life, *rows) {
                    Some(ended) => ended,
                    None => return,
                },
                Effect::Written { durable, .. } => {
                    self.region_runs(life, ended(durable));
                    if !self.lives[life].alive {
                        return;
                    }
                    continue;
                }
                // Its next one is another life, and starts with the row.
                Effect::Drop(_) => {
                    self.escrow_drops(life);
                    continue;
                }
                Effect::Reply(op, reply) => {
                    let kept = &self.regions[self.lives[life].region].settled;
                    let is_kept = kept.get(&OpId(op)) == Some(&reply);
                    self.truth
                        .require(is_kept, || Violation::SettlementNotKept { reservation: op });
                    continue;
                }
                Effect::Lend(_) | Effect::Forget(_) | Effect::Flush | Effect::Fail(_) => continue,
            };
            effects.extend(self.settlement_steps(life, op, event));
        }
    }

    fn settlement_steps(
        &mut self,
        life: usize,
        op: u64,
        event: Event<StoredEscrow>,
    ) -> Vec<Effect<u64, StoredEscrow>> {
        let now = self.region_now(life);
        self.lives[life].settlements.step(&op, event, now)
    }

    fn taken_back(&mut self, life: usize, change: &PoolChange) -> Refund<StoredEscrow> {
        let now = self.region_now(life);
        let written = self.lives[life].written.as_ref().map(|row| row.label);
        let later = self.is_broken(Broken::RefundIntoLaterWindow);
        let label = written.filter(|_| later).unwrap_or(change.label);
        let spent = Spent {
            label,
            tenant: change.tenant.as_deref(),
            units: change.back,
        };
        let refund = self.escrow_node(life).refund(spent, now);
        let mut refund = refund.expect("no write is under way between two events");
        self.truth.refunds += u64::from(refund.units > 0);
        if self.is_broken(Broken::RefundCountedAsWritten)
            && written == Some(label)
            && refund.row.take().is_some()
        {
            self.region_runs(life, EscrowEvent::Persisted);
        }
        refund
    }

    /// Writes the row of the pool and the settlement at once, and says how that ended; `None` when the life did not survive
    /// it.
    fn settlement_writes(
        &mut self,
        life: usize,
        rows: Rows<StoredEscrow>,
    ) -> Option<Event<StoredEscrow>> {
        let (region, superseded) = (self.lives[life].region, self.lives[life].superseded);
        if !superseded {
            self.regions[region].settled.insert(rows.op, rows.reply);
        }
        let mut event = match superseded && !self.is_broken(Broken::FailedWriteIgnored) {
            true => Event::NotPersisted,
            false => Event::Persisted,
        };
        for (_, row) in rows.pools {
            event = match self.region_writes(life, row)? {
                EscrowEvent::Persisted => Event::Persisted,
                _ => Event::NotPersisted,
            };
        }
        Some(event)
    }
}

fn ended<C>(durable: bool) -> EscrowEvent<C> {
    match durable {
        true => EscrowEvent::Persisted,
        false => EscrowEvent::NotPersisted,
    }
}
