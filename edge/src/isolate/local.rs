//! A check of a key that this isolate keeps for itself.

use std::fmt::Debug;
use std::rc::Rc;

use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::{Scaled, ScaledReceipt};
use weir_shared::decision::Decision;
use weir_shared::limiting::owner::{Account, by_rules, print_of};

use super::memory::{now, with};
use crate::http::failure::Failure;

/// One key of this isolate.
pub struct LocalCheck<'a> {
    /// The region that it decides for.
    pub region: &'a str,
    /// The key.
    pub key: &'a StateKey,
    /// Its rules.
    pub machine: &'a Scaled,
    /// Whether these are its tenant's own.
    pub own: bool,
    /// Whether it is the only key of a tenant that the policy names.
    pub known: bool,
    /// On whose account it is kept.
    pub account: &'a Rc<Account>,
}

impl LocalCheck<'_> {
    /// Decides `units`, which it only looks at with `look`, and tells what gives them back when they were charged.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn decide(
        &self,
        units: u64,
        look: bool,
    ) -> Result<(Decision, Option<ScaledReceipt>), Failure> {
        let at = now();
        with(self.region, |view| {
            let key = view.store.place(self.key, self.known, self.account, at);
            let key = kept_by(key, self.key, self.own, self.machine);
            let state = view.store.state(self.machine, &key, at);
            if look {
                return (self.machine.look(state.as_ref(), units, at), None);
            }
            let checked = self.machine.check(state.as_ref(), units, at);
            let receipt = checked.next.map(|next| {
                let receipt = self.machine.receipt(&next);
                let receipt = receipt.kept_under(&key.key, &self.key.key);
                let expires_at = self.machine.expires_at(&next);
                view.store.put(key, next, expires_at, self.account);
                receipt
            });
            (checked.decision, receipt)
        })
    }

    /// Gives back what was charged.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn undo(&self, receipt: &ScaledReceipt, units: u64) -> Result<(), Failure> {
        let at = now();
        with(self.region, |view| {
            let key = StateKey {
                limit: self.key.limit.clone(),
                key: receipt.key(&self.key.key).to_owned(),
            };
            let state = view.store.state(self.machine, &key, at);
            let next = state.and_then(|state| self.machine.refund(&state, receipt, units, at));
            if let Some(next) = next {
                let expires_at = self.machine.expires_at(&next);
                view.store.put(key, next, expires_at, self.account);
            }
        })
    }
}

/// Where a key of this isolate is kept whose place that is, where a tenant's `own` rules decide it.
pub fn kept_by(place: StateKey, asked: &StateKey, own: bool, rules: &impl Debug) -> StateKey {
    if !own || place == *asked {
        return place;
    }
    by_rules(place, asked, Some(print_of(&format!("{rules:?}"))))
}
