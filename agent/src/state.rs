//! What an agent knows: its policy, its holder of each budget, its counters, and how the deployment was last heard of. Pure:
//! the time is an argument, and what is to be sent is returned.

use std::rc::Rc;

use weir_shared::accounting::frame::{FrameOutcome, Outbox};
use weir_shared::json;
use weir_shared::limits::{AGENT_POLL_MS, CONTACT_MS_MIN, EXCHANGES_PER_CONTACT_MAX, TIMER_MS_MAX};
use weir_shared::node::LendAnswer;
use weir_shared::node::leases::{Fate, Leases};
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, Sequence};
use weir_shared::wire::agent::{AgentContactBody, AgentContactReply};
use weir_shared::wire::check::Reason;
use weir_shared::wire::exchange::{ExchangeBody, Terms, VERSION};
use weir_shared::wire::saved_policy::SavedPolicy;

/// An agent lives once: another one has another id.
const INCARNATION: Incarnation = Incarnation(1);

/// A policy in force.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its revision.
    pub revision: Revision,
    /// The rules.
    pub policy: Rc<Policy>,
}

/// How the deployment answered last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Link {
    /// It was not asked yet.
    #[default]
    New,
    /// As it should.
    Up,
    /// It refused the token: none, or one that was revoked or has expired, or one of another role.
    Refused,
    /// Not at all, or with an error.
    Lost,
}

/// Why a contact brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactFault {
    /// The token was refused.
    Refused,
    /// The policy does not have the region any more.
    Region,
    /// Anything else: nobody answered in time, or what was answered is no answer.
    Lost,
}

/// What a contact was about, for when its answer comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    at: EpochMs,
    messages: Vec<(String, Sequence)>,
    frame: Option<Sequence>,
}

/// How often something was decided or asked, since the start.
#[derive(Debug, Clone, Default)]
pub struct Tallies {
    /// Decisions by budget and reason.
    pub decisions: OrderedMap<(String, &'static str), u64>,
    /// Descriptors for which the policy has no rule.
    pub undescribed: u64,
    /// Contacts that were answered, refused, and lost.
    pub contacts: [u64; 3],
    /// Frames of counters that were given up.
    pub frames_lost: u64,
}

/// What an agent knows.
#[derive(Debug)]
pub struct State {
    id: HolderId,
    /// The region that lends: as it was configured, or as the deployment said. One that the policy does not have any more
    /// gives way to the nearest.
    region: Option<String>,
    /// The policy in force, once one is known.
    pub loaded: Option<Loaded>,
    /// What is held.
    pub leases: Leases,
    /// Counters on their way to the region.
    pub outbox: Outbox,
    /// What was decided.
    pub tallies: Tallies,
    queued: Vec<ExchangeBody>,
    link: Link,
    heard_at: Option<EpochMs>,
    tried_at: EpochMs,
    flushed_at: EpochMs,
    contact_ms: u64,
    under_way: usize,
}

impl State {
    /// One that holds nothing. `id` is drawn at random: what an earlier life held counts as lent until its windows end.
    #[must_use]
    pub fn new(id: HolderId, region: Option<String>) -> Self {
        Self {
            id,
            region,
            loaded: None,
            leases: Leases::new(id),
            outbox: Outbox::new(id, INCARNATION),
            tallies: Tallies::default(),
            queued: Vec::new(),
            link: Link::New,
            heard_at: None,
            tried_at: EpochMs(0),
            flushed_at: EpochMs(0),
            contact_ms: CONTACT_MS_MIN,
            under_way: 0,
        }
    }

    /// The policy, and the region that lends; `None` before the first answer.
    #[must_use]
    pub fn place(&self) -> Option<(Loaded, String)> {
        Some((self.loaded.clone()?, self.region.clone()?))
    }

    /// The region that lends, once it is known.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// How the deployment answered last.
    #[must_use]
    pub fn link(&self) -> Link {
        self.link
    }

    /// When it was last heard of.
    #[must_use]
    pub fn heard_at(&self) -> Option<EpochMs> {
        self.heard_at
    }

    /// The time between two contacts, as the region last said.
    #[must_use]
    pub fn contact_ms(&self) -> u64 {
        self.contact_ms
    }

    /// Contacts that are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Whether the policy names a tenant.
    #[must_use]
    pub fn knows(&self, tenant: &str) -> bool {
        let loaded = self.loaded.as_ref();
        loaded.is_some_and(|loaded| loaded.policy.tiers.named(tenant).is_some())
    }

    /// How often a budget was decided about with a reason.
    pub fn tally(&mut self, budget: &str, reason: Reason) -> &mut u64 {
        let key = (budget.to_owned(), reason.name());
        self.tallies.decisions.entry(key).or_default()
    }

    /// Whether there is no use in waiting for the deployment: it did not answer as it should when it was last asked.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        matches!(self.link, Link::Refused | Link::Lost)
    }

    /// Whether there is anything left to tell.
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        !self.queued.is_empty() || !self.outbox.is_empty() || self.leases.has_unsent(now)
    }

    /// In how many milliseconds holders are to be [flushed](State::flush) again: so early that the answer is there before the
    /// region counts the agent as silent.
    #[must_use]
    pub fn flushes_in_ms(&self, now: EpochMs) -> u64 {
        let every_ms = self.contact_ms - self.contact_ms / 4;
        every_ms.saturating_sub(now.since(self.flushed_at))
    }

    /// In how many milliseconds a deployment that did not answer as it should is asked again.
    #[must_use]
    pub fn retries_in_ms(&self, now: EpochMs) -> u64 {
        match self.is_cut_off() {
            true => CONTACT_MS_MIN.saturating_sub(now.since(self.tried_at)),
            false => 0,
        }
    }

    /// Whether holders want something said.
    pub fn has_to_send(&mut self) -> bool {
        self.queued.extend(self.leases.unsent());
        !self.queued.is_empty()
    }

    /// Whether a contact is due: there is something to say, or it is time to ask for another policy.
    pub fn needs_contact(&mut self, now: EpochMs) -> bool {
        let news = self.has_to_send() || !self.outbox.is_empty();
        let poll = self.link != Link::Up || now.since(self.tried_at) >= AGENT_POLL_MS;
        news || poll || self.loaded.is_none()
    }

    /// Has every holder say what it has to tell.
    pub fn flush(&mut self, now: EpochMs) {
        self.flushed_at = now;
        for (pool, label, units) in self.leases.take_lapsed(now) {
            self.outbox.pending().lapsed(&pool, label, units);
        }
        if let Some((loaded, region)) = self.place() {
            self.leases
                .flush(|pool| terms(&loaded, &region, pool, now), now);
        }
    }

    /// Nothing will be decided any more: what is held goes back.
    pub fn close(&mut self, now: EpochMs) {
        self.leases.close();
        self.flush(now);
    }

    /// What a contact says that is made now: whatever holders want said, counters, and which policy applies.
    pub fn contact(&mut self, now: EpochMs) -> AgentContactBody {
        self.queued.extend(self.leases.unsent());
        let mut exchanges = std::mem::take(&mut self.queued);
        if exchanges.len() > EXCHANGES_PER_CONTACT_MAX {
            self.queued = exchanges.split_off(EXCHANGES_PER_CONTACT_MAX);
        }
        self.tried_at = now;
        self.under_way += 1;
        AgentContactBody {
            v: VERSION,
            agent: self.id,
            region: self.region.clone(),
            revision: self
                .loaded
                .as_ref()
                .map_or(Revision(0), |loaded| loaded.revision),
            exchanges,
            frame: self.outbox.begin(now),
        }
    }

    /// Messages for which a contact had no room: they go with the next.
    pub fn put_off(&mut self, exchanges: Vec<ExchangeBody>) {
        self.queued.extend(exchanges);
    }

    /// What came of a contact.
    pub fn answered(
        &mut self,
        sent: &Sent,
        answer: Result<AgentContactReply, ContactFault>,
        now: EpochMs,
    ) {
        self.under_way = self.under_way.saturating_sub(1);
        let link = match &answer {
            Ok(_) => Link::Up,
            Err(ContactFault::Refused) => Link::Refused,
            Err(ContactFault::Region | ContactFault::Lost) => Link::Lost,
        };
        self.link = link;
        let tally = match link {
            Link::New | Link::Up => 0,
            Link::Refused => 1,
            Link::Lost => 2,
        };
        self.tallies.contacts[tally] += 1;
        match answer {
            Ok(reply) => {
                self.apply(sent, reply, now);
                self.heard_at = self.heard_at.max(Some(sent.at));
            }
            Err(fault) => {
                for (pool, sequence) in &sent.messages {
                    self.leases.answered(pool, *sequence, None, now);
                }
                if let Some(sequence) = sent.frame {
                    self.outbox.fail(sequence);
                }
                if fault == ContactFault::Region {
                    self.leave_region(now);
                }
            }
        }
    }

    fn apply(&mut self, sent: &Sent, reply: AgentContactReply, now: EpochMs) {
        self.region.get_or_insert(reply.region);
        for ((pool, sequence), answer) in sent.messages.iter().zip(reply.exchanges) {
            let answer = Some(LendAnswer::from(answer));
            self.leases.answered(pool, *sequence, answer, now);
        }
        if let Some(frame) = &reply.frame
            && self.outbox.finish(frame) == Some(FrameOutcome::GivenUp)
        {
            self.tallies.frames_lost += 1;
        }
        if let Some(policy) = &reply.policy {
            // Read alone: a policy that is too new to be read must not cost the rest of the answer.
            match json::from_value::<SavedPolicy>(policy) {
                Ok(saved) => self.adopt(&saved, now),
                Err(fault) => eprintln!("weir-agent: the policy cannot be read: {fault}"),
            }
        }
        self.contact_ms = reply.next_contact_ms.clamp(CONTACT_MS_MIN, TIMER_MS_MAX);
    }

    /// Takes a policy that is newer than the one in force. One that this program cannot read is reported, and the last one
    /// keeps applying.
    fn adopt(&mut self, saved: &SavedPolicy, now: EpochMs) {
        let newer = |loaded: &Loaded| loaded.revision < saved.revision;
        if !self.loaded.as_ref().is_none_or(newer) {
            return;
        }
        let policy = match Policy::try_from(&saved.document) {
            Ok(policy) => Rc::new(policy),
            Err(refused) => {
                eprintln!("weir-agent: policy {}: {refused}", saved.revision);
                return;
            }
        };
        let before = self.loaded.as_ref().map(|loaded| loaded.policy.as_ref());
        self.leases
            .adopt(|pool| Fate::of(pool, before, &policy), now);
        self.loaded = Some(Loaded {
            revision: saved.revision,
            policy,
        });
        if let Some(region) = &self.region
            && !self.has_region(region)
        {
            self.leave_region(now);
        }
    }

    fn has_region(&self, region: &str) -> bool {
        let loaded = self.loaded.as_ref();
        loaded.is_some_and(|loaded| loaded.policy.regions.iter().any(|one| one == region))
    }

    /// What was lent by a region that is no more is nobody's. The next contact finds another.
    fn leave_region(&mut self, now: EpochMs) {
        self.leases.adopt(|_| Fate::Gone, now);
        self.queued.clear();
        self.region = None;
    }
}

impl Sent {
    /// Of a contact that was made at `at`.
    #[must_use]
    pub fn of(body: &AgentContactBody, at: EpochMs) -> Self {
        let messages = body.exchanges.iter();
        let messages = messages.map(|message| (message.budget.clone(), message.sequence));
        Self {
            at,
            messages: messages.collect(),
            frame: body.frame.as_ref().map(|frame| frame.sequence),
        }
    }
}

/// The terms of a pool by a policy.
pub(crate) fn terms(loaded: &Loaded, region: &str, pool: &str, now: EpochMs) -> Option<Terms> {
    loaded.policy.terms(pool, region, loaded.revision, now)
}
