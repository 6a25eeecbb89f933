//! Isolates: carry out what the nodes of their leases say, and keep books beside them.

mod moving;

use weir_shared::decision::Reason;
use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::federation::holder::Lease;
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::waiting::Need;
use weir_shared::limits::{CALL_MS_MAX, DECIDE_WAIT_MS_MAX};
use weir_shared::node::Spent;
use weir_shared::node::lease::{Effect, Event as LeaseEvent, LeaseNode, Verdict, WaitingAsk};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{HolderId, Incarnation, Sequence, WindowLabel};
use weir_shared::wire::exchange::{ExchangeBody, ReplyBody, Seen};

use super::World;
use super::books::Books;
use super::broken::Broken;
use super::clock::Clock;
use super::network::{Answer, Back, Event, From};
use super::truth::{Admission, Violation};

/// One life of an isolate.
#[derive(Debug, Clone)]
pub(crate) struct Isolate {
    pub(crate) region: usize,
    pub(crate) place: usize,
    pub(crate) alive: bool,
    /// Its place has moved to another object: it only gives back.
    pub(crate) retires: bool,
    pub(crate) node: LeaseNode<u64>,
    /// Holders that this isolate has made.
    made: u64,
    pub(crate) clock: Clock,
    /// Those that wait.
    requests: OrderedMap<u64, (Ask, Party)>,
    /// Since when, in true time.
    waits_since: OrderedMap<u64, u64>,
    requests_made: u64,
    /// When its node is to be woken, in true time.
    wakes_at_ms: u64,
    /// The message that was not answered yet.
    pub(crate) asked: Option<ExchangeBody>,
    pub(crate) books: Books,
    /// Grants that only a broken rule credits.
    pub(crate) smuggled: u64,
    pub(crate) credited_last: Option<Sequence>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) cost: u64,
    /// Which of the tenants, where there are any.
    pub(crate) tenant: Option<usize>,
}

impl World {
    pub(crate) fn isolate_born(&mut self, place: usize) {
        let region = self.part_of(place);
        let life = self.isolates.len();
        let holder = self.holder_of(life);
        self.isolates.push(Isolate {
            region,
            place,
            alive: true,
            retires: false,
            node: LeaseNode::new(holder),
            made: 1,
            clock: Clock::new(self.place_offsets[place], self.clamped),
            requests: OrderedMap::new(),
            waits_since: OrderedMap::new(),
            requests_made: 0,
            wakes_at_ms: 0,
            asked: None,
            books: Books::default(),
            smuggled: 0,
            credited_last: None,
        });
        self.places[place] = life;
    }

    fn holder_of(&self, life: usize) -> Holder {
        let id = HolderId(1_000 + life as u64);
        Holder::new(self.pool_name(), id, Incarnation(1), None)
    }

    /// The object that an isolate at that place asks: of its region, or a branch of it.
    fn part_of(&mut self, place: usize) -> usize {
        let region = place / self.setup.isolates_per_region;
        let parts = self.setup.parts_of(region);
        match parts.len() {
            1 => region,
            // Where none comes or goes, nobody asks the region's own object.
            _ if !self.setup.faults.branches_change => {
                let branches = parts.len() - 1;
                parts[1 + place % self.setup.isolates_per_region % branches]
            }
            _ => self.random.one_of(&parts),
        }
    }

    pub(crate) fn isolate_dies(&mut self, place: usize) {
        let life = self.places[place];
        if self.is_broken(Broken::IsolateForked) {
            let copy = self.isolates[life].clone();
            self.isolates.push(copy);
            self.places[place] = self.isolates.len() - 1;
            return;
        }
        self.isolate_advances(life);
        self.isolates[life].alive = false;
        let lost = self.isolates[life].books.all();
        self.strand(lost);
        self.isolate_born(place);
    }

    /// Drops the holder if it is idle and makes it anew.
    pub(crate) fn holder_swept(&mut self, place: usize) {
        let life = self.places[place];
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        if !self.isolates[life].node.idle(now) || !self.random.chance(500) {
            return;
        }
        let (name, kept) = (self.pool_name(), self.is_broken(Broken::IncarnationKept));
        let isolate = &mut self.isolates[life];
        let lost = isolate.books.all();
        isolate.made += u64::from(!kept);
        let id = HolderId(1_000 + life as u64);
        let holder = Holder::new(name, id, Incarnation(isolate.made), None);
        isolate.node = LeaseNode::new(holder);
        isolate.asked = None;
        isolate.books = Books::default();
        isolate.credited_last = None;
        self.strand(lost);
        self.truth.holders_dropped += 1;
    }

    /// In whose name a request asks, by the policy that its region knows.
    fn party(&self, life: usize, ask: Ask) -> Party {
        let region = self.isolates[life].region;
        let shared = self.terms_at(region).sharing.is_some();
        let tenant = ask.tenant.filter(|_| shared);
        let claimants = &self.said[self.regions[region].revision].claimants;
        tenant.map_or(Party::Everyone, |tenant| {
            Party::Tenant(Claimant::clone(&claimants[tenant]))
        })
    }

    pub(crate) fn asked(&mut self, place: usize, ask: Ask) {
        let life = self.places[place];
        let region = self.isolates[life].region;
        if !self.serves(region) {
            self.truth.denied(self.now_ms, ask); // there is no such budget
            return;
        }
        if ask.cost > self.terms_at(region).limit && self.random.chance(500) {
            self.truth.denied(self.now_ms, ask); // the policy alone says never
            return;
        }
        let party = self.party(life, ask);
        let isolate = &mut self.isolates[life];
        isolate.requests_made += 1;
        let caller = isolate.requests_made;
        isolate.requests.insert(caller, (ask, party.clone()));
        let asked = WaitingAsk {
            party,
            cost: ask.cost,
            terms: self.terms_at(region).clone(),
            denial: Reason::CapReached,
            again: false,
        };
        self.isolate_runs(life, LeaseEvent::Check { caller, asked });
        if self.isolates[life].requests.contains_key(&caller) {
            self.truth.waits.push(self.now_ms);
            let waits = &mut self.isolates[life].waits_since;
            waits.insert(caller, self.now_ms);
            if self.setup.faults.any() && self.random.chance(50) {
                let left = Event::RequestLeft {
                    isolate: life,
                    request: caller,
                };
                self.later(DECIDE_WAIT_MS_MAX, left);
            }
        }
    }

    /// A request that waits goes away.
    pub(crate) fn request_left(&mut self, life: usize, caller: u64) {
        let isolate = &mut self.isolates[life];
        if isolate.alive && isolate.requests.remove(&caller).is_some() {
            isolate.waits_since.remove(&caller);
            self.truth.unavailable += 1;
            self.isolate_runs(life, LeaseEvent::Left { caller });
        }
    }

    pub(crate) fn isolate_woke(&mut self, life: usize) {
        let isolate = &self.isolates[life];
        if isolate.alive && isolate.wakes_at_ms == self.now_ms {
            self.isolate_runs(life, LeaseEvent::Woke);
        }
    }

    /// Lets the node of a life take an event, and does what it says, in its order.
    fn isolate_runs(&mut self, life: usize, event: LeaseEvent<u64>) {
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        let looks = matches!(event, LeaseEvent::Answered { .. } | LeaseEvent::Woke);
        let effects = self.isolates[life].node.step(event, now);
        self.isolate_carries_out(life, effects);
        if looks {
            self.check_served(life);
        }
        self.check_books(life);
    }

    fn isolate_carries_out(&mut self, life: usize, effects: Vec<Effect<u64>>) {
        let now = self.isolate_now(life);
        for effect in effects {
            match effect {
                Effect::Send(body) => self.isolate_sends(life, *body),
                Effect::Reply(_) if self.is_broken(Broken::WaiterForgotten) => {}
                Effect::Reply(caller) => self.answered(life, caller),
                Effect::WakeAt(_) if self.is_broken(Broken::NeverWoken) => {}
                Effect::WakeAt(at) => {
                    let wakes_at_ms = self.now_ms + at.since(now).max(1);
                    let isolate = &mut self.isolates[life];
                    if isolate.wakes_at_ms != wakes_at_ms {
                        isolate.wakes_at_ms = wakes_at_ms;
                        let woke = Event::IsolateWoke { life };
                        self.queue.push(wakes_at_ms, woke);
                    }
                }
            }
        }
    }

    /// A request hears its answer.
    fn answered(&mut self, life: usize, caller: u64) {
        let isolate = &mut self.isolates[life];
        let verdict = isolate.node.take(caller);
        let ask = isolate.requests.remove(&caller);
        isolate.waits_since.remove(&caller);
        let (Some(verdict), Some((ask, party))) = (verdict, ask) else {
            self.truth.fail(Violation::AnsweredTwice);
            return;
        };
        match verdict {
            Verdict::Decided((decision, Some(label))) if decision.admitted() => {
                self.admitted(life, ask, party.tenant().is_some(), label);
            }
            Verdict::Decided(_) => self.truth.denied(self.now_ms, ask),
            Verdict::Unavailable => self.truth.unavailable += 1,
        }
    }

    /// Every wait ends, by the clock of whoever waits.
    fn check_waits(&mut self, life: usize) {
        let first = self.isolates[life].waits_since.values().min();
        let waited_ms = first.map_or(0, |since| self.now_ms - since);
        let ends = self.setup.faults.steps || waited_ms <= DECIDE_WAIT_MS_MAX;
        self.truth
            .require(ends, || Violation::WaitsTooLong { waited_ms });
    }

    /// Nobody waits for what is there.
    fn check_served(&mut self, life: usize) {
        let now = self.isolate_now(life);
        let isolate = &self.isolates[life];
        let covered = isolate.requests.values().any(|(ask, party)| {
            let outlook = isolate
                .node
                .holder()
                .outlook(party, Need::one(ask.cost), None, now);
            ask.cost > 0 && outlook == Outlook::Covered
        });
        self.truth.require(!covered, || Violation::CoveredWaits);
    }

    fn admitted(&mut self, life: usize, ask: Ask, shared: bool, label: WindowLabel) {
        let now_ms = self.now_ms;
        let isolate = &mut self.isolates[life];
        isolate.books.used += ask.cost;
        let admission = Admission {
            at_ms: now_ms,
            region: isolate.region,
            label: label.0,
            units: ask.cost,
            tenant: ask.tenant.filter(|_| shared),
        };
        let admission = self.truth.admitted(admission);
        let given_back = self.setup.gives_back;
        if ask.cost > 0 && given_back > 0 && self.random.chance(given_back) {
            self.gives_back(life, admission);
        }
    }

    /// An admitted request turns out not to use its units: another of its checks denies it, or its reservation is
    /// settled later, in the region that it was charged in.
    fn gives_back(&mut self, life: usize, admission: usize) {
        if self.random.chance(500) {
            let event = Event::DeniedElsewhere {
                isolate: life,
                admission,
            };
            self.later(60, event);
            return;
        }
        let region = self.isolates[life].region;
        let Admission {
            label,
            units,
            tenant,
            ..
        } = self.truth.refundable(admission);
        let back = Back {
            id: admission as u64,
            label: WindowLabel(label),
            units,
            tenant,
        };
        let within_ms = self.setup.window_ms / 2;
        self.later(within_ms, Event::Settled { region, back });
        // It may be told twice, with any time between.
        if self.random.chance(500) {
            self.later(2 * within_ms, Event::Settled { region, back });
        }
    }

    pub(crate) fn denied_elsewhere(&mut self, life: usize, admission: usize) {
        if !self.isolates[life].alive {
            return;
        }
        let Admission {
            label,
            units,
            tenant,
            ..
        } = self.truth.admission(admission);
        let name = self.tenant_name(tenant);
        let now = self.isolate_now(life);
        let spent = Spent {
            label: WindowLabel(label),
            tenant: name.as_deref(),
            units,
        };
        let isolate = &mut self.isolates[life];
        if let Some(effects) = isolate.node.undo(spent, now) {
            isolate.books.used -= units;
            self.truth.unspent(admission);
            self.isolate_carries_out(life, effects);
            // Whoever waited was looked at again, and a window may have opened with that.
            self.isolate_advances(life);
        }
    }

    pub(crate) fn tenant_name(&self, tenant: Option<usize>) -> Option<String> {
        tenant.map(|tenant| self.setup.tenants[tenant].claimant.name.clone())
    }

    /// Sends the isolate's message, made or repeated.
    fn isolate_sends(&mut self, life: usize, mut body: ExchangeBody) {
        let region = self.isolates[life].region;
        let isolate = &mut self.isolates[life];
        let repeated = isolate
            .asked
            .as_ref()
            .is_some_and(|asked| asked.sequence == body.sequence);
        if !repeated {
            // What it recalled goes back with this message.
            self.follow(life);
            let isolate = &mut self.isolates[life];
            isolate.asked = Some(body.clone());
            let open = WindowLabel(isolate.books.label);
            let own = body.returns.iter().filter(|back| back.window == open);
            let returned: u64 = own.map(|back| back.units).sum();
            let recalled = isolate.books.returns_recalled(open.0, returned);
            isolate.books.held -= returned - recalled;
            let window = self.truth.window(open);
            window.stranded -= recalled;
            window.returned += returned;
            // What was recalled of windows to come was lost to it then, and goes back now.
            for back in body.returns.iter().filter(|back| back.window != open) {
                let books = &mut self.isolates[life].books;
                let _recalled = books.returns_recalled(back.window.0, back.units);
                let window = self.truth.window(back.window);
                window.stranded -= back.units;
                window.returned += back.units;
            }
            if self.setup.broken == Some(Broken::ReturnKept) {
                self.isolates[life].smuggled += returned;
            }
        }
        self.truth.calls_region += 1;
        self.lies(life, &mut body);
        if self.is_broken(Broken::StaleSeen)
            && let Some(seen) = body.seen.as_mut()
        {
            seen.sequence = Sequence(seen.sequence.0 - 1);
        }
        let expired = Event::IsolateCallExpired {
            isolate: life,
            sequence: body.sequence,
        };
        self.queue.push(self.now_ms + CALL_MS_MAX, expired);
        self.send(Event::AtRegion {
            region,
            from: From::Isolate(life),
            body,
        });
    }

    pub(crate) fn isolate_call_expired(&mut self, life: usize, sequence: Sequence) {
        if self.isolates[life].alive {
            let answer = None;
            self.isolate_runs(life, LeaseEvent::Answered { sequence, answer });
        }
    }

    pub(crate) fn isolate_timer(&mut self, place: usize) {
        self.retired_tell(place);
        let life = self.places[place];
        self.check_waits(life);
        let now = self.isolate_now(life);
        let lease = self.isolates[life].node.holder().open_lease(now);
        self.truth.idle_seen += lease.map_or(0, Lease::balance);
        self.truth.looks += 1;
        let terms = self.terms_at(self.isolates[life].region).clone();
        self.isolate_runs(life, LeaseEvent::Flush { terms });
    }

    pub(crate) fn at_isolate(&mut self, life: usize, sequence: Sequence, answer: Answer) {
        if !self.isolates[life].alive {
            return;
        }
        let answer = answer.map(|reply| self.bent(life, reply));
        let reply = answer.as_ref().ok().cloned();
        let isolate = &mut self.isolates[life];
        let expected = isolate.asked.take_if(|asked| match &reply {
            Some(reply) => {
                (asked.incarnation, asked.sequence) == (reply.to.incarnation, reply.to.sequence)
            }
            None => asked.sequence == sequence,
        });
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        let seen = self.isolates[life].node.holder().seen();
        let answer = Some(answer);
        let answered = LeaseEvent::Answered { sequence, answer };
        let effects = self.isolates[life].node.step(answered, now);
        if let Some(reply) = reply {
            self.credited(life, &reply, expected, seen);
        }
        self.isolate_carries_out(life, effects);
        self.check_served(life);
        self.check_books(life);
    }

    /// Follows a reply in the books, and sees that it was credited exactly if it answers the message in flight.
    fn credited(
        &mut self,
        life: usize,
        reply: &ReplyBody,
        expected: Option<ExchangeBody>,
        before: Option<Seen>,
    ) {
        let credited = self.isolates[life].node.holder().seen() != before;
        self.truth.require(credited == expected.is_some(), || {
            Violation::WronglyCredited { credited }
        });
        let Some(asked) = expected else {
            return;
        };
        self.isolates[life].credited_last = Some(reply.to.sequence);
        if self.setup.broken.is_none() && !self.liar(life) {
            self.check_useful(&asked, reply);
        }
        self.enter(life, reply);
        self.check_tenant_balances(life, reply);
    }

    /// What is lent to a tenant whose requests wait serves at least one of them.
    fn check_useful(&mut self, asked: &ExchangeBody, reply: &ReplyBody) {
        for want in &asked.wants {
            let grants = reply.grants.iter();
            let own = grants.filter(|grant| grant.tenant == want.tenant);
            let units: u64 = own.map(|grant| grant.units).sum();
            let ahead = units.saturating_sub(want.waiting);
            self.truth.ahead_max = self.truth.ahead_max.max(ahead);
            let smallest = want.smallest;
            self.truth.require(units == 0 || units >= smallest, || {
                Violation::UselessGrant { units, smallest }
            });
        }
    }
}
