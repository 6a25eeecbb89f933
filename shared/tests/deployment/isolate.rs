//! Isolates: one request at a time that waits for a unit, one message in flight to their region.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::waiting::{Need, Ticket};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Grant, Seen};

use super::around::Around;
use super::broken::Broken;
use super::network::{Answer, Caller, Letter};
use super::truth::Wrong;

/// One place for an isolate, with the life that is there.
#[derive(Debug, Clone)]
pub(crate) struct Isolate {
    pub(crate) here: Caller,
    pub(crate) region: usize,
    party: Party,
    pub(crate) holder: Holder,
    /// A request waits, with its ticket once it was registered.
    request: Option<Option<Ticket>>,
    /// The message that was not answered yet.
    asked: Option<Seen>,
    /// Units that only a broken rule keeps.
    kept: u64,
}

impl Isolate {
    pub(crate) fn born(here: Caller, region: usize, party: Party) -> Self {
        let id = HolderId(1_000 + 100 * here.isolate as u64 + here.life);
        Self {
            here,
            region,
            party,
            holder: Holder::new("b".to_owned(), id, Incarnation(1), None),
            request: None,
            asked: None,
            kept: 0,
        }
    }

    pub(crate) fn waits(&self) -> bool {
        self.request.is_some()
    }

    pub(crate) fn calls(&self) -> bool {
        self.asked.is_some()
    }

    /// A request of one unit arrives.
    pub(crate) fn is_asked(&mut self, around: &mut Around<'_>) {
        self.request = Some(None);
        self.looks(around);
    }

    /// The request that waits ends unanswered.
    pub(crate) fn gives_in(&mut self) {
        if let Some(ticket) = self.request.take().flatten() {
            self.holder.unwait(ticket);
        }
    }

    /// The policy has changed.
    pub(crate) fn hears(&mut self) {
        self.holder.ask_again();
    }

    /// Looks at the balance on behalf of the request that waits.
    fn looks(&mut self, around: &mut Around<'_>) {
        let Some(ticket) = self.request else {
            return;
        };
        let need = Need::one(1);
        self.holder.advance(around.now);
        match self.holder.outlook(&self.party, need, ticket, around.now) {
            Outlook::Covered => self.spends(around),
            Outlook::Exhausted => self.holder.deny(&self.party, 1, around.now),
            Outlook::Unknown => {}
            Outlook::Short => {
                let ticket = self.holder.wait_on(&self.party, ticket, need, around.now);
                self.request = ticket.map(Some);
                if ticket.is_some() {
                    self.sends(around);
                }
                return;
            }
        }
        self.request = None;
        if let Some(ticket) = ticket {
            self.holder.unwait(ticket);
        }
    }

    fn spends(&mut self, around: &mut Around<'_>) {
        let spent = self.holder.spend(&self.party, 1, around.now);
        around.truth.require(spent, Wrong::CoveredNotSpent);
        if let Some(lease) = self.holder.lease().filter(|_| spent) {
            let inside = around.keeps_windows.then_some(around.true_now);
            around.truth.admit(self.region, lease.label, inside);
        }
    }

    pub(crate) fn wants_contact(&self, now: EpochMs) -> bool {
        let mut holder = self.holder.clone();
        holder.advance(now);
        holder.wants_contact(now)
    }

    /// Makes or repeats the message, and sends it.
    pub(crate) fn sends(&mut self, around: &mut Around<'_>) {
        let Some(mut body) = self.holder.begin(around.terms.clone(), around.now) else {
            return;
        };
        let name = name(&body);
        if around.breaks(Broken::ReturnKept) && self.asked != Some(name) {
            self.kept += body.returns.iter().map(|back| back.units).sum::<u64>();
        }
        if around.breaks(Broken::StaleSeen)
            && let Some(seen) = body.seen.as_mut()
        {
            seen.sequence = Sequence(seen.sequence.0 - 1);
        }
        self.asked = Some(name);
        let from = self.here;
        around.send(Letter::ToRegion { from, body });
    }

    /// The call to the region is given up.
    pub(crate) fn gives_up(&mut self, around: &mut Around<'_>) {
        if let Some(asked) = self.asked {
            self.holder.fail(asked.sequence);
            self.looks(around);
        }
    }

    pub(crate) fn is_told(&mut self, sequence: Sequence, answer: &Answer, around: &mut Around<'_>) {
        match answer {
            Ok(reply) => {
                let mut reply = reply.clone();
                let mut expected = self.asked == Some(reply.to);
                if around.breaks(Broken::OlderReplyCredited)
                    && let Some(asked) = self.asked
                {
                    reply.to = asked;
                    expected = true;
                }
                if around.breaks(Broken::EndCountedFromReceipt) {
                    reply.window.remaining_ms += 1_000;
                }
                if expected && self.kept > 0 {
                    reply.grants.push(Grant {
                        tenant: reply.grants.first().and_then(|grant| grant.tenant.clone()),
                        units: std::mem::take(&mut self.kept),
                        ceiling: reply.window.limit,
                        left: 0,
                        used: 0,
                        retry_ms: None,
                    });
                }
                let credited = self.holder.finish(&reply, around.now);
                around
                    .truth
                    .require(credited == expected, Wrong::WronglyCredited);
                if credited {
                    self.asked = None;
                }
            }
            Err(refusal) => {
                self.holder.refused(sequence, refusal);
                self.asked.take_if(|asked| asked.sequence == sequence);
            }
        }
        self.looks(around);
    }
}

/// The name of the reply to a message.
pub(crate) fn name(body: &ExchangeBody) -> Seen {
    Seen {
        incarnation: body.incarnation,
        sequence: body.sequence,
    }
}
