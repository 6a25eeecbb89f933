//! Isolates: requests that wait for budget, one message in flight to their region.

use weir_shared::federation::holder::{Holder, Lease, Outlook};
use weir_shared::federation::waiting::{Need, Ticket};
use weir_shared::limits::{CALL_MS_MAX, DECIDE_WAIT_MS_MAX};
use weir_shared::units::{HolderId, Incarnation, Sequence, WindowLabel};
use weir_shared::wire::exchange::{ExchangeBody, Grant, ReplyBody};

use super::World;
use super::broken::Broken;
use super::clock::Clock;
use super::network::{Answer, Back, Event};
use super::truth::Violation;

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
    asked: Option<ExchangeBody>,
    account: Account,
    /// Grants that only a broken rule credits.
    smuggled: u64,
    credited_last: Option<Sequence>,
}

#[derive(Debug, Clone)]
struct Request {
    id: u64,
    cost: u64,
    ticket: Option<Ticket>,
}

/// What the isolate should hold.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    label: u64,
    held: u64,
    used: u64,
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
            account: Account::default(),
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
        self.isolates[life].alive = false;
        if let Some(lease) = self.isolates[life].holder.lease().copied() {
            self.truth.window(lease.label).stranded += lease.balance();
        }
        self.isolate_born(place);
    }

    /// Drops the holder if it is idle and makes it anew.
    pub(crate) fn holder_swept(&mut self, place: usize) {
        let life = self.places[place];
        let now = self.isolate_now(life);
        if !self.isolates[life].holder.idle(now) || !self.random.chance(500) {
            return;
        }
        let (name, kept) = (self.pool_name(), self.is_broken(Broken::IncarnationKept));
        let isolate = &mut self.isolates[life];
        if let Some(lease) = isolate.holder.lease() {
            self.truth.window(lease.label).stranded += lease.balance();
        }
        isolate.made += u64::from(!kept);
        let id = HolderId(1_000 + life as u64);
        isolate.holder = Holder::new(name, id, Incarnation(isolate.made), None);
        isolate.asked = None;
        isolate.account = Account::default();
        isolate.credited_last = None;
        self.truth.holders_dropped += 1;
    }

    pub(crate) fn asked(&mut self, place: usize, cost: u64) {
        let life = self.places[place];
        if cost > self.terms_at(self.isolates[life].region).limit && self.random.chance(500) {
            self.truth.denied += 1; // the policy alone says never
            return;
        }
        let isolate = &mut self.isolates[life];
        isolate.requests_made += 1;
        let id = isolate.requests_made;
        isolate.requests.push(Request {
            id,
            cost,
            ticket: None,
        });
        let expired = Event::RequestExpired {
            isolate: life,
            request: id,
        };
        self.queue.push(self.now_ms + DECIDE_WAIT_MS_MAX, expired);
        self.look(life);
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
        let now = self.isolate_now(life);
        let requests = std::mem::take(&mut self.isolates[life].requests);
        let mut short = false;
        for mut request in requests {
            let need = Need::one(request.cost.max(1));
            let outlook = self.isolates[life]
                .holder
                .outlook(need, request.ticket, now);
            match outlook {
                Outlook::Covered => self.spend(life, request.cost),
                Outlook::Exhausted => self.deny(life, request.cost),
                Outlook::Unknown => self.truth.unavailable += 1,
                Outlook::Short => {
                    let holder = &mut self.isolates[life].holder;
                    request.ticket = holder.wait_on(request.ticket, need, now);
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

    fn spend(&mut self, life: usize, cost: u64) {
        let (now, now_ms, ends_kept) = (self.isolate_now(life), self.now_ms, self.ends_kept());
        let isolate = &mut self.isolates[life];
        let label = isolate
            .holder
            .lease()
            .map_or(WindowLabel(0), |lease| lease.label);
        if !isolate.holder.spend(cost, now) {
            self.truth.fail(Violation::CoveredNotSpent);
            return;
        }
        isolate.account.used += cost;
        let region = isolate.region;
        let admission = self.truth.admitted(region, label, cost, now_ms, ends_kept);
        self.check_account(life);
        let given_back = self.setup.gives_back;
        if cost > 0 && given_back > 0 && self.random.chance(given_back) {
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
        let (label, units) = self.truth.refundable(admission);
        let id = admission as u64;
        let back = Back { id, label, units };
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
        let (label, units) = self.truth.admission(admission);
        let isolate = &mut self.isolates[life];
        if isolate.holder.unspend(label, units) {
            isolate.account.used -= units;
            self.truth.unspent(admission);
            self.check_account(life);
        }
    }

    fn deny(&mut self, life: usize, cost: u64) {
        let holder = &mut self.isolates[life].holder;
        let before = holder.lease().copied();
        holder.deny(cost);
        let after = holder.lease().copied();
        self.truth.denied += 1;
        self.truth
            .require(before == after, || Violation::DenialConsumed);
    }

    /// Makes or repeats the isolate's message and sends it.
    fn isolate_sends(&mut self, life: usize) {
        let now = self.isolate_now(life);
        let region = self.isolates[life].region;
        let terms = self.terms_at(region);
        let isolate = &mut self.isolates[life];
        let Some(mut body) = isolate.holder.begin(terms, now) else {
            return;
        };
        let repeated = isolate
            .asked
            .as_ref()
            .is_some_and(|asked| asked.sequence == body.sequence);
        if !repeated {
            let returned: u64 = body.returns.iter().map(|back| back.units).sum();
            isolate.account.held -= returned;
            isolate.asked = Some(body.clone());
            let label = WindowLabel(isolate.account.label);
            self.truth.window(label).returned += returned;
            if self.setup.broken == Some(Broken::ReturnKept) {
                self.isolates[life].smuggled += returned;
            }
        }
        self.check_account(life);
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
        let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
        let waited = asked.wants.iter().filter(|want| want.waiting > 0);
        if let Some(smallest) = waited.map(|want| want.smallest).min() {
            self.truth.require(granted == 0 || granted >= smallest, || {
                Violation::UselessGrant {
                    units: granted,
                    smallest,
                }
            });
        }
        self.account(life, reply, granted, before);
    }

    /// Enters a credited reply in the books.
    fn account(&mut self, life: usize, reply: &ReplyBody, granted: u64, before: Option<Lease>) {
        let isolate = &mut self.isolates[life];
        isolate.credited_last = Some(reply.to.sequence);
        let label = reply.window.label;
        let known = isolate.account.label;
        if label.0 > known {
            isolate.account = Account {
                label: label.0,
                held: granted,
                used: 0,
            };
            if let Some(lease) = before {
                self.truth.window(lease.label).stranded += lease.balance();
            }
        } else if label.0 == known {
            isolate.account.held += granted;
        }
        let window = self.truth.window(label);
        window.granted += granted;
        if label.0 < known {
            window.stranded += granted;
        }
        self.check_account(life);
    }

    fn check_account(&mut self, life: usize) {
        let isolate = &self.isolates[life];
        let account = isolate.account;
        let lease = isolate.holder.lease();
        let (held, used) = lease.map_or((0, 0), |lease| (lease.held, lease.used));
        let right = (held, used) == (account.held, account.used);
        self.truth.require(right, || Violation::Unaccounted {
            held,
            used,
            expected_held: account.held,
            expected_used: account.used,
        });
    }

    /// What a broken rule makes of a reply.
    fn bent(&mut self, life: usize, mut reply: ReplyBody) -> ReplyBody {
        let Some(rule) = self.setup.broken.filter(|_| !self.healed) else {
            return reply;
        };
        let now = self.isolate_now(life);
        let now_ms = self.now_ms;
        let isolate = &mut self.isolates[life];
        let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
        let awaited = isolate.asked.as_ref().map(|asked| asked.sequence);
        let expected = awaited == Some(reply.to.sequence);
        match rule {
            Broken::ReplyCreditedTwice if isolate.credited_last == Some(reply.to.sequence) => {
                isolate.smuggled += granted;
            }
            Broken::OlderReplyCredited if !expected => {
                reply.to.sequence = awaited.unwrap_or(reply.to.sequence);
            }
            Broken::EndCountedFromReceipt => reply.window.remaining_ms += 400,
            Broken::EndReadOffOwnClock => {
                let ends_at_ms = now_ms + reply.window.remaining_ms + self.coordinator_offset_ms();
                reply.window.remaining_ms = ends_at_ms.saturating_sub(now.0);
            }
            Broken::LeftoverCarriedOver if expected => {
                let lease = isolate.holder.lease();
                let over = lease.filter(|lease| lease.label < reply.window.label);
                isolate.smuggled += over.map_or(0, Lease::balance);
            }
            _ => {}
        }
        let isolate = &mut self.isolates[life];
        if expected && isolate.smuggled > 0 {
            reply.grants.push(Grant {
                tenant: None,
                units: std::mem::take(&mut isolate.smuggled),
                ceiling: reply.window.limit,
            });
        }
        reply
    }
}
