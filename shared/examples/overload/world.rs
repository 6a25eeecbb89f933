//! Three regions of three isolates that share a resource through hubs: messages take time, some are lost, and each
//! request is decided by whichever isolate it reaches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_shared::overload::hub::Hub;
use weir_shared::overload::resource::Resource;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::overload::{ShareBody, ShareReply, Steering as Rule};

use super::limiter::{Limiter, Process, START, client, outcome};
use super::random::Random;
use super::scenario::Asker;

const REGIONS: usize = 3;
const ISOLATES: usize = 3;

/// One message in this many is lost.
const LOST_ONE_IN: u64 = 20;

enum Event {
    /// An isolate's turn to contact its region, or a region's its root.
    Contact(Sender),
    Share(Sender, ShareBody),
    Reply(Sender, ShareReply),
}

#[derive(Clone, Copy)]
enum Sender {
    Isolate(usize),
    Region(usize),
}

pub struct World {
    isolates: Vec<Resource>,
    regions: Vec<Option<Hub>>,
    root: Option<Hub>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    events: Vec<Option<Event>>,
    random: Random,
    /// Where the request goes that was checked last: its outcome is reported there.
    reached: usize,
    /// Bytes of all messages.
    pub bytes: usize,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let isolate = Process::new(Rule::FairRate, seed).resource;
        let mut world = Self {
            isolates: vec![isolate; REGIONS * ISOLATES],
            regions: vec![None; REGIONS],
            root: None,
            due: BinaryHeap::new(),
            events: Vec::new(),
            random: Random::new(seed ^ 0x0b5e_55ed),
            reached: 0,
            bytes: 0,
        };
        for isolate in 0..REGIONS * ISOLATES {
            world.after((0, 1_000), START, Event::Contact(Sender::Isolate(isolate)));
        }
        for region in 0..REGIONS {
            world.after((0, 1_000), START, Event::Contact(Sender::Region(region)));
        }
        world
    }

    fn after(&mut self, (least_ms, most_ms): (u64, u64), now: EpochMs, event: Event) {
        let at_ms = now.0 + self.random.between(least_ms, most_ms);
        self.due.push(Reverse((at_ms, self.events.len())));
        self.events.push(Some(event));
    }

    /// Sends a message, unless it is lost.
    fn send(&mut self, from: Sender, now: EpochMs, event: Event) {
        let delay_ms = match from {
            Sender::Isolate(_) => (5, 40),
            Sender::Region(_) => (30, 150),
        };
        if !self.random.bits().is_multiple_of(LOST_ONE_IN) {
            self.after(delay_ms, now, event);
        }
    }

    fn run_until(&mut self, now: EpochMs) {
        while let Some(&Reverse((at_ms, index))) = self.due.peek()
            && at_ms <= now.0
        {
            self.due.pop();
            if let Some(event) = self.events[index].take() {
                self.happen(event, EpochMs(at_ms));
            }
        }
    }

    fn happen(&mut self, event: Event, now: EpochMs) {
        match event {
            Event::Contact(sender) => {
                let (share, next_ms) = match sender {
                    Sender::Isolate(isolate) => (self.isolates[isolate].share(now), (500, 1_000)),
                    Sender::Region(region) => {
                        let hub = self.regions[region].as_mut();
                        (hub.and_then(|hub| hub.share(now)), (1_000, 1_000))
                    }
                };
                if let Some(body) = share {
                    self.bytes += serde_json::to_vec(&body).map_or(0, |body| body.len());
                    self.send(sender, now, Event::Share(sender, body));
                }
                self.after(next_ms, now, Event::Contact(sender));
            }
            Event::Share(sender, body) => {
                let (parent, holder) = match sender {
                    Sender::Isolate(isolate) => (&mut self.regions[isolate / ISOLATES], isolate),
                    Sender::Region(region) => (&mut self.root, region),
                };
                let hub = parent.get_or_insert_with(|| {
                    Hub::new("origin", Incarnation(now.0), &body.terms, now).expect("true terms")
                });
                let reply = hub
                    .take(HolderId(holder as u64), &body, now)
                    .expect("a true share");
                self.bytes += serde_json::to_vec(&reply).map_or(0, |reply| reply.len());
                self.send(sender, now, Event::Reply(sender, reply));
            }
            Event::Reply(Sender::Isolate(isolate), reply) => {
                self.isolates[isolate].learn(&reply, now);
            }
            Event::Reply(Sender::Region(region), reply) => {
                if let Some(hub) = &mut self.regions[region] {
                    hub.learn(&reply, now);
                }
            }
        }
    }
}

impl Limiter for World {
    fn check(&mut self, asker: &Asker, now: EpochMs) -> bool {
        self.run_until(now);
        self.reached = (self.random.bits() % self.isolates.len() as u64) as usize;
        let isolate = &mut self.isolates[self.reached];
        let coin = self.random.unit();
        isolate
            .check(&client(asker), asker.cost, coin, now)
            .admitted
    }

    fn report(&mut self, asker: &Asker, failed: bool, now: EpochMs) {
        self.isolates[self.reached].report(&client(asker), outcome(failed), now);
    }
}
