//! Regions: messages of isolates that wait for the coordinator, and the row that outlives each life.

use std::collections::{BTreeMap, BTreeSet};

use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::Outlook;
use weir_shared::federation::message::Message;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::limits::COORDINATOR_CALL_MS_MAX;
use weir_shared::units::{HolderId, Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, ReplyBody, Seen};
use weir_shared::wire::stored::read_row;

use super::World;
use super::broken::Broken;
use super::clock::Clock;
use super::network::{Answer, Back, Event};
use super::truth::Violation;

/// Numbers that a life of a region may give to the escrows that it makes.
const INCARNATIONS: u64 = 1_000;

/// One region: what is durable, and which life may write it.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    pub(crate) offset_ms: i64,
    /// The policy revision that its parts know.
    pub(crate) revision: usize,
    pub(crate) current: Option<usize>,
    incarnation: u64,
    row: Option<String>,
    /// Settlements that were taken, as durable as the row.
    settled: BTreeSet<u64>,
}

/// One life of a region.
#[derive(Debug, Clone)]
pub(crate) struct RegionLife {
    pub(crate) region: usize,
    pub(crate) alive: bool,
    /// Another life has taken its place: it can write no more.
    pub(crate) superseded: bool,
    pub(crate) clock: Clock,
    /// `None` after it was dropped.
    escrow: Option<Escrow>,
    incarnation: u64,
    /// Escrows that this life has made.
    made: u64,
    /// The row that this life last wrote, or woke with.
    written: Option<StoredEscrow>,
    waiting: Vec<Waiting>,
    /// The message to the coordinator that was not answered yet.
    asked: Option<Seen>,
    /// Arrivals of each isolate's messages, for the rule that answers each as a new one.
    arrivals: BTreeMap<u64, u64>,
}

#[derive(Debug, Clone)]
struct Waiting {
    from: usize,
    /// The sequence as the isolate sent it.
    sequence: Sequence,
    message: Message,
    tickets: Tickets,
}

impl Region {
    pub(crate) fn new(offset_ms: i64) -> Self {
        Self {
            offset_ms,
            revision: 0,
            current: None,
            incarnation: 0,
            row: None,
            settled: BTreeSet::new(),
        }
    }
}

impl World {
    /// The life that a message reaches: the one that may write, or one that lives on beside it.
    fn region_reached(&mut self, region: usize) -> usize {
        let beside = |life: &RegionLife| life.region == region && life.alive && life.superseded;
        let old: Vec<usize> = (0..self.lives.len())
            .filter(|&life| beside(&self.lives[life]))
            .collect();
        if !old.is_empty() && self.random.chance(500) {
            return self.random.one_of(&old);
        }
        match self.regions[region].current {
            Some(life) => life,
            None => self.region_wakes(region),
        }
    }

    fn region_wakes(&mut self, region: usize) -> usize {
        let place = &mut self.regions[region];
        // One write reserves the numbers of all escrows that this life makes.
        place.incarnation += INCARNATIONS;
        let incarnation = place.incarnation;
        let mut row = place
            .row
            .as_ref()
            .and_then(|text| read_row::<StoredEscrow>(text).ok());
        if self.setup.broken == Some(Broken::RegionWakesUnlent)
            && let Some(row) = row.as_mut()
        {
            row.watermark = 0;
        }
        if self.setup.broken == Some(Broken::RegionWakesAheadUnlent)
            && let Some(row) = row.as_mut()
        {
            row.ahead.iter_mut().for_each(|ahead| ahead.lent = 0);
        }
        let clock = Clock::new(place.offset_ms, self.clamped);
        let id = HolderId(1 + region as u64);
        let written = row.clone();
        let escrow = Escrow::wake(self.pool_name(), id, Incarnation(incarnation), row);
        self.lives.push(RegionLife {
            region,
            alive: true,
            superseded: false,
            clock,
            escrow: Some(escrow),
            incarnation,
            made: 0,
            written,
            waiting: Vec::new(),
            asked: None,
            arrivals: BTreeMap::new(),
        });
        let life = self.lives.len() - 1;
        self.regions[region].current = Some(life);
        life
    }

    /// The escrow of a life, made anew if it was dropped.
    fn escrow(&mut self, life: usize) -> &mut Escrow {
        let (name, kept) = (self.pool_name(), self.is_broken(Broken::IncarnationKept));
        let lives = &mut self.lives[life];
        let id = HolderId(1 + lives.region as u64);
        if lives.escrow.is_none() {
            lives.made += u64::from(!kept);
        }
        let incarnation = Incarnation(lives.incarnation + lives.made);
        let make = || Escrow::wake(name, id, incarnation, None);
        lives.escrow.get_or_insert_with(make)
    }

    /// Drops the escrow of a region if it is idle, with its row.
    pub(crate) fn escrow_swept(&mut self, region: usize) {
        let Some(life) = self.regions[region].current else {
            return;
        };
        let now = self.region_now(life);
        let idle = self.lives[life].escrow.as_ref();
        let idle = idle.is_some_and(|escrow| escrow.idle(now));
        if !idle || !self.lives[life].waiting.is_empty() || !self.random.chance(500) {
            return;
        }
        let row = self.regions[region].row.take();
        if let Some(row) = row.and_then(|text| read_row::<StoredEscrow>(&text).ok()) {
            self.truth.escrow_gone(region, &row);
        }
        self.lives[life].escrow = None;
        self.lives[life].asked = None;
        self.truth.escrows_dropped += 1;
    }

    /// A settled reservation gives units back. What says that it was taken is written first.
    pub(crate) fn settled(&mut self, region: usize, back: Back) {
        let life = self.region_reached(region);
        let now = self.region_now(life);
        if self.regions[region].settled.contains(&back.id) {
            return;
        }
        let later = self.is_broken(Broken::RefundIntoLaterWindow);
        let counted = self.is_broken(Broken::RefundCountedAsWritten);
        let may_write = !self.lives[life].superseded;
        if may_write && !self.is_broken(Broken::RefundTakenTwice) {
            self.regions[region].settled.insert(back.id);
        }
        if self.halts(|world| world.region_dies(life)) {
            return;
        }
        let written = self.lives[life].written.clone();
        let name = self.tenant_name(back.tenant);
        let escrow = self.escrow(life);
        let label = match &written {
            Some(row) if later => row.label,
            _ => back.label,
        };
        let taken = escrow.refund(label, &name, back.units, now);
        if let Some(row) = written.filter(|row| counted && row.label == label) {
            escrow.stored(row);
        }
        self.truth.refunds += u64::from(taken > 0);
        if self.region_persists(life, false) {
            self.region_looks(life);
        }
    }

    pub(crate) fn region_dies(&mut self, life: usize) {
        self.lives[life].alive = false;
        let region = &mut self.regions[self.lives[life].region];
        region.current.take_if(|current| *current == life);
    }

    pub(crate) fn region_superseded(&mut self, region: usize) {
        if let Some(life) = self.regions[region].current.take() {
            self.lives[life].superseded = true;
        }
    }

    /// The row becomes unreadable; whoever could still write it is gone.
    pub(crate) fn region_row_damaged(&mut self, region: usize) {
        if let Some(life) = self.regions[region].current {
            self.region_dies(life);
        }
        let Some(text) = self.regions[region].row.clone() else {
            return;
        };
        if let Ok(row) = read_row::<StoredEscrow>(&text) {
            self.truth.escrow_gone(region, &row);
        }
        let damaged = self.damaged(&text);
        self.regions[region].row = Some(damaged);
    }

    /// Makes what changed durable. False when the life did not survive it or may not write: nothing may leave then.
    fn region_persists(&mut self, life: usize, skip: bool) -> bool {
        let Some(mut row) = self.escrow(life).due() else {
            return !self.halts(|world| world.region_dies(life));
        };
        if skip {
            self.escrow(life).stored(row);
            return true;
        }
        if self.halts(|world| world.region_dies(life)) {
            return false;
        }
        if self.lives[life].superseded {
            if self.is_broken(Broken::FailedWriteIgnored) {
                self.escrow(life).stored(row);
                return true;
            }
            return false;
        }
        if self.is_broken(Broken::WatermarkOneShort) {
            row.watermark = row.watermark.saturating_sub(1);
        }
        let whole = row.clone();
        if self.is_broken(Broken::AheadLentOnNotWritten) {
            row.ahead.iter_mut().for_each(|ahead| ahead.lent = 0);
        }
        let region = self.lives[life].region;
        let text = serde_json::to_string(&row).expect("a row is always JSON");
        self.regions[region].row = Some(text);
        if self.setup.traced {
            println!("    region {region} life {life} writes {row:?}");
        }
        self.truth.escrow_stored(region, &row);
        self.truth.writes_region += 1;
        self.lives[life].written = Some(row.clone());
        let unmarked = self.setup.broken == Some(Broken::AheadLentOnNotWritten);
        self.escrow(life).stored(if unmarked { whole } else { row });
        !self.halts(|world| world.region_dies(life))
    }

    pub(crate) fn at_region(&mut self, region: usize, from: usize, body: ExchangeBody) {
        let life = self.region_reached(region);
        let sequence = body.sequence;
        let mut body = self.as_new(life, from, body);
        let label = self.lives[life].written.as_ref().map(|row| row.label);
        self.bent_message(label.unwrap_or_default(), &mut body);
        match Message::try_from(body) {
            Ok(message) => {
                self.lives[life].waiting.push(Waiting {
                    from,
                    sequence,
                    message,
                    tickets: Tickets::new(),
                });
                self.region_looks(life);
            }
            Err(refusal) => self.answer_isolate(from, sequence, Err(refusal)),
        }
    }

    /// Looks at the region's balance on behalf of every message that waits.
    fn region_looks(&mut self, life: usize) {
        let now = self.region_now(life);
        let waiting = std::mem::take(&mut self.lives[life].waiting);
        let mut short = false;
        for mut waiter in waiting {
            if !self.lives[life].alive {
                return;
            }
            let escrow = self.escrow(life);
            escrow.advance(now);
            let outage = match escrow.outlook(&waiter.message, &waiter.tickets, now) {
                Outlook::Covered | Outlook::Exhausted => false,
                Outlook::Unknown => true,
                Outlook::Short => {
                    let held = std::mem::take(&mut waiter.tickets);
                    if let Some(tickets) = escrow.wait_on(held, &waiter.message, now) {
                        waiter.tickets = tickets;
                        short = true;
                        self.lives[life].waiting.push(waiter);
                        continue;
                    }
                    true
                }
            };
            self.region_answers(life, waiter, outage);
        }
        let now = self.region_now(life);
        if short || self.escrow(life).wants_contact(now) {
            self.region_sends(life);
        }
    }

    fn region_answers(&mut self, life: usize, waiter: Waiting, outage: bool) {
        let now = self.region_now(life);
        let escrow = self.escrow(life);
        escrow.unwait(&waiter.tickets);
        let mut answer = escrow.exchange(&waiter.message, outage, now);
        let again = self.is_broken(Broken::HeldLentAgain);
        if let Ok(reply) = answer.as_mut() {
            for (grant, want) in reply.grants.iter_mut().zip(&waiter.message.wants) {
                grant.units += if again { want.held } else { 0 };
            }
            reply.to.sequence = waiter.sequence;
        }
        let skip = self.is_broken(Broken::RegionRepliesBeforeWrite);
        if self.region_persists(life, skip) {
            self.answer_isolate(waiter.from, waiter.sequence, answer);
        }
    }

    fn answer_isolate(&mut self, isolate: usize, sequence: Sequence, answer: Answer) {
        self.send(Event::AtIsolate {
            isolate,
            sequence,
            answer,
        });
    }

    /// Makes or repeats the region's message, writes, and sends it.
    fn region_sends(&mut self, life: usize) {
        if !self.lives[life].alive {
            return;
        }
        let now = self.region_now(life);
        let terms = self.terms_at(self.lives[life].region).clone();
        let Some(mut body) = self.escrow(life).begin(terms, now) else {
            return;
        };
        self.truth.calls_coordinator += 1;
        if self.setup.without_ahead {
            body.ahead = 0;
        }
        self.lives[life].asked = Some(Seen {
            incarnation: body.incarnation,
            sequence: body.sequence,
        });
        let expired = Event::RegionCallExpired {
            life,
            sequence: body.sequence,
        };
        self.queue
            .push(self.now_ms + COORDINATOR_CALL_MS_MAX, expired);
        let skip = self.is_broken(Broken::ReturnSentBeforeWrite);
        if self.region_persists(life, skip) {
            self.send(Event::AtCoordinator { from: life, body });
        }
    }

    pub(crate) fn region_timer(&mut self, region: usize) {
        let all = 0..self.lives.len();
        for life in all
            .filter(|&life| self.lives[life].region == region)
            .collect::<Vec<_>>()
        {
            if !self.lives[life].alive {
                continue;
            }
            let now = self.region_now(life);
            let escrow = self.lives[life].escrow.as_mut();
            let wants = escrow.is_some_and(|escrow| {
                escrow.advance(now);
                escrow.wants_contact(now)
            });
            if wants {
                self.region_sends(life);
            }
        }
    }

    /// The coordinator did not answer in time: what waits is answered from what is held.
    pub(crate) fn region_call_expired(&mut self, life: usize, sequence: Sequence) {
        let region = &self.lives[life];
        if !region.alive || region.asked.is_none_or(|asked| asked.sequence != sequence) {
            return;
        }
        self.escrow(life).fail(sequence);
        self.region_gives_up(life);
    }

    fn region_gives_up(&mut self, life: usize) {
        for waiter in std::mem::take(&mut self.lives[life].waiting) {
            if self.lives[life].alive {
                self.region_answers(life, waiter, true);
            }
        }
    }

    pub(crate) fn answered_above(&mut self, life: usize, sequence: Sequence, answer: Answer) {
        if !self.lives[life].alive {
            return;
        }
        match answer {
            Ok(reply) => {
                let reply = self.bent_above(life, reply);
                self.region_credits(life, &reply);
                if self.region_persists(life, false) {
                    self.region_looks(life);
                }
            }
            Err(refusal) => {
                self.escrow(life).refused(sequence, &refusal);
                let region = &mut self.lives[life];
                let asked = region.asked.take_if(|asked| asked.sequence == sequence);
                match refusal {
                    Refusal::Stale { .. } => self.region_looks(life),
                    _ if asked.is_some() => self.region_gives_up(life),
                    _ => {}
                }
            }
        }
    }

    fn region_credits(&mut self, life: usize, reply: &ReplyBody) {
        let now = self.region_now(life);
        let asked = &mut self.lives[life].asked;
        let expected = asked.take_if(|asked| *asked == reply.to);
        let credited = self.escrow(life).finish(reply, now);
        self.truth.require(credited == expected.is_some(), || {
            Violation::WronglyCredited { credited }
        });
    }

    /// Under the rule that answers repeated messages as new ones: the message under a fresh number.
    fn as_new(&mut self, life: usize, from: usize, mut body: ExchangeBody) -> ExchangeBody {
        if self.setup.broken == Some(Broken::ReplayAnsweredAsNew) {
            let arrivals = self.lives[life].arrivals.entry(from as u64).or_insert(0);
            *arrivals += 1;
            body.sequence = Sequence(body.sequence.0 * 1_000 + *arrivals);
            if let Some(seen) = body.seen.as_mut() {
                seen.sequence = Sequence(seen.sequence.0 * 1_000 + 999);
            }
        }
        body
    }
}
