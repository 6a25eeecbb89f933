//! One check of an overloaded resource, decided without waiting.

use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::fairness::weight::Weight;
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Client, Resource, Verdict};
use weir_shared::units::{EpochMs, Revision};
use worker::js_sys::Math;

use super::memory::{now, with};
use crate::http::failure::Failure;

/// One check of a resource.
pub struct OverloadCheck<'a> {
    /// The region.
    pub region: &'a str,
    /// The resource.
    pub name: &'a str,
    /// How it is steered.
    pub config: &'a Config,
    /// The policy that says so.
    pub revision: Revision,
    /// Whose request it is.
    pub client: Client<'a>,
    /// Whether it takes a slot where the resource has some: only who says when the request ends does.
    pub holds: bool,
}

impl OverloadCheck<'_> {
    /// Decides `cost` units, 0 to look; and the slot that it takes, where it takes one.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn decide(&self, cost: u64) -> Result<(Decision, Option<u64>), Failure> {
        let (coin, at) = (Math::random(), now());
        let slots = self.slots().filter(|_| cost > 0);
        if let Some(slots) = slots
            && let Some(retry_ms) = with(self.region, |view| {
                let taken = view.overload.slots(self.name);
                (taken.left(slots, at) == 0).then(|| taken.retry_ms(slots))
            })?
        {
            return Ok((full(retry_ms, at), None));
        }
        let verdict = self.with(at, |resource| resource.check(&self.client, cost, coin, at))?;
        let decision = decision(&verdict, self.client.weight, at);
        let slot = match slots.filter(|_| decision.admitted()) {
            Some(_) => Some(with(self.region, |view| {
                view.overload.slots(self.name).take(self.client.name, at)
            })?),
            None => None,
        };
        Ok((decision, slot))
    }

    /// How many requests the resource takes at once, where this one is among them.
    pub fn slots(&self) -> Option<u64> {
        self.config.slots.filter(|_| self.holds)
    }

    /// Takes the charge back, and the slot.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn undo(&self, cost: u64, slot: Option<u64>) -> Result<(), Failure> {
        let at = now();
        if let Some(slot) = slot {
            with(self.region, |view| {
                view.overload.slots(self.name).undo(slot)
            })?;
        }
        self.with(at, |resource| resource.undo(&self.client, cost, at))
    }

    /// One step on the resource.
    pub(super) fn with<R>(
        &self,
        at: EpochMs,
        step: impl FnOnce(&mut Resource) -> R,
    ) -> Result<R, Failure> {
        with(self.region, |view| {
            let table = view.tokens.table();
            let named = (self.name, self.config);
            step(view.overload.get(named, self.revision, table, at))
        })
    }
}

/// All slots are taken. That bounds nobody in units.
fn full(retry_ms: u64, now: EpochMs) -> Decision {
    Decision {
        reason: Reason::Overloaded,
        limit: JSON_INTEGER_MAX,
        remaining: 0,
        reset_at: now.plus(retry_ms),
        retry: Retry::AfterMs(retry_ms),
    }
}

/// What a verdict says in units a second. While nothing is denied there is no bound to tell.
fn decision(verdict: &Verdict, weight: Weight, now: EpochMs) -> Decision {
    let share = |milli: u64| {
        let units = u128::from(milli) * u128::from(weight.micros());
        let whole = units.div_ceil(1_000 * u128::from(Weight::WHOLE.micros()));
        u64::try_from(whole).map_or(JSON_INTEGER_MAX, |units| units.clamp(1, JSON_INTEGER_MAX))
    };
    let limit = verdict.fair_rate_milli.map_or(JSON_INTEGER_MAX, share);
    if verdict.admitted {
        return Decision {
            reason: Reason::Admitted,
            limit,
            remaining: limit,
            reset_at: now,
            retry: Retry::Now,
        };
    }
    let after_ms = verdict.retry_after_ms.max(1);
    Decision {
        reason: Reason::Overloaded,
        limit,
        remaining: 0,
        reset_at: now.plus(after_ms),
        retry: Retry::AfterMs(after_ms),
    }
}
