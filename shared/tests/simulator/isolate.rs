//! Isolates: requests that wait for budget, one message in flight to their region.

use std::rc::Rc;

use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::waiting::{Need, Ticket};
use weir_shared::limits::{CALL_MS_MAX, DECIDE_WAIT_MS_MAX};
use weir_shared::units::{HolderId, Incarnation, Sequence, WindowLabel};
use weir_shared::wire::exchange::{ExchangeBody, ReplyBody};

use super::World;
use super::books::Books;
use super::broken::Broken;
use super::clock::Clock;
use super::network::{Answer, Back, Event};
use super::truth::{Admission, Violation};

/// One life of an isolate.
#[derive(Debug, Clone)]
pub(crate) struct Isolate {
    pub(crate) region: usize,
    pub(crate) place: usize,
    pub(crate) alive: bool,
    pub(crate) holder: Holder,
    /// Holders that this isolate has made.
    made: u64,
    pub(crate) clock: Clock,
    requests: Vec<Request>,
    requests_made: u64,
    /// The message that was not answered yet.
    pub(crate) asked: Option<ExchangeBody>,
    pub(crate) books: Books,
    /// Grants that only a broken rule credits.
    pub(crate) smuggled: u64,
    pub(crate) credited_last: Option<Sequence>,
}

#[derive(Debug, Clone)]
struct Request {
    id: u64,
    ask: Ask,
    ticket: Option<Ticket>,
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
        let region = place / self.setup.isolates_per_region;
        let life = self.isolates.len();
        let id = HolderId(1_000 + life as u64);
        let holder = Holder::new(self.pool_name(), id, Incarnation(1), None);
        self.isolates.push(Isolate {
            region,
            place,
            alive: true,
            holder,
            made: 1,
            clock: Clock::new(self.place_offsets[place], self.clamped),
            requests: Vec::new(),
            requests_made: 0,
            asked: None,
            books: Books::default(),
            smuggled: 0,
            credited_last: None,
        });
        self.places[place] = life;
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
        if !self.isolates[life].holder.idle(now) || !self.random.chance(500) {
            return;
        }
        let (name, kept) = (self.pool_name(), self.is_broken(Broken::IncarnationKept));
        let isolate = &mut self.isolates[life];
        let lost = isolate.books.all();
        isolate.made += u64::from(!kept);
        let id = HolderId(1_000 + life as u64);
        isolate.holder = Holder::new(name, id, Incarnation(isolate.made), None);
        isolate.asked = None;
        isolate.books = Books::default();
        isolate.credited_last = None;
        self.strand(lost);
        self.truth.holders_dropped += 1;
    }

    /// In whose name a request asks, by the policy that its region knows.
    fn party(&self, life: usize, ask: Ask) -> Rc<Party> {
        let region = self.isolates[life].region;
        let shared = self.terms_at(region).sharing.is_some();
        let tenant = ask.tenant.filter(|_| shared);
        let parties = &self.said[self.regions[region].revision].parties;
        Rc::clone(tenant.map_or(&self.everyone, |tenant| &parties[tenant]))
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
        let isolate = &mut self.isolates[life];
        isolate.requests_made += 1;
        let id = isolate.requests_made;
        isolate.requests.push(Request {
            id,
            ask,
            ticket: None,
        });
        self.look(life);
        let party = self.party(life, ask);
        let now = self.isolate_now(life);
        let isolate = &self.isolates[life];
        if isolate
            .requests
            .last()
            .is_some_and(|request| request.id == id)
        {
            self.truth.waits.push(self.now_ms);
            let expired = Event::RequestExpired {
                isolate: life,
                request: id,
            };
            self.queue.push(self.now_ms + DECIDE_WAIT_MS_MAX, expired);
        } else if isolate.holder.runs_low(&party.name, now) {
            self.isolate_sends(life);
        }
    }

    pub(crate) fn request_expired(&mut self, life: usize, id: u64) {
        let isolate = &mut self.isolates[life];
        let Some(index) = isolate.requests.iter().position(|request| request.id == id) else {
            return;
        };
        let request = isolate.requests.remove(index);
        if let Some(ticket) = request.ticket {
            isolate.holder.unwait(ticket);
        }
        self.truth.unavailable += 1;
    }

    /// Looks at the balance on behalf of every request that waits.
    fn look(&mut self, life: usize) {
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        let requests = std::mem::take(&mut self.isolates[life].requests);
        let mut short = false;
        for mut request in requests {
            let (ask, party) = (request.ask, self.party(life, request.ask));
            let need = match ask.cost {
                0 => Need::look(),
                cost => Need::one(cost),
            };
            let holder = &mut self.isolates[life].holder;
            match holder.outlook(&party, need, request.ticket, now) {
                Outlook::Covered => self.spend(life, ask, &party),
                Outlook::Exhausted => self.deny(life, ask, &party),
                Outlook::Unknown => self.truth.unavailable += 1,
                Outlook::Short => {
                    request.ticket = holder.wait_on(&party, request.ticket, need, now);
                    if request.ticket.is_some() {
                        short = true;
                        self.isolates[life].requests.push(request);
                    } else {
                        self.truth.unavailable += 1;
                    }
                    continue;
                }
            }
            if let Some(ticket) = request.ticket {
                self.isolates[life].holder.unwait(ticket);
            }
        }
        if short {
            self.isolate_sends(life);
        }
    }

    fn spend(&mut self, life: usize, ask: Ask, party: &Party) {
        let (now, now_ms) = (self.isolate_now(life), self.now_ms);
        let isolate = &mut self.isolates[life];
        let label = isolate
            .holder
            .lease()
            .map_or(WindowLabel(0), |lease| lease.label);
        if !isolate.holder.spend(party, ask.cost, now) {
            self.truth.fail(Violation::CoveredNotSpent);
            return;
        }
        isolate.books.used += ask.cost;
        let tenant = ask.tenant.filter(|_| !party.name.is_empty());
        let admission = Admission {
            at_ms: now_ms,
            region: isolate.region,
            label: label.0,
            units: ask.cost,
            tenant,
        };
        let admission = self.truth.admitted(admission);
        self.check_books(life);
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
        let isolate = &mut self.isolates[life];
        if isolate.holder.unspend(WindowLabel(label), &name, units) {
            isolate.books.used -= units;
            self.truth.unspent(admission);
            self.check_books(life);
        }
    }

    pub(crate) fn tenant_name(&self, tenant: Option<usize>) -> String {
        let tenant = tenant.map(|tenant| &self.setup.tenants[tenant]);
        tenant.map_or(String::new(), |tenant| tenant.party.name.clone())
    }

    fn deny(&mut self, life: usize, ask: Ask, party: &Party) {
        let now = self.isolate_now(life);
        let holder = &mut self.isolates[life].holder;
        let before = holder.lease().copied();
        holder.deny(party, ask.cost, now);
        let after = holder.lease().copied();
        self.truth.denied(self.now_ms, ask);
        self.truth
            .require(before == after, || Violation::DenialConsumed);
    }

    /// Makes or repeats the isolate's message and sends it.
    fn isolate_sends(&mut self, life: usize) {
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        let region = self.isolates[life].region;
        let terms = self.terms_at(region).clone();
        let isolate = &mut self.isolates[life];
        let Some(mut body) = isolate.holder.begin(terms, now) else {
            return;
        };
        let repeated = isolate
            .asked
            .as_ref()
            .is_some_and(|asked| asked.sequence == body.sequence);
        if !repeated {
            isolate.asked = Some(body.clone());
            let open = WindowLabel(isolate.books.label);
            let own = body.returns.iter().filter(|back| back.window == open);
            let returned: u64 = own.map(|back| back.units).sum();
            isolate.books.held -= returned;
            self.truth.window(open).returned += returned;
            // What was recalled of windows to come was lost to it then, and goes back now.
            for back in body.returns.iter().filter(|back| back.window != open) {
                let window = self.truth.window(back.window);
                window.stranded -= back.units;
                window.returned += back.units;
            }
            if self.setup.broken == Some(Broken::ReturnKept) {
                self.isolates[life].smuggled += returned;
            }
        }
        self.check_books(life);
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
            from: life,
            body,
        });
    }

    pub(crate) fn isolate_call_expired(&mut self, life: usize, sequence: Sequence) {
        if self.isolates[life].alive {
            self.isolates[life].holder.fail(sequence);
            self.look(life);
        }
    }

    pub(crate) fn isolate_timer(&mut self, place: usize) {
        let life = self.places[place];
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        if self.isolates[life].holder.wants_contact(now) {
            self.isolate_sends(life);
        }
        self.look(life);
    }

    pub(crate) fn at_isolate(&mut self, life: usize, sequence: Sequence, answer: Answer) {
        if !self.isolates[life].alive {
            return;
        }
        match answer {
            Ok(reply) => {
                let reply = self.bent(life, reply);
                self.credit(life, &reply);
                self.look(life);
            }
            Err(refusal) => {
                let isolate = &mut self.isolates[life];
                isolate.holder.refused(sequence, &refusal);
                isolate.asked.take_if(|asked| asked.sequence == sequence);
            }
        }
    }

    fn credit(&mut self, life: usize, reply: &ReplyBody) {
        self.isolate_advances(life);
        let now = self.isolate_now(life);
        let isolate = &mut self.isolates[life];
        let expected = isolate.asked.take_if(|asked| {
            (asked.incarnation, asked.sequence) == (reply.to.incarnation, reply.to.sequence)
        });
        let before = isolate.holder.lease().copied();
        let credited = isolate.holder.finish(reply, now);
        let after = isolate.holder.lease().copied();
        let right = credited == expected.is_some() && (credited || before == after);
        self.truth
            .require(right, || Violation::WronglyCredited { credited });
        let Some(asked) = expected else {
            return;
        };
        self.isolates[life].credited_last = Some(reply.to.sequence);
        if self.setup.broken.is_none() && !self.liar(life) {
            self.check_useful(&asked, reply);
        }
        self.enter(life, reply);
        self.check_purses(life, reply);
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
