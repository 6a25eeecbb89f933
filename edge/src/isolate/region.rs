//! What an isolate knows of one region: its policy, its holder of each budget, its counters.

use std::collections::BTreeMap;
use std::rc::Rc;

use weir_shared::accounting::frame::Outbox;
use weir_shared::federation::holder::Holder;
use weir_shared::limits::CONTACT_MS_MIN;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::region::SavedPolicy;
use worker::console_error;

/// The isolate lives once: another one has another id.
const INCARNATION: Incarnation = Incarnation(1);

/// A policy in force.
#[derive(Clone)]
pub struct Loaded {
    /// Its revision; 0 for the one that was shipped.
    pub revision: Revision,
    /// The rules.
    pub policy: Rc<Policy>,
}

/// What an isolate knows of one region.
pub struct RegionView {
    id: HolderId,
    /// Holders made so far. Each is a life of its own: one of a budget that was removed and came back must not be
    /// taken for the one before.
    holders_made: u64,
    /// The policy in force, once one is known.
    pub loaded: Option<Loaded>,
    /// When the region has to be heard of again before the next decision.
    pub contact_due: EpochMs,
    /// How long the region lets an isolate be silent.
    pub contact_ms: u64,
    /// Until when a contact is under way that only refreshes.
    pub refreshing_until: EpochMs,
    /// Until when a task hands on what is left to tell.
    pub tended_until: EpochMs,
    /// Counters on their way to the region.
    pub outbox: Outbox,
    holders: BTreeMap<String, Holder>,
}

impl RegionView {
    /// A view that knows nothing.
    #[must_use]
    pub fn new(id: HolderId) -> Self {
        Self {
            id,
            holders_made: 0,
            loaded: None,
            contact_due: EpochMs(0),
            contact_ms: CONTACT_MS_MIN,
            refreshing_until: EpochMs(0),
            tended_until: EpochMs(0),
            outbox: Outbox::new(id, INCARNATION),
            holders: BTreeMap::new(),
        }
    }

    /// The holder of a budget of the policy.
    pub fn holder(&mut self, budget: &str) -> &mut Holder {
        let (id, made) = (self.id, &mut self.holders_made);
        self.holders.entry(budget.to_owned()).or_insert_with(|| {
            *made += 1;
            Holder::new(budget.to_owned(), id, Incarnation(*made), None)
        })
    }

    /// All holders.
    pub fn holders(&mut self) -> impl Iterator<Item = (&String, &mut Holder)> {
        self.holders.iter_mut()
    }

    /// Whether there is anything left to tell the region.
    #[must_use]
    pub fn restless(&self, now: EpochMs) -> bool {
        !self.outbox.is_empty() || self.holders.values().any(|holder| holder.restless(now))
    }

    /// The region was heard of: a call sent at `sent_at` was answered.
    pub fn heard(&mut self, sent_at: EpochMs) {
        self.contact_due = self.contact_due.max(sent_at.plus(self.contact_ms));
    }

    /// Takes a policy that is newer than the one in force. One that this code cannot read is reported, and the last
    /// one that was seen keeps applying.
    pub fn adopt(&mut self, saved: &SavedPolicy) {
        let newer = |loaded: &Loaded| loaded.revision < saved.revision;
        if !self.loaded.as_ref().is_none_or(newer) {
            return;
        }
        match Policy::try_from(&saved.document) {
            Ok(policy) => {
                self.holders
                    .retain(|name, _| policy.budgets.contains_key(name));
                for holder in self.holders.values_mut() {
                    holder.ask_again();
                }
                self.loaded = Some(Loaded {
                    revision: saved.revision,
                    policy: Rc::new(policy),
                });
            }
            Err(refused) => console_error!("policy {}: {refused}", saved.revision),
        }
    }
}
