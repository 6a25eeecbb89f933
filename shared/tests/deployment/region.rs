//! Regions: messages of isolates that wait for the coordinator, and the row that outlives each life.

use std::collections::VecDeque;

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::message::Message;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::node::Effect;
use weir_shared::node::escrow::{EscrowNode, Event};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Seen};
use weir_shared::wire::stored::read_row;

use super::around::Around;
use super::broken::Broken;
use super::isolate::name;
use super::network::{Answer, Caller, Letter};
use super::truth::Wrong;

/// What is durable of one region, and the life that may write it.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    region: usize,
    row: Option<String>,
    lives: u64,
    life: Option<Life>,
    /// A life that another has replaced, and that does not know: it can write no more.
    replaced: Option<Life>,
    replaced_speaks: bool,
}

#[derive(Debug, Clone)]
struct Life {
    incarnation: Incarnation,
    node: EscrowNode<(Caller, Sequence)>,
    /// The message to the coordinator that was not answered yet.
    asked: Option<Seen>,
}

impl Region {
    pub(crate) fn new(region: usize) -> Self {
        Self {
            region,
            row: None,
            lives: 0,
            life: None,
            replaced: None,
            replaced_speaks: false,
        }
    }

    pub(crate) fn has_replaced(&self) -> bool {
        self.replaced.is_some()
    }

    /// Another life takes over, and this one goes on beside it.
    pub(crate) fn is_replaced(&mut self) {
        self.replaced = self.life.take();
    }

    /// Lets the life that may write take a step, or the one that was replaced.
    pub(crate) fn life(&mut self, replaced: bool, step: impl FnOnce(&mut Self)) {
        if !replaced {
            return step(self);
        }
        std::mem::swap(&mut self.life, &mut self.replaced);
        self.replaced_speaks = true;
        step(self);
        self.replaced_speaks = false;
        std::mem::swap(&mut self.life, &mut self.replaced);
    }

    /// The life that was replaced is the one that has this number.
    pub(crate) fn was(&self, incarnation: Incarnation) -> bool {
        let replaced = self.replaced.as_ref();
        replaced.is_some_and(|life| life.incarnation == incarnation)
    }

    /// The life that may write.
    pub(crate) fn incarnation(&self) -> Option<Incarnation> {
        self.life.as_ref().map(|life| life.incarnation)
    }

    pub(crate) fn calls(&self) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| life.asked.is_some())
    }

    /// What is durable.
    pub(crate) fn stored(&self) -> Option<StoredEscrow> {
        self.row.as_ref().and_then(|text| read_row(text).ok())
    }

    /// What is in memory is lost.
    pub(crate) fn crashes(&mut self) {
        self.life = None;
    }

    /// The policy has changed.
    pub(crate) fn hears(&mut self) {
        if let Some(life) = self.life.as_mut() {
            life.node.escrow_mut().ask_again();
        }
    }

    fn wakes(&mut self, around: &mut Around<'_>) {
        if self.life.is_some() {
            return;
        }
        self.lives += 1;
        let mut row: Option<StoredEscrow> = self.stored();
        around
            .truth
            .require(row.is_some() == self.row.is_some(), Wrong::RowUnreadable);
        if around.breaks(Broken::RegionWakesUnlent)
            && let Some(row) = row.as_mut()
        {
            row.watermark = 0;
        }
        let incarnation = Incarnation(self.lives);
        let id = HolderId(1 + self.region as u64);
        self.life = Some(Life {
            incarnation,
            node: EscrowNode::new(Escrow::wake("b".to_owned(), id, incarnation, row)),
            asked: None,
        });
    }

    pub(crate) fn is_asked(&mut self, from: Caller, body: &ExchangeBody, around: &mut Around<'_>) {
        self.wakes(around);
        let sequence = body.sequence;
        match Message::try_from(body.clone()) {
            Ok(message) => {
                let exchange = Event::Exchange {
                    caller: (from, sequence),
                    message,
                    terms: around.terms.clone(),
                };
                self.runs(exchange, around);
            }
            Err(refusal) => tell(from, sequence, Err(refusal), around),
        }
    }

    /// Lets the node of the life take an event, and does what it says, in its order.
    fn runs(&mut self, event: Event<(Caller, Sequence)>, around: &mut Around<'_>) {
        let now = around.now;
        let Some(life) = self.life.as_mut() else {
            return;
        };
        let mut effects = VecDeque::from(life.node.step(event, now));
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Persist(row) => {
                    let Some(life) = self.written(&row, around) else {
                        return;
                    };
                    effects.extend(life.node.step(Event::Persisted, now));
                }
                Effect::Send(body) => {
                    if let Some(life) = self.life.as_mut() {
                        life.asked = Some(name(&body));
                    }
                    let (region, body) = (self.region, *body);
                    around.send(Letter::ToCoordinator { region, body });
                }
                Effect::Reply((from, sequence), mut answer) => {
                    if let Ok(reply) = answer.as_mut() {
                        reply.to.sequence = sequence;
                    }
                    tell(from, sequence, answer, around);
                }
                // The isolate hears nothing. No call lasts for longer than the checker lets it.
                Effect::Fail(_) | Effect::WakeAt(_) => {}
            }
        }
    }

    /// Writes the row, unless a broken rule only believes so. The write of a life that was replaced fails, and ends it:
    /// then there is none.
    fn written(&mut self, row: &StoredEscrow, around: &Around<'_>) -> Option<&mut Life> {
        if self.replaced_speaks {
            self.life = None;
            return None;
        }
        let before = self.stored();
        let lends = before.is_some_and(|old| (old.label, old.held) == (row.label, row.held));
        if !(lends && around.breaks(Broken::RegionRepliesBeforeWrite)) {
            self.row = Some(serde_json::to_string(row).expect("a row is always JSON"));
        }
        self.life.as_mut()
    }

    pub(crate) fn wants_contact(&self, now: EpochMs) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| life.node.clone().wants_contact(now))
    }

    /// Tells the coordinator what there is to tell.
    pub(crate) fn flushes(&mut self, around: &mut Around<'_>) {
        let terms = around.terms.clone();
        self.runs(Event::Flush { terms }, around);
    }

    /// The call to the coordinator is given up.
    pub(crate) fn gives_up(&mut self, around: &mut Around<'_>) {
        let asked = self.life.as_ref().and_then(|life| life.asked);
        if let Some(asked) = asked {
            let answered = Event::Answered {
                sequence: asked.sequence,
                answer: None,
            };
            self.runs(answered, around);
        }
    }

    pub(crate) fn is_told(&mut self, sequence: Sequence, answer: &Answer, around: &mut Around<'_>) {
        let Some(life) = self.life.as_mut() else {
            return;
        };
        let before = life.node.escrow().seen();
        let expected = match answer {
            Ok(reply) => life.asked.take_if(|asked| *asked == reply.to).is_some(),
            Err(_) => {
                life.asked.take_if(|asked| asked.sequence == sequence);
                false
            }
        };
        let told = Event::Answered {
            sequence,
            answer: Some(answer.clone()),
        };
        self.runs(told, around);
        if let Some(life) = self.life.as_ref() {
            let credited = life.node.escrow().seen() != before;
            around
                .truth
                .require(credited == expected, Wrong::WronglyCredited);
        }
    }
}

fn tell(to: Caller, sequence: Sequence, answer: Answer, around: &mut Around<'_>) {
    around.send(Letter::ToIsolate {
        to,
        sequence,
        answer,
    });
}
