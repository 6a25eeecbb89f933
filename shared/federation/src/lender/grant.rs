//! What a message is lent: to each tenant that it names, and to none of them.

use weir_fairness::ask::Party;
use weir_wire::exchange::{Grant, Want};

use super::{Lender, Offer};
use crate::divide::{Claim, Divide, Idle};
use crate::message::Message;

impl Lender {
    pub(super) fn grant(
        &mut self,
        message: &Message,
        offer: &Offer,
        divide: &mut dyn Divide,
    ) -> Vec<Grant> {
        let held = self.row(message.holder).held;
        self.tenants.holds(message.holder, held);
        let mut grants = Vec::new();
        for (party, want) in message.asks() {
            let claim = self.claim(party, want, offer);
            let room = divide.room(&claim);
            // Whatever the division says, no more than this is ever lent.
            let units = room.waiting.saturating_add(room.ahead).min(claim.unlent);
            let charged = if room.contended { room.allowance } else { 0 };
            if units > 0 || charged > 0 {
                self.lent += units;
                self.granted = self.granted.saturating_add(units);
                self.row(message.holder).held += units;
                if let Some(tenant) = party.name() {
                    let held = self.tenants.held(message.holder, tenant);
                    let held = held.saturating_add(units + charged);
                    self.tenants.note(message.holder, tenant, held);
                }
                divide.lent(party, units, charged, offer.now);
            }
            if units > 0 || want.tenant.is_some() {
                grants.push(Grant {
                    tenant: want.tenant.clone(),
                    units,
                    ceiling: room.ceiling,
                    used: divide.used(party, party.name().map_or(0, |tenant| self.lent_to(tenant))),
                    left: room.left,
                    allowance: room.allowance,
                    contended: room.contended,
                    retry_ms: room.retry_ms,
                });
            }
        }
        grants.extend(self.grant_idle(message, offer, divide));
        grants
    }

    /// What is lent to no tenant.
    fn grant_idle(
        &mut self,
        message: &Message,
        offer: &Offer,
        divide: &mut dyn Divide,
    ) -> Option<Grant> {
        if message.idle == 0 {
            return None;
        }
        let held = self.row(message.holder).held;
        let idle = Idle {
            unbacked: self.tenants.unbacked(message.holder, held),
            unlent: self.unlent(offer.capacity),
            holders: self.holders(offer.now),
            now: offer.now,
        };
        let units = divide.idle(message.idle, &idle).min(idle.unlent);
        if units == 0 {
            return None;
        }
        self.lent += units;
        self.granted = self.granted.saturating_add(units);
        let row = self.row(message.holder);
        row.held += units;
        let held = row.held;
        self.tenants.holds(message.holder, held);
        Some(Grant {
            tenant: None,
            units,
            ceiling: offer.limit,
            used: 0,
            left: 0,
            allowance: 0,
            contended: false,
            retry_ms: None,
        })
    }

    fn claim<'a>(&'a self, party: &'a Party, want: &'a Want, offer: &Offer) -> Claim<'a> {
        let (holders, lent, presumed) = match party.name() {
            None => (self.holders(offer.now), self.lent, 0),
            Some(tenant) => (
                self.tenants.holders(tenant),
                self.lent_to(tenant),
                self.tenants.presumed(tenant),
            ),
        };
        Claim {
            party,
            want,
            holders: holders.max(1),
            unlent: self.unlent(offer.capacity),
            lent,
            presumed,
            idle: self.unattributed(),
            attribution: &self.tenants,
            now: offer.now,
        }
    }
}
