//! Isolates: one request at a time that waits for a unit, one message in flight to their region.

use weir_shared::decision::Reason;
use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::Holder;
use weir_shared::node::lease::{Effect, Event, LeaseNode, Verdict, WaitingAsk};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Grant, Seen};

use super::around::Around;
use super::broken::Broken;
use super::network::{Answer, Caller, Letter};
use super::truth::Wrong;

/// The one request that may wait at a time.
const REQUEST: u8 = 0;

/// One place for an isolate, with the life that is there.
#[derive(Debug, Clone)]
pub(crate) struct Isolate {
    pub(crate) here: Caller,
    pub(crate) region: usize,
    party: Party,
    pub(crate) node: LeaseNode<u8>,
    /// The message that was not answered yet.
    asked: Option<Seen>,
    /// Units that only a broken rule keeps.
    kept: u64,
}

impl Isolate {
    pub(crate) fn born(here: Caller, region: usize, party: Party) -> Self {
        let id = HolderId(1_000 + 100 * here.isolate as u64 + here.life);
        let holder = Holder::new("b".to_owned(), id, Incarnation(1), None);
        Self {
            here,
            region,
            party,
            node: LeaseNode::new(holder),
            asked: None,
            kept: 0,
        }
    }

    pub(crate) fn waits(&self) -> bool {
        self.node.waits(REQUEST)
    }

    pub(crate) fn calls(&self) -> bool {
        self.asked.is_some()
    }

    /// A request of one unit arrives.
    pub(crate) fn is_asked(&mut self, around: &mut Around<'_>) {
        let asked = WaitingAsk {
            party: self.party.clone(),
            cost: 1,
            terms: around.terms.clone(),
            denial: Reason::CapReached,
            again: false,
        };
        let caller = REQUEST;
        self.runs(Event::Check { caller, asked }, around);
    }

    /// The request that waits goes away unanswered.
    pub(crate) fn gives_in(&mut self, around: &mut Around<'_>) {
        self.runs(Event::Left { caller: REQUEST }, around);
    }

    /// The policy has changed.
    pub(crate) fn hears(&mut self) {
        self.node.holder_mut().ask_again();
    }

    pub(crate) fn wants_contact(&self, now: EpochMs) -> bool {
        self.node.clone().wants_contact(now)
    }

    /// Tells the region what there is to tell.
    pub(crate) fn flushes(&mut self, around: &mut Around<'_>) {
        let terms = around.terms.clone();
        self.runs(Event::Flush { terms }, around);
    }

    /// Lets the node take an event, and does what it says, in its order.
    fn runs(&mut self, event: Event<u8>, around: &mut Around<'_>) {
        for effect in self.node.step(event, around.now) {
            match effect {
                Effect::Send(body) => self.sends(*body, around),
                Effect::Reply(caller) => self.answers(caller, around),
                // No wait lasts for longer than the checker lets it.
                Effect::WakeAt(_) => {}
            }
        }
    }

    fn answers(&mut self, caller: u8, around: &mut Around<'_>) {
        let verdict = self.node.take(caller);
        around
            .truth
            .require(verdict.is_some(), Wrong::AnsweredTwice);
        if let Some(Verdict::Decided((decision, Some(label)))) = verdict
            && decision.admitted()
        {
            let inside = around.keeps_windows.then_some(around.true_now);
            around.truth.admit(self.region, label, inside);
        }
    }

    /// Sends the message, made or repeated.
    fn sends(&mut self, mut body: ExchangeBody, around: &mut Around<'_>) {
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
            let answered = Event::Answered {
                sequence: asked.sequence,
                answer: None,
            };
            self.runs(answered, around);
        }
    }

    pub(crate) fn is_told(&mut self, sequence: Sequence, answer: &Answer, around: &mut Around<'_>) {
        let mut answer = answer.clone();
        let expected = match answer.as_mut() {
            Ok(reply) => {
                if around.breaks(Broken::OlderReplyCredited)
                    && let Some(asked) = self.asked
                {
                    reply.to = asked;
                }
                if around.breaks(Broken::EndCountedFromReceipt) {
                    reply.window.remaining_ms += 1_000;
                }
                let expected = self.asked.take_if(|asked| *asked == reply.to).is_some();
                if expected && self.kept > 0 {
                    reply.grants.push(Grant {
                        tenant: reply.grants.first().and_then(|grant| grant.tenant.clone()),
                        units: std::mem::take(&mut self.kept),
                        ceiling: reply.window.limit,
                        left: 0,
                        used: 0,
                        allowance: 0,
                        contended: false,
                        retry_ms: None,
                    });
                }
                expected
            }
            Err(_) => {
                self.asked.take_if(|asked| asked.sequence == sequence);
                false
            }
        };
        let before = self.node.holder().seen();
        let answer = Some(answer);
        self.runs(Event::Answered { sequence, answer }, around);
        let credited = self.node.holder().seen() != before;
        around
            .truth
            .require(credited == expected, Wrong::WronglyCredited);
    }
}

/// The name of the reply to a message.
pub(crate) fn name(body: &ExchangeBody) -> Seen {
    Seen {
        incarnation: body.incarnation,
        sequence: body.sequence,
    }
}
