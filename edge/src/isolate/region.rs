//! What an isolate knows of one region: its policy, its holder of each pool, the keys it keeps or has drawn from, its
//! counters.

use std::rc::Rc;

use weir_shared::accounting::frame::Outbox;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::fairness::local::LocalBudget;
use weir_shared::gateway::fallback::Origins;
use weir_shared::gateway::waiters::Waiters;
use weir_shared::limiting::cache::Cache;
use weir_shared::limiting::key_cache::KeyCache;
use weir_shared::limiting::line::Lines;
use weir_shared::limiting::owner::Account;
use weir_shared::limiting::room::Bounds;
use weir_shared::limiting::spare_slots::SpareSlots;
use weir_shared::limiting::store::Store;
use weir_shared::limits::CONTACT_MS_MIN;
use weir_shared::node::leases::{Fate, Leases};
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::policy::Scope;
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::shares::SharesBody;
use worker::console_error;

use super::budget_plans::BudgetPlans;
use super::kept::scope_of;
use super::loaded::Loaded;
use super::resources::Resources;
use super::tokens::Tokens;

/// The isolate lives once: another one has another id.
const INCARNATION: Incarnation = Incarnation(1);

/// What an isolate knows of one region.
pub struct RegionView {
    id: HolderId,
    /// The policy in force, once one is known.
    pub loaded: Option<Loaded>,
    /// When the region has to be heard of again before the next decision.
    pub contact_due: EpochMs,
    /// How long the region lets an isolate be silent.
    pub contact_ms: u64,
    /// Until when a contact is under way that only refreshes.
    pub refreshing_until: EpochMs,
    /// Until when a task hands on what is left to tell.
    pub flushing_until: EpochMs,
    /// Counters on their way to the region.
    pub outbox: Outbox,
    /// The tokens.
    pub tokens: Tokens,
    /// What was asked of budgets lately.
    pub plans: BudgetPlans,
    /// What is held of pools.
    pub leases: Leases,
    /// Resources that may be overloaded.
    pub overload: Resources,
    /// Origins of routes that have several.
    pub origins: Origins,
    /// Requests of routes that wait in place of a denial.
    pub waiters: Waiters,
    /// The keys of limits that this isolate keeps for itself.
    pub store: Store,
    /// Budgets that this isolate keeps for itself.
    pub budgets: OrderedMap<String, LocalBudget>,
    key_caches: Cache<KeyCache>,
    /// Who asks for slots.
    pub lines: Lines,
    /// Slots whose requests have ended.
    pub spare_slots: SpareSlots,
}

impl RegionView {
    /// A view that knows nothing.
    #[must_use]
    pub fn new(id: HolderId) -> Self {
        Self {
            id,
            loaded: None,
            contact_due: EpochMs(0),
            contact_ms: CONTACT_MS_MIN,
            refreshing_until: EpochMs(0),
            flushing_until: EpochMs(0),
            outbox: Outbox::new(id, INCARNATION),
            tokens: Tokens::default(),
            plans: BudgetPlans::default(),
            leases: Leases::new(id),
            overload: Resources::default(),
            origins: Origins::default(),
            waiters: Waiters::default(),
            store: Store::default(),
            budgets: OrderedMap::new(),
            key_caches: Cache::new(Bounds::KEY_CACHES),
            lines: Lines::default(),
            spare_slots: SpareSlots::default(),
        }
    }

    /// Whether the policy of this view may be applied without asking.
    pub fn is_fresh(&self, now: EpochMs) -> bool {
        self.loaded.is_some() && now < self.contact_due
    }

    /// Whether somebody has to be told or asked something, and nobody is about to.
    pub fn has_to_flush(&self, now: EpochMs) -> bool {
        now >= self.flushing_until || self.leases.has_low()
    }

    /// What there is to tell of overloaded resources.
    pub fn shares(&mut self, now: EpochMs) -> Option<SharesBody> {
        self.overload.begin(self.id, now)
    }

    /// What is known of a key that a shard of the region keeps, on that account if it is new. Where an owner has too many
    /// one of its own is forgotten, which costs no more than a question to the shard.
    pub fn key_cache(&mut self, key: &StateKey, account: &Account, now: EpochMs) -> &mut KeyCache {
        self.key_caches.entry(key, account, now)
    }

    /// What is known of such a key, if anything is.
    pub fn known_key_cache(&mut self, key: &StateKey) -> Option<&mut KeyCache> {
        self.key_caches.get_mut(key)
    }

    /// Units drawn from keys whose time is over.
    pub fn unspent(&mut self, now: EpochMs) -> Vec<(StateKey, u64, ScaledReceipt)> {
        let key_caches = self.key_caches.iter_mut();
        let over = key_caches.filter_map(|(key, cache)| {
            let (units, receipt) = cache.unspent(now)?;
            Some((key.clone(), units, receipt))
        });
        over.collect()
    }

    /// Whether there is anything left to tell the region.
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        !self.outbox.is_empty()
            || self.tokens.uses.due(now)
            || self.overload.has_unsent()
            || self.leases.has_unsent(now)
            || !self.spare_slots.is_empty()
            || self.key_caches.iter().any(|(_, cache)| cache.has_unsent())
    }

    /// Takes note of what was held of windows that are over, to tell of it.
    pub fn note_lapsed(&mut self, now: EpochMs) {
        for (pool, label, units) in self.leases.take_lapsed(now) {
            self.outbox.pending().lapsed(&pool, label, units);
        }
    }

    /// The region was heard of: a call sent at `sent_at` was answered.
    pub fn heard(&mut self, sent_at: EpochMs) {
        self.contact_due = self.contact_due.max(sent_at.plus(self.contact_ms));
    }

    /// Takes a policy that is newer than the one in force. One that this code cannot read is reported, and the last
    /// one that was seen keeps applying.
    pub fn adopt(&mut self, saved: &SavedPolicy, at: EpochMs) {
        let newer = |loaded: &Loaded| loaded.revision < saved.revision;
        if !self.loaded.as_ref().is_none_or(newer) {
            return;
        }
        match Policy::try_from(&saved.document) {
            Ok(policy) => {
                let before = self.loaded.as_ref().map(|loaded| loaded.policy.as_ref());
                let known = self.loaded.as_ref().and_then(|loaded| loaded.placement);
                let placement = known.or(saved.placement);
                if placement != known {
                    // What was drawn from other shards is nothing to those that keep the keys from now on.
                    self.key_caches.clear();
                    self.spare_slots.clear();
                }
                self.leases
                    .adopt(|pool| Fate::of(pool, before, &policy), at);
                // One that comes back in its window goes on with what was used of it.
                self.budgets.retain(|name, budget| {
                    policy.root(name) == Some(Scope::Isolate) || !budget.is_idle(at)
                });
                self.store.retain(|limit| policy.limits.contains_key(limit));
                self.overload.retain(&policy);
                self.key_caches.retain(|key| {
                    // What was drawn from another shard is nothing to the one that keeps the key now.
                    let scope = scope_of(&policy, &key.limit);
                    let moved = before.is_some_and(|before| scope_of(before, &key.limit) != scope);
                    scope.is_some() && !moved
                });
                for (_, cache) in self.key_caches.iter_mut() {
                    cache.ask_again();
                }
                self.loaded = Some(Loaded {
                    revision: saved.revision,
                    policy: Rc::new(policy),
                    placement,
                });
            }
            Err(refused) => console_error!("policy {}: {refused}", saved.revision),
        }
    }
}
