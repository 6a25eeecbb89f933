//! Regions: messages of isolates that wait for the coordinator, and the row that outlives each life.

use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::Outlook;
use weir_shared::federation::message::Message;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, Seen};
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
    escrow: Escrow,
    waiting: Vec<Waiter>,
    /// The message to the coordinator that was not answered yet.
    asked: Option<Seen>,
}

/// A message that waits for the coordinator.
#[derive(Debug, Clone)]
struct Waiter {
    from: Caller,
    /// The sequence as the isolate sent it.
    sequence: Sequence,
    message: Message,
    tickets: Tickets,
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
            escrow: Escrow::wake("b".to_owned(), id, incarnation, row),
            waiting: Vec::new(),
            asked: None,
        });
    }

    pub(crate) fn is_asked(&mut self, from: Caller, body: &ExchangeBody, around: &mut Around<'_>) {
        self.wakes(around);
        let sequence = body.sequence;
        match (Message::try_from(body.clone()), self.life.as_mut()) {
            (Ok(message), Some(life)) => {
                life.waiting.push(Waiter {
                    from,
                    sequence,
                    message,
                    tickets: Tickets::new(),
                });
                self.looks(around);
            }
            (Err(refusal), _) => tell(from, sequence, Err(refusal), around),
            (Ok(_), None) => {}
        }
    }

    /// Looks at what is held on behalf of every message that waits, oldest first.
    fn looks(&mut self, around: &mut Around<'_>) {
        let waiting = self
            .life
            .as_mut()
            .map(|life| std::mem::take(&mut life.waiting));
        let mut short = false;
        for mut waiter in waiting.unwrap_or_default() {
            match self.outlook(&mut waiter, around) {
                Outlook::Covered | Outlook::Exhausted => self.answers(&waiter, false, around),
                Outlook::Unknown => self.answers(&waiter, true, around),
                Outlook::Short => {
                    short = true;
                    if let Some(life) = self.life.as_mut() {
                        life.waiting.push(waiter);
                    }
                }
            }
        }
        if short {
            self.sends(around);
        }
    }

    /// What is known of a message; one that has to wait is registered.
    fn outlook(&mut self, waiter: &mut Waiter, around: &Around<'_>) -> Outlook {
        let Some(life) = self.life.as_mut() else {
            return Outlook::Unknown;
        };
        let (message, now) = (&waiter.message, around.now);
        life.escrow.advance(now);
        let outlook = life.escrow.outlook(message, &waiter.tickets, now);
        if outlook == Outlook::Short {
            let tickets = std::mem::take(&mut waiter.tickets);
            match life.escrow.wait_on(tickets, message, now) {
                Some(tickets) => waiter.tickets = tickets,
                None => return Outlook::Unknown,
            }
        }
        outlook
    }

    fn answers(&mut self, waiter: &Waiter, outage: bool, around: &mut Around<'_>) {
        let Some(life) = self.life.as_mut() else {
            return;
        };
        life.escrow.unwait(&waiter.tickets);
        let mut answer = life.escrow.exchange(&waiter.message, outage, around.now);
        if let Ok(reply) = answer.as_mut() {
            reply.to.sequence = waiter.sequence;
        }
        if self.writes(around.breaks(Broken::RegionRepliesBeforeWrite)) {
            tell(waiter.from, waiter.sequence, answer, around);
        }
    }

    /// Makes what changed durable, unless a broken rule only believes so. False when nothing may leave: the write of a
    /// life that was replaced fails, and ends it.
    fn writes(&mut self, only_believed: bool) -> bool {
        let Some(life) = self.life.as_mut() else {
            return false;
        };
        let Some(row) = life.escrow.due() else {
            return true;
        };
        if self.replaced_speaks {
            self.life = None;
            return false;
        }
        if !only_believed {
            self.row = Some(serde_json::to_string(&row).expect("a row is always JSON"));
        }
        life.escrow.stored(row);
        true
    }

    pub(crate) fn wants_contact(&self, now: EpochMs) -> bool {
        let Some(life) = self.life.as_ref() else {
            return false;
        };
        let mut escrow = life.escrow.clone();
        escrow.advance(now);
        escrow.wants_contact(now)
    }

    /// Makes or repeats the message, writes, and sends it.
    pub(crate) fn sends(&mut self, around: &mut Around<'_>) {
        let Some(life) = self.life.as_mut() else {
            return;
        };
        let Some(body) = life.escrow.begin(around.terms.clone(), around.now) else {
            return;
        };
        life.asked = Some(name(&body));
        if self.writes(false) {
            let region = self.region;
            around.send(Letter::ToCoordinator { region, body });
        }
    }

    /// The call to the coordinator is given up: what waits is answered from what is held.
    pub(crate) fn gives_up(&mut self, around: &mut Around<'_>) {
        let Some(life) = self.life.as_mut() else {
            return;
        };
        if let Some(asked) = life.asked {
            life.escrow.fail(asked.sequence);
            self.answers_all(around);
        }
    }

    fn answers_all(&mut self, around: &mut Around<'_>) {
        let waiting = self
            .life
            .as_mut()
            .map(|life| std::mem::take(&mut life.waiting));
        for waiter in waiting.unwrap_or_default() {
            self.answers(&waiter, true, around);
        }
    }

    pub(crate) fn is_told(&mut self, sequence: Sequence, answer: &Answer, around: &mut Around<'_>) {
        let Some(life) = self.life.as_mut() else {
            return;
        };
        match answer {
            Ok(reply) => {
                let expected = life.asked == Some(reply.to);
                let credited = life.escrow.finish(reply, around.now);
                around
                    .truth
                    .require(credited == expected, Wrong::WronglyCredited);
                if credited {
                    life.asked = None;
                }
                if self.writes(false) {
                    self.looks(around);
                }
            }
            Err(refusal) => {
                life.escrow.refused(sequence, refusal);
                life.asked.take_if(|asked| asked.sequence == sequence);
                match refusal {
                    Refusal::Stale { .. } => self.looks(around),
                    _ => self.answers_all(around),
                }
            }
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
