//! What an isolate knows of one region: its policy, its holder of each pool, the keys it keeps or has drawn from, its
//! counters.

use std::rc::Rc;

use weir_shared::accounting::frame::Outbox;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::contact::Speaker;
use weir_shared::fairness::local::LocalBudget;
use weir_shared::federation::branch;
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
use weir_shared::wire::exchange::{ExchangeBody, Terms};
use weir_shared::wire::policy::Scope;
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::shares::SharesBody;
use worker::console_error;

use super::budget_plans::BudgetPlans;
use super::kept::scope_of;
use super::loaded::Loaded;
use super::resources::Resources;
use super::tokens::Tokens;

/// Messages for an object of the region, made of what is held of it.
pub struct Letter {
    /// The region's own, or a branch.
    pub object: String,
    /// One message a pool.
    pub exchanges: Vec<ExchangeBody>,
}

/// What is left of an object that was asked before: units go back to where they are from, and their counters with them.
struct Left {
    object: String,
    leases: Leases,
    outbox: Outbox,
}

/// Objects that an isolate has left and still has to tell something. Of one more, what is left of the first is lost, as if
/// the isolate had died.
const LEFT_MAX: usize = 4;

/// What an isolate knows of one region.
pub struct RegionView {
    id: HolderId,
    region: String,
    /// The object of the region that is asked: its own, or a branch.
    object: String,
    /// How often an object was begun to be asked: each time is a life of its own there.
    lives: u64,
    left: Vec<Left>,
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
    pub fn new(id: HolderId, region: &str) -> Self {
        Self {
            id,
            region: region.to_owned(),
            object: region.to_owned(),
            lives: 1,
            left: Vec::new(),
            loaded: None,
            contact_due: EpochMs(0),
            contact_ms: CONTACT_MS_MIN,
            refreshing_until: EpochMs(0),
            flushing_until: EpochMs(0),
            outbox: Outbox::new(id, Incarnation(1)),
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

    /// Who is heard of in contacts.
    pub fn speaker(&self) -> Speaker {
        Speaker {
            holder: self.id,
            isolates: 1,
        }
    }

    /// A contact that asks nothing of pools.
    pub fn empty_letter(&self) -> Letter {
        Letter {
            object: self.object.clone(),
            exchanges: Vec::new(),
        }
    }

    /// What there is to send to the object that is asked.
    pub fn letter(&mut self) -> Letter {
        Letter {
            object: self.object.clone(),
            exchanges: self.leases.unsent(),
        }
    }

    /// What there is to send to objects that were asked before. Those that have been told everything are forgotten.
    pub fn letters_left(
        &mut self,
        terms: impl Fn(&str) -> Option<Terms>,
        now: EpochMs,
    ) -> Vec<Letter> {
        self.left
            .retain(|left| left.leases.has_unsent(now) || !left.outbox.is_empty());
        let left = self.left.iter_mut().map(|left| {
            left.leases.flush(&terms, now);
            Letter {
                object: left.object.clone(),
                exchanges: left.leases.unsent(),
            }
        });
        left.collect()
    }

    /// Whether that is the object that is asked.
    pub fn asks(&self, object: &str) -> bool {
        self.object == object
    }

    /// What is held of an object, and what it is told; nothing of one that is forgotten.
    pub fn of(&mut self, object: &str) -> Option<(&mut Leases, &mut Outbox)> {
        if self.object == object {
            return Some((&mut self.leases, &mut self.outbox));
        }
        let left = self.left.iter_mut().find(|left| left.object == object)?;
        Some((&mut left.leases, &mut left.outbox))
    }

    /// The region has so many branches: the isolate asks its own from now on.
    pub fn hears_of_branches(&mut self, branches: u32, now: EpochMs) {
        let object = branch::name_of(&self.region, branch::branch_of(self.id, branches));
        // What is still on its way to an object keeps its numbers: it is asked again once that has come to its end.
        let leaving = self.left.iter().any(|left| left.object == object);
        if self.object == object || leaving {
            return;
        }
        if self.left.len() >= LEFT_MAX {
            self.left.remove(0);
        }
        self.lives += 1;
        let outbox = Outbox::new(self.id, Incarnation(self.lives));
        self.left.push(Left {
            object: std::mem::replace(&mut self.object, object),
            leases: self.leases.moves(now),
            outbox: std::mem::replace(&mut self.outbox, outbox),
        });
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
            || !self.left.is_empty()
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
        for left in &mut self.left {
            for (pool, label, units) in left.leases.take_lapsed(now) {
                left.outbox.pending().lapsed(&pool, label, units);
            }
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
                let left = self.left.iter_mut().map(|left| &mut left.leases);
                for leases in std::iter::once(&mut self.leases).chain(left) {
                    leases.adopt(|pool| Fate::of(pool, before, &policy), at);
                }
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
