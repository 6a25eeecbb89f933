//! Frames between outboxes and one inbox, with losses and restarts on both sides.

use weir_shared::accounting::counters::Charged;
use weir_shared::accounting::frame::{Inbox, Outbox};
use weir_shared::accounting::ledger::Totals;
use weir_shared::limits::COST_MAX;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::accounting::FrameBody;

use crate::digest::START_MS;
use crate::digest::log::Log;
use crate::random::Random;

struct World {
    random: Random,
    now: EpochMs,
    outboxes: Vec<Outbox>,
    inbox: Inbox,
    lives: u64,
    totals: Totals,
    log: Log,
}

/// Until the inbox has decided on `decisions` frames.
pub(crate) fn run(seed: u64, decisions: usize) -> Log {
    let outboxes = (1..=3).map(|id| Outbox::new(HolderId(id), Incarnation(1)));
    let mut world = World {
        random: Random::new(seed),
        now: EpochMs(START_MS),
        outboxes: outboxes.collect(),
        inbox: Inbox::new(Incarnation(1)),
        lives: 1,
        totals: Totals::default(),
        log: Log::default(),
    };
    while world.log.decisions() < decisions {
        world.step();
    }
    let mut all = world.totals.all();
    // Whom a scrape lists is no part of what was counted.
    all.values_mut().for_each(|tenant| tenant.listed = false);
    let all = serde_json::to_string(&all).unwrap();
    world.log.text(&all);
    world.log
}

impl World {
    fn step(&mut self) {
        self.now = self.now.plus(self.random.below(700));
        let sender = self.random.below(3) as usize;
        if self.random.chance(10) {
            self.lives += 1;
            let id = HolderId(sender as u64 + 1);
            self.outboxes[sender] = Outbox::new(id, Incarnation(self.lives));
        }
        if self.random.chance(10) {
            self.lives += 1;
            self.inbox = Inbox::new(Incarnation(self.lives));
        }
        self.count(sender);
        if let Some(frame) = self.outboxes[sender].begin(self.now) {
            self.send(sender, &frame);
        }
    }

    fn count(&mut self, sender: usize) {
        let names = ["acme", "é/~", "\u{1}others", "tenant-0123456789"];
        let tenant = self.random.one_of(&names);
        let charged = self
            .random
            .one_of(&[Charged::Budget("tokens"), Charged::Limit("per_ip")]);
        let units = self.random.below(COST_MAX);
        let admitted = self.random.chance(600);
        self.outboxes[sender].count(tenant, charged, admitted, units);
    }

    /// The frame, or its answer, may be lost; it may arrive twice.
    fn send(&mut self, sender: usize, frame: &FrameBody) {
        let arrivals = self.random.one_of(&[0, 1, 1, 1, 1, 2]);
        for _ in 0..arrivals {
            let (added, reply) = self.inbox.take(frame);
            let rows = if added {
                self.totals.add(&frame.counters)
            } else {
                Vec::new()
            };
            let rows = rows.into_iter().map(u64::from);
            let mut numbers = vec![
                frame.sender.0,
                frame.incarnation.0,
                frame.sequence.0,
                u64::from(frame.again),
                reply.receiver.0,
                u64::from(reply.counted),
            ];
            numbers.extend(rows);
            self.log.decision(added, &numbers);
            if self.random.chance(150) {
                self.outboxes[sender].fail(frame.sequence);
            } else {
                let outcome = self.outboxes[sender].finish(&reply);
                self.log.number(outcome.map(|outcome| outcome as u64));
            }
        }
    }
}
