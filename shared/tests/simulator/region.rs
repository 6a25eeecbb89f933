//! Regions and their branches: messages from below that wait for what is above, and the row that outlives each life.

mod settling;

use std::collections::VecDeque;

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::message::Message;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::limiting::settlement::SettleReply;
use weir_shared::limits::{BRANCH_CALL_MS_MAX, COORDINATOR_CALL_MS_MAX};
use weir_shared::node::Effect;
use weir_shared::node::escrow::{EscrowNode, Event as EscrowEvent};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{HolderId, Incarnation, OpId, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Seen};
use weir_shared::wire::stored::read_row;

use self::settling::Settlements;
use super::World;
use super::broken::Broken;
use super::clock::Clock;
use super::network::{Answer, Event, From};
use super::truth::Violation;

/// Numbers that a life of a region may give to the escrows that it makes.
const INCARNATIONS: u64 = 1_000;

/// One region, or one branch: what is durable, and which life may write it.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    /// What a branch asks; a region asks the coordinator.
    pub(crate) above: Option<usize>,
    pub(crate) offset_ms: i64,
    /// The policy revision that its parts know.
    pub(crate) revision: usize,
    pub(crate) current: Option<usize>,
    incarnation: u64,
    row: Option<String>,
    /// What settlements came to, as durable as the row.
    settled: OrderedMap<OpId, SettleReply>,
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
    node: Option<EscrowNode<Caller>>,
    settlements: Settlements,
    incarnation: u64,
    /// Escrows that this life has made.
    made: u64,
    /// The row that this life last wrote, or woke with.
    written: Option<StoredEscrow>,
    /// The message to the coordinator that was not answered yet.
    asked: Option<Seen>,
    /// What isolates said that they had, for the rule that lends it once more.
    lent_again: OrderedMap<Caller, Vec<u64>>,
    /// Arrivals of each isolate's messages, for the rule that answers each as a new one.
    arrivals: OrderedMap<From, u64>,
}

/// Who is answered, and the number under which it sent its message.
type Caller = (From, Sequence);

impl Region {
    pub(crate) fn new(offset_ms: i64, above: Option<usize>) -> Self {
        Self {
            above,
            offset_ms,
            revision: 0,
            current: None,
            incarnation: 0,
            row: None,
            settled: OrderedMap::new(),
        }
    }
}

impl World {
    /// The life that a message reaches: the one that may write, or one that lives on beside it.
    fn region_reached(&mut self, region: usize) -> usize {
        let beside = |life: &RegionLife| life.region == region && life.alive && life.superseded;
        let lives = match self.setup.faults.superseded {
            true => self.lives.len(),
            false => 0,
        };
        let old: Vec<usize> = (0..lives)
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
        let (incarnation, offset_ms) = (place.incarnation, place.offset_ms);
        let row = self.row_to_wake_with(region);
        let clock = Clock::new(offset_ms, self.clamped);
        let written = row.clone();
        let node = Some(self.escrow_woken(region, incarnation, row));
        self.lives.push(RegionLife {
            region,
            alive: true,
            superseded: false,
            clock,
            node,
            settlements: settling::node(region),
            incarnation,
            made: 0,
            written,
            asked: None,
            lent_again: OrderedMap::new(),
            arrivals: OrderedMap::new(),
        });
        let life = self.lives.len() - 1;
        self.regions[region].current = Some(life);
        life
    }

    /// The row of a region, if it can be read.
    fn row_to_wake_with(&self, region: usize) -> Option<StoredEscrow> {
        let text = self.regions[region].row.as_ref()?;
        let mut row = read_row::<StoredEscrow>(text).ok()?;
        match self.setup.broken {
            Some(Broken::RegionWakesUnlent) => row.watermark = 0,
            Some(Broken::RegionWakesAheadUnlent) => {
                row.ahead.iter_mut().for_each(|ahead| ahead.lent = 0);
            }
            _ => {}
        }
        Some(row)
    }

    /// The node of a life, made anew if it was dropped.
    fn escrow_node(&mut self, life: usize) -> &mut EscrowNode<Caller> {
        if self.lives[life].node.is_none() {
            let kept = self.is_broken(Broken::IncarnationKept);
            let row = self.row_to_wake_with(self.lives[life].region);
            let lives = &mut self.lives[life];
            lives.made += u64::from(!kept);
            lives.written.clone_from(&row);
            let (region, incarnation) = (lives.region, lives.incarnation + lives.made);
            let node = self.escrow_woken(region, incarnation, row);
            self.lives[life].node = Some(node);
        }
        let node = self.lives[life].node.as_mut();
        node.expect("it was made just now")
    }

    fn escrow_woken(
        &self,
        region: usize,
        incarnation: u64,
        row: Option<StoredEscrow>,
    ) -> EscrowNode<Caller> {
        let id = HolderId(1 + region as u64);
        let incarnation = Incarnation(incarnation);
        EscrowNode::new(Escrow::wake(self.pool_name(), id, incarnation, row))
    }

    /// Drops the node of a life: the next one is made of the row, if there is one.
    fn escrow_drops(&mut self, life: usize) {
        self.lives[life].node = None;
        self.lives[life].asked = None;
    }

    /// Drops the escrow of a region if it is idle, with its row.
    pub(crate) fn escrow_swept(&mut self, region: usize) {
        let Some(life) = self.regions[region].current else {
            return;
        };
        let now = self.region_now(life);
        let node = self.lives[life].node.as_ref();
        let idle = node.is_some_and(|node| node.is_quiet() && node.escrow().idle(now));
        if !idle || !self.random.chance(500) {
            return;
        }
        let row = self.regions[region].row.take();
        if let Some(row) = row.and_then(|text| read_row::<StoredEscrow>(&text).ok()) {
            self.truth.escrow_gone(region, &row);
        }
        self.escrow_drops(life);
        self.truth.escrows_dropped += 1;
    }

    pub(crate) fn region_rests(&mut self, region: usize) {
        let Some(life) = self.regions[region].current else {
            return;
        };
        if self.lives[life].node.is_some() {
            self.region_runs(life, EscrowEvent::Rest);
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

    /// Lets the node of a life take an event, and does what it says, in its order.
    fn region_runs(&mut self, life: usize, event: EscrowEvent<Caller>) {
        let now = self.region_now(life);
        let mut effects = VecDeque::from(self.escrow_node(life).step(event, now));
        while let Some(effect) = effects.pop_front() {
            // What happens to a life may happen between any two things that it does.
            if self.halts(|world| world.region_dies(life)) {
                return;
            }
            match effect {
                Effect::Persist(row) => {
                    let Some(ended) = self.region_writes(life, row) else {
                        return;
                    };
                    effects.extend(self.escrow_node(life).step(ended, now));
                }
                Effect::Send(body) => self.region_sends(life, *body),
                Effect::Reply(caller, answer) => self.region_answers(life, caller, answer),
                // The isolate hears nothing, and its call ends by itself.
                Effect::Fail(_) => {}
                Effect::WakeAt(at) => {
                    let woke = Event::RegionWoke { life };
                    self.queue.push(self.now_ms + at.since(now), woke);
                }
            }
        }
    }

    /// Writes the row of a life and says how that ended; `None` when the life did not survive it.
    fn region_writes(&mut self, life: usize, mut row: StoredEscrow) -> Option<EscrowEvent<Caller>> {
        let old = self.lives[life].written.as_ref();
        let old = old.filter(|old| old.label == row.label);
        let skips = old.is_some_and(|old| match self.setup.broken {
            Some(Broken::RegionRepliesBeforeWrite) => row.held == old.held,
            Some(Broken::ReturnSentBeforeWrite) => row.held < old.held,
            _ => false,
        });
        if skips && !self.healed {
            return Some(EscrowEvent::Persisted);
        }
        if self.lives[life].superseded {
            return Some(if self.is_broken(Broken::FailedWriteIgnored) {
                EscrowEvent::Persisted
            } else {
                EscrowEvent::NotPersisted
            });
        }
        if self.is_broken(Broken::WatermarkOneShort) {
            row.watermark = row.watermark.saturating_sub(1);
        }
        let lower = self.lives[life].written.as_ref().is_some_and(|old| {
            old.label == row.label && old.held == row.held && old.watermark > row.watermark
        });
        if lower && self.is_broken(Broken::RestsOneShort) {
            row.watermark = row.watermark.saturating_sub(1);
        }
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
        self.lives[life].written = Some(row);
        let dies = self.halts(|world| world.region_dies(life));
        (!dies).then_some(EscrowEvent::Persisted)
    }

    pub(crate) fn at_region(&mut self, region: usize, from: From, body: ExchangeBody) {
        *self.truth.calls_of.entry(region).or_default() += 1;
        let life = self.region_reached(region);
        let sequence = body.sequence;
        let mut body = self.as_new(life, from, body);
        let label = self.lives[life].written.as_ref().map(|row| row.label);
        self.bent_message(label.unwrap_or_default(), &mut body);
        match Message::try_from(body) {
            Ok(message) => {
                if self.is_broken(Broken::HeldLentAgain) {
                    let held = message.wants.iter().map(|want| want.held).collect();
                    self.lives[life].lent_again.insert((from, sequence), held);
                }
                let exchange = EscrowEvent::Exchange {
                    caller: (from, sequence),
                    message,
                    terms: self.terms_at(region).clone(),
                };
                self.region_runs(life, exchange);
            }
            Err(refusal) => self.answer_below(from, sequence, Err(refusal)),
        }
    }

    fn region_answers(&mut self, life: usize, (from, sequence): Caller, mut answer: Answer) {
        let again = self.lives[life].lent_again.remove(&(from, sequence));
        if let Ok(reply) = answer.as_mut() {
            for (grant, held) in reply.grants.iter_mut().zip(again.unwrap_or_default()) {
                grant.units += held;
            }
            reply.to.sequence = sequence;
        }
        self.answer_below(from, sequence, answer);
    }

    fn answer_below(&mut self, from: From, sequence: Sequence, answer: Answer) {
        self.send(match from {
            From::Isolate(isolate) => Event::AtIsolate {
                isolate,
                sequence,
                answer,
            },
            From::Branch(life) => Event::FromAbove {
                life,
                sequence,
                answer,
            },
        });
    }

    /// Sends the region's message.
    fn region_sends(&mut self, life: usize, mut body: ExchangeBody) {
        let above = self.regions[self.lives[life].region].above;
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
        let (call_ms_max, message) = match above {
            None => {
                self.truth.calls_coordinator += 1;
                let message = Event::AtCoordinator { from: life, body };
                (COORDINATOR_CALL_MS_MAX, message)
            }
            Some(region) => {
                self.truth.calls_region += 1;
                let from = From::Branch(life);
                (BRANCH_CALL_MS_MAX, Event::AtRegion { region, from, body })
            }
        };
        self.queue.push(self.now_ms + call_ms_max, expired);
        self.send(message);
    }

    pub(crate) fn region_timer(&mut self, region: usize) {
        for life in 0..self.lives.len() {
            if self.lives[life].region != region || !self.lives[life].alive {
                continue;
            }
            let now = self.region_now(life);
            let node = self.lives[life].node.as_mut();
            if node.is_some_and(|node| node.wants_contact(now)) {
                let terms = self.terms_at(region).clone();
                self.region_runs(life, EscrowEvent::Flush { terms });
            }
        }
    }

    pub(crate) fn region_woke(&mut self, life: usize) {
        let region = &self.lives[life];
        if region.alive && region.node.is_some() {
            self.region_runs(life, EscrowEvent::Woke);
        }
    }

    /// The coordinator did not answer in time.
    pub(crate) fn region_call_expired(&mut self, life: usize, sequence: Sequence) {
        let region = &self.lives[life];
        if !region.alive || region.asked.is_none_or(|asked| asked.sequence != sequence) {
            return;
        }
        let answer = None;
        self.region_runs(life, EscrowEvent::Answered { sequence, answer });
    }

    pub(crate) fn answered_above(&mut self, life: usize, sequence: Sequence, answer: Answer) {
        if !self.lives[life].alive {
            return;
        }
        let answer = answer.map(|reply| self.bent_above(life, reply));
        let named = answer.as_ref().ok().map(|reply| reply.to);
        let asked = &mut self.lives[life].asked;
        let expected = match named {
            Some(to) => asked.take_if(|asked| *asked == to).is_some(),
            None => {
                asked.take_if(|asked| asked.sequence == sequence);
                false
            }
        };
        let before = self.escrow_node(life).escrow().seen();
        let answer = Some(answer);
        self.region_runs(life, EscrowEvent::Answered { sequence, answer });
        let region = &self.lives[life];
        let Some(node) = region.node.as_ref().filter(|_| region.alive) else {
            return;
        };
        let credited = node.escrow().seen() != before;
        self.truth
            .require(credited == expected, || Violation::WronglyCredited {
                credited,
            });
    }

    /// Under the rule that answers repeated messages as new ones: the message under a fresh number.
    fn as_new(&mut self, life: usize, from: From, mut body: ExchangeBody) -> ExchangeBody {
        if self.setup.broken == Some(Broken::ReplayAnsweredAsNew) {
            let arrivals = self.lives[life].arrivals.entry(from).or_insert(0);
            *arrivals += 1;
            body.sequence = Sequence(body.sequence.0 * 1_000 + *arrivals);
            if let Some(seen) = body.seen.as_mut() {
                seen.sequence = Sequence(seen.sequence.0 * 1_000 + 999);
            }
        }
        body
    }
}
