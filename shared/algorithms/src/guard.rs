//! A guard: so many at a time, and so many a minute.
//!
//! What passes takes a slot, which it holds until it releases it, or its lease lapses because it did not renew it: a
//! holder that dies loses its slot. The minute's budget is a [token bucket](super::token_bucket) of `per_minute` tokens
//! that refills evenly. Slots are looked at first. A denial for want of a slot takes nothing of the budget, one for
//! want of budget takes no slot.
//!
//! Slots are named by numbers that never repeat, also after the state was forgotten: each is above the last one and at
//! least 1024 times the millisecond in which it was taken.

mod carried;

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Invalid, within};
use weir_core::limits::{
    GUARD_LEASE_MS_MAX, GUARD_LEASE_MS_MIN, GUARD_PER_MINUTE_MAX, GUARD_SLOTS_MAX, JSON_INTEGER_MAX,
};
use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};
use weir_wire::accounting::InFlight;
use weir_wire::limit_terms::GuardTerms;

use super::bucket::BucketState;
use super::meter::{AskedAt, Meter, saturated};
use super::tally::TallyMark;
use super::{Checked, QuotaPolicy};

/// The minute of the budget.
const MINUTE_MS: u64 = 60_000;

/// Names that one millisecond has before those of the next are used: 2^10.
const NAMES_PER_MS: u64 = 1_024;

/// The name of a slot that nobody holds: of a state that could not be read.
const NOBODY: u64 = 0;

/// The longest JSON of a state without its slots: nine numbers of 20 digits and their names.
const STATE_BYTES_MAX: u64 = 290;

/// The longest JSON of one slot: `[N,N],` with numbers of 20 digits.
const SLOT_BYTES_MAX: u64 = 44;

/// So many at a time, and so many a minute; either may be unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    concurrency: Option<u64>,
    budget: Option<Meter>,
    lease_ms: u64,
}

/// The slots that are held, and what is missing of the minute's budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardState {
    /// Each slot with the first millisecond at which it is free again, in the order in which they were taken.
    slots: Vec<(u64, EpochMs)>,
    /// The last name that was given.
    last: u64,
    /// What is missing of the budget; kept while there is none, in case there is one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<BucketState>,
    /// Nothing that happens to the key is earlier.
    latest_ms: u64,
}

/// Names what was taken. Of several slots it is the last one; those before it have the names before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReceipt {
    /// The slot.
    pub slot: u64,
    /// When it lapses unless it is renewed, on the clock of who keeps the state.
    pub expires_at: EpochMs,
    /// What it took of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<TallyMark>,
}

/// What came of renewing or releasing a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slotted {
    /// Until when the slot is held; `None` when it is free.
    pub expires_at: Option<EpochMs>,
    /// The state to keep; `None` when it is as before.
    pub next: Option<GuardState>,
}

impl TryFrom<&GuardTerms> for Guard {
    type Error = Invalid;

    fn try_from(terms: &GuardTerms) -> Result<Self, Invalid> {
        Self::new(terms.concurrency, terms.per_minute, terms.lease_ms)
    }
}

impl Guard {
    /// `concurrency` slots (1 to 4,096; `None` for any number), of which `per_minute` (1 to 12,000,000; `None` for
    /// any number) are taken in a minute, each held for `lease_ms` (100 ms to a day) unless it is renewed.
    ///
    /// # Errors
    /// A number out of its range, with its field.
    ///
    /// ```
    /// use weir_algorithms::guard::Guard;
    /// use weir_decision::Reason;
    /// use weir_core::units::EpochMs;
    /// let guard = Guard::new(Some(1), Some(60), 30_000).unwrap();
    /// let now = EpochMs(50_000);
    /// let taken = guard.check(None, 1, now).next.unwrap();
    /// let slot = guard.receipt(&taken).slot;
    /// let denied = guard.check(Some(&taken), 1, now).decision;
    /// assert_eq!((denied.reason, denied.retry.after_ms()), (Reason::Concurrency, Some(30_000)));
    /// let released = guard.release(&taken, slot, EpochMs(50_010)).next.unwrap();
    /// assert!(guard.check(Some(&released), 1, EpochMs(50_010)).decision.admitted());
    /// ```
    pub fn new(
        concurrency: Option<u64>,
        per_minute: Option<u64>,
        lease_ms: u64,
    ) -> Result<Self, Invalid> {
        if let Some(concurrency) = concurrency {
            within("/concurrency", concurrency, 1..=GUARD_SLOTS_MAX)?;
        }
        if let Some(per_minute) = per_minute {
            within("/per_minute", per_minute, 1..=GUARD_PER_MINUTE_MAX)?;
        }
        within(
            "/lease_ms",
            lease_ms,
            GUARD_LEASE_MS_MIN..=GUARD_LEASE_MS_MAX,
        )?;
        Ok(Self {
            concurrency,
            budget: per_minute.map(|units| {
                let meter = Meter::new(units, MINUTE_MS);
                meter.with_size(meter.ticks(units))
            }),
            lease_ms,
        })
    }

    /// Decides `cost` slots at `now`: one, unless a request names the guard several times. A cost of 0 looks: it tells
    /// what one slot would meet and changes nothing.
    ///
    /// The retry hint is the first millisecond at which enough slots have lapsed and the budget has them; a slot that
    /// is released before makes it pass earlier.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&GuardState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<GuardState> {
        let held = HeldSlots::of(self, state, now);
        let wanted = cost.max(1);
        let reason = if wanted > self.ceiling() {
            Reason::Never
        } else if self.free(&held) < wanted {
            Reason::Concurrency
        } else if self.affordable(&held) < wanted {
            Reason::LimitExceeded
        } else {
            Reason::Admitted
        };
        let retry = match reason {
            Reason::Admitted => Retry::Now,
            Reason::Never => Retry::Never,
            _ => {
                let at = self
                    .free_at(&held, wanted)
                    .max(self.affordable_at(&held, wanted));
                Retry::AfterMs(at.since(now).max(1))
            }
        };
        let next = (reason == Reason::Admitted && cost > 0).then(|| self.take(state, &held, cost));
        let after = next
            .as_ref()
            .map(|next| HeldSlots::of(self, Some(next), now));
        let decision = self.told(after.as_ref().unwrap_or(&held), reason, retry);
        Checked { decision, next }
    }

    /// What a decision tells of a state: the numbers of what has less left.
    fn told(&self, held: &HeldSlots, reason: Reason, retry: Retry) -> Decision {
        let slots = (
            self.free(held),
            self.concurrency.unwrap_or(JSON_INTEGER_MAX),
        );
        let per_minute = self.budget.map_or(JSON_INTEGER_MAX, |meter| meter.ceiling);
        let budget = (self.affordable(held), per_minute);
        let (_, limit) = match reason {
            Reason::Never => (0, self.ceiling()),
            Reason::Concurrency => slots,
            Reason::LimitExceeded => budget,
            _ => slots.min(budget),
        };
        Decision {
            reason,
            limit,
            remaining: slots.0.min(budget.0),
            reset_at: held.lapsed_at().max(self.full_at(held)),
            retry,
        }
    }

    fn free(&self, held: &HeldSlots) -> u64 {
        let slots = |concurrency: u64| concurrency.saturating_sub(held.slots.len() as u64);
        self.concurrency.map_or(JSON_INTEGER_MAX, slots)
    }

    fn affordable(&self, held: &HeldSlots) -> u64 {
        self.budget.map_or(JSON_INTEGER_MAX, |meter| {
            let room = meter.size.saturating_sub(held.level);
            saturated(room / u128::from(meter.ticks_per_unit))
        })
    }

    /// The first millisecond at which `wanted` slots are free.
    fn free_at(&self, held: &HeldSlots, wanted: u64) -> EpochMs {
        let wanted = wanted.saturating_add(held.slots.len() as u64);
        let concurrency = self.concurrency.unwrap_or(u64::MAX);
        let lapses = usize::try_from(wanted.saturating_sub(concurrency)).unwrap_or(usize::MAX);
        let mut ends: Vec<_> = held.slots.iter().map(|(_, ends_at)| *ends_at).collect();
        ends.sort_unstable();
        let last = lapses.checked_sub(1).and_then(|last| ends.get(last));
        last.copied().unwrap_or(held.asked.at)
    }

    /// The first millisecond at which the budget has `wanted` units.
    fn affordable_at(&self, held: &HeldSlots, wanted: u64) -> EpochMs {
        let wait_ms = self.budget.map_or(0, |meter| {
            let highest = meter.size.saturating_sub(meter.ticks(wanted));
            meter.drained_ms(held.level.saturating_sub(highest))
        });
        held.asked.at.plus(wait_ms)
    }

    fn full_at(&self, held: &HeldSlots) -> EpochMs {
        let wait_ms = self.budget.map_or(0, |meter| meter.drained_ms(held.level));
        held.asked.at.plus(wait_ms)
    }

    fn take(&self, state: Option<&GuardState>, held: &HeldSlots, slots: u64) -> GuardState {
        let at = held.asked.at;
        let before = state.and_then(|state| state.budget.as_ref());
        let budget = self.budget.map(|meter| {
            let levels = (held.level, held.level + meter.ticks(slots));
            BucketState::charged(before, &meter, levels, slots, at)
        });
        let last = state.map_or(0, |state| state.last);
        let first = last.saturating_add(1).max(first_name(at));
        let mut taken = held.slots.clone();
        taken.extend((0..slots).map(|n| (first.saturating_add(n), at.plus(self.lease_ms))));
        // Without a bound on slots as many are known as there may be with one.
        let unknown = taken.len().saturating_sub(GUARD_SLOTS_MAX as usize);
        taken.drain(..unknown);
        GuardState {
            slots: taken,
            last: first.saturating_add(slots.saturating_sub(1)),
            budget: budget.or(before.copied()),
            latest_ms: at.0,
        }
    }

    /// What names the slots that were taken last; `after` is the state right after that.
    #[must_use]
    pub fn receipt(&self, after: &GuardState) -> GuardReceipt {
        let slot = after.slots.last().filter(|(slot, _)| *slot == after.last);
        GuardReceipt {
            slot: after.last,
            expires_at: slot.map_or(EpochMs(after.latest_ms), |(_, ends_at)| *ends_at),
            budget: after
                .budget
                .filter(|_| self.budget.is_some())
                .map(|budget| budget.tally.mark()),
        }
    }

    /// Undoes what `receipt` names, as far as it still stands: `units` slots, the named one the last of them, and what
    /// they took of the budget. `None` when there is nothing to undo.
    #[must_use]
    pub fn refund(
        &self,
        state: &GuardState,
        receipt: &GuardReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<GuardState> {
        let names = receipt.slot.saturating_sub(units)..receipt.slot;
        // (slot - units, slot]
        let undone = |slot: u64| slot != NOBODY && slot > names.start && slot <= names.end;
        let budget = self.budget.zip(state.budget).zip(receipt.budget);
        let budget =
            budget.and_then(|((meter, budget), mark)| budget.refunded(&meter, &mark, units, now));
        let held = HeldSlots::of(self, Some(state), now);
        let slots: Vec<_> = held
            .slots
            .iter()
            .copied()
            .filter(|(slot, _)| !undone(*slot))
            .collect();
        let changed = budget.is_some() || slots.len() < held.slots.len();
        changed.then(|| GuardState {
            slots,
            budget: budget.or(state.budget),
            latest_ms: held.asked.at.0,
            ..*state
        })
    }

    /// Holds a slot for another lease from `now`, if it is still held; never for a shorter time than before.
    ///
    /// ```
    /// use weir_algorithms::guard::Guard;
    /// use weir_core::units::EpochMs;
    /// let guard = Guard::new(Some(1), None, 30_000).unwrap();
    /// let taken = guard.check(None, 1, EpochMs(50_000)).next.unwrap();
    /// let slot = guard.receipt(&taken).slot;
    /// let renewed = guard.renew(&taken, slot, EpochMs(79_999));
    /// assert_eq!(renewed.expires_at, Some(EpochMs(109_999)));
    /// let late = guard.renew(&taken, slot, EpochMs(80_000)); // it has lapsed: somebody else may hold one now
    /// assert_eq!((late.expires_at, late.next), (None, None));
    /// ```
    #[must_use]
    pub fn renew(&self, state: &GuardState, slot: u64, now: EpochMs) -> Slotted {
        let held = HeldSlots::of(self, Some(state), now);
        let ends_at = held.asked.at.plus(self.lease_ms);
        self.change(state, held, slot, |before| Some(before.max(ends_at)))
    }

    /// Frees a slot. The budget stays used; one that is free already stays free.
    #[must_use]
    pub fn release(&self, state: &GuardState, slot: u64, now: EpochMs) -> Slotted {
        let held = HeldSlots::of(self, Some(state), now);
        self.change(state, held, slot, |_| None)
    }

    fn change(
        &self,
        state: &GuardState,
        held: HeldSlots,
        slot: u64,
        end: impl Fn(EpochMs) -> Option<EpochMs>,
    ) -> Slotted {
        let mut slots = held.slots;
        let index = slots
            .iter()
            .position(|(name, _)| *name == slot && slot != NOBODY);
        let Some(index) = index else {
            return Slotted {
                expires_at: None,
                next: None,
            };
        };
        let expires_at = end(slots[index].1);
        match expires_at {
            Some(ends_at) => slots[index].1 = ends_at,
            None => {
                slots.remove(index);
            }
        }
        Slotted {
            expires_at,
            next: Some(GuardState {
                slots,
                latest_ms: held.asked.at.0,
                ..*state
            }),
        }
    }

    /// Slots that are held at `now`: all of them, or with unlimited slots the newest 4,096.
    #[must_use]
    pub fn in_flight(&self, state: Option<&GuardState>, now: EpochMs) -> InFlight {
        let held = HeldSlots::of(self, state, now);
        InFlight {
            slots: held.slots.len() as u64,
            at: now,
            until: held.lapsed_at(),
        }
    }

    /// The state of a guard of which every slot is held for a lease from `now`, and the budget is used: what a state
    /// that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> GuardState {
        let slots = self.concurrency.unwrap_or(0) as usize;
        GuardState {
            slots: vec![(NOBODY, now.plus(self.lease_ms)); slots],
            last: first_name(now).saturating_add(NAMES_PER_MS - 1),
            budget: self.budget.map(|meter| BucketState::exhausted(&meter, now)),
            latest_ms: now.0,
        }
    }

    /// The first millisecond at which every slot has lapsed, the budget is whole, and names are new by themselves.
    #[must_use]
    pub fn expires_at(&self, state: &GuardState) -> EpochMs {
        let held = HeldSlots::of(self, Some(state), EpochMs(state.latest_ms));
        let named = EpochMs((state.last / NAMES_PER_MS).saturating_add(1));
        held.lapsed_at().max(self.full_at(&held)).max(named)
    }

    /// A slot cannot be taken ahead: it is held by what is running.
    #[must_use]
    pub fn spendable_until(&self, _after: &GuardState, now: EpochMs) -> EpochMs {
        now
    }

    /// The most slots that a guard that was never used gives at once.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        let per_minute = self.budget.map_or(JSON_INTEGER_MAX, |meter| meter.ceiling);
        self.concurrency.unwrap_or(GUARD_SLOTS_MAX).min(per_minute)
    }

    /// The budget in its minute; without one the slots, for a lease.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        match (self.budget, self.concurrency) {
            (Some(meter), _) => QuotaPolicy {
                quota: meter.ceiling,
                window_ms: MINUTE_MS,
            },
            (None, concurrency) => QuotaPolicy {
                quota: concurrency.unwrap_or(JSON_INTEGER_MAX),
                window_ms: self.lease_ms,
            },
        }
    }

    /// Bytes of one stored state, as JSON, at most: with every slot that may be known.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        STATE_BYTES_MAX + GUARD_SLOTS_MAX * SLOT_BYTES_MAX
    }

    /// The same for a scale of 1: a slot has no parts.
    pub(super) fn scaled(&self, scale: u64) -> Option<Self> {
        (scale == 1).then_some(*self)
    }
}

/// What is held when a guard is asked.
struct HeldSlots {
    asked: AskedAt,
    slots: Vec<(u64, EpochMs)>,
    /// Ticks of the budget that are missing.
    level: u128,
}

impl HeldSlots {
    fn of(guard: &Guard, state: Option<&GuardState>, now: EpochMs) -> Self {
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        let slots = state.map_or(&[][..], |state| &state.slots[..]);
        let open = |(_, ends_at): &(u64, EpochMs)| asked.at < *ends_at;
        let budget = state.and_then(|state| state.budget.as_ref());
        Self {
            asked,
            slots: slots.iter().copied().filter(open).collect(),
            level: match (&guard.budget, budget) {
                (Some(meter), Some(budget)) => budget.level(meter, asked.at),
                _ => 0,
            },
        }
    }

    /// When the last slot lapses.
    fn lapsed_at(&self) -> EpochMs {
        let ends = self.slots.iter().map(|(_, ends_at)| *ends_at);
        ends.max().unwrap_or(self.asked.at)
    }
}

/// The first name of a slot that is taken at `at`.
fn first_name(at: EpochMs) -> u64 {
    at.0.saturating_mul(NAMES_PER_MS)
}
