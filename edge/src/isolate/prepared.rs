//! Questions that come again in the same words, from the same bearer, at the same place: what reading them came to is kept
//! in a slot, and the next one like it is asked by the number of the slot and answered in numbers. The module entry puts
//! these into a template, so that no text crosses between JavaScript and wasm.
//!
//! A slot holds for one revision of the policy and one of the tokens. Of any other it decides nothing, as for whatever is
//! not decided at once; the question then takes the way that it took first.

pub mod slots;

use std::cell::Cell;
use std::rc::Rc;

use weir_shared::check::template::{Parts, Template};
use weir_shared::decision::{Decision, Retry};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::check::Reason;

use super::bearer::Bearer;
use super::budget_plans::BudgetQuestion;
use super::memory::{Isolate, memory, now};
use crate::http::ratelimit::QuotaPolicy;
use slots::{Number, Slot};

/// The most numbers of an answer: seven of its body, two of each of two headers, one of `weir-decision` and of `retry-after`.
const NUMBERS_MAX: usize = 13;

thread_local! {
    /// The numbers of the last answer.
    static NUMBERS: Cell<[f64; NUMBERS_MAX]> = const { Cell::new([0.0; NUMBERS_MAX]) };
}

/// What [`spend`] gives back.
const DECIDED: u32 = 1;
const FLUSHES: u32 = 2;
const UNDECIDED: u32 = 2;
const SHAPE_BITS: u32 = 2;

/// What kind of answer it is: a text of its own for each, apart from numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    reason: Reason,
    /// Whether a retry can mend it, after a time.
    has_retry: bool,
}

impl Shape {
    fn of(decision: &Decision) -> Self {
        Self {
            reason: decision.reason,
            has_retry: decision.retry.after_ms().is_some(),
        }
    }

    fn number(self) -> u32 {
        let reason = Reason::ALL.iter().position(|one| *one == self.reason);
        (reason.unwrap_or_default() as u32) << 1 | u32::from(self.has_retry)
    }

    fn named(number: u32) -> Option<Self> {
        Some(Self {
            reason: *Reason::ALL.get(number as usize >> 1)?,
            has_retry: number & 1 == 1,
        })
    }
}

/// Numbers as they are told.
struct NumberParts {
    numbers: [f64; NUMBERS_MAX],
    told: usize,
}

impl Parts for NumberParts {
    fn text(&mut self, _: &str) {}

    fn number(&mut self, number: u64) {
        if let Some(place) = self.numbers.get_mut(self.told) {
            // Limits keep every number of an answer within what JSON has integers for, 2^53 - 1.
            *place = number as f64;
        }
        self.told += 1;
    }
}

impl Isolate {
    /// Keeps a question of the view of a region for the next one like it; the number of its slot.
    fn prepare(
        &mut self,
        bearer: &Rc<Bearer>,
        region: &str,
        ask: &BudgetQuestion<'_>,
    ) -> Option<Number> {
        let view = self.regions.get(region)?;
        let slot = Slot {
            bearer: Rc::clone(bearer),
            region: region.to_owned(),
            tenant: ask.tenant.to_owned(),
            budget: ask.budget.to_owned(),
            cost: ask.cost,
            revision: view.loaded.as_ref()?.revision,
            access: view.tokens.revision(),
        };
        Some(self.prepared.keep(slot))
    }

    fn spend(&mut self, number: Number, now: EpochMs) -> Option<u32> {
        let slot = self.prepared.find(number)?;
        let view = self.regions.get_mut(&slot.region)?;
        let holds = view.is_fresh(now)
            && view.loaded.as_ref()?.revision == slot.revision
            && view.tokens.revision() == slot.access
            && !slot.bearer.principal.has_expired(now);
        holds.then_some(())?;
        if slot.bearer.id == BOOTSTRAP && self.guesses.is_tried() {
            return Some(UNDECIDED);
        }
        let ask = slot.ask();
        let decided = view
            .prepare(&[ask], &slot.region, now)
            .and_then(|()| view.decide_one(&ask, (&slot.region, now)));
        let Some(answer) = decided else {
            return Some(UNDECIDED);
        };
        view.tokens.uses.mark(&slot.bearer.id, now);
        let mut told = NumberParts {
            numbers: [0.0; NUMBERS_MAX],
            told: 0,
        };
        let text = slot.text(answer.decision, (now, answer.window), answer.quota_policy);
        text.tell(now, &mut told);
        NUMBERS.set(told.numbers);
        let flushes = if view.has_to_flush(now) { FLUSHES } else { 0 };
        Some(DECIDED | flushes | Shape::of(&answer.decision).number() << SHAPE_BITS)
    }
}

/// Keeps a question that was answered for the next one like it: the number of its slot.
pub fn prepare(bearer: &Rc<Bearer>, region: &str, ask: &BudgetQuestion<'_>) -> Option<u32> {
    memory(|isolate| isolate.prepare(bearer, region, ask)).ok()?
}

/// Decides the question of a slot, and keeps the numbers of the answer for [`number`]. What it gives back has the bit 1 where
/// it was decided, the bit 2 where there is something to flush, and from the third bit on the [`template`] that the numbers are
/// for. It is 2 where the question has to take the way that it took first, and 0 where it will have to for good; then nothing
/// was changed.
pub fn spend(slot: u32) -> u32 {
    let now = now();
    memory(|isolate| isolate.spend(slot, now))
        .ok()
        .flatten()
        .unwrap_or(0)
}

/// A number of the last answer, in the order in which they stand in its template.
pub fn number(index: usize) -> f64 {
    let numbers = NUMBERS.get();
    numbers.get(index).copied().unwrap_or(0.0)
}

/// The text of answers of a slot that have this shape: the lines of [`HeldText`].
pub fn template(slot: u32, shape: u32) -> Option<String> {
    let shape = Shape::named(shape)?;
    let decision = Decision {
        reason: shape.reason,
        limit: 0,
        remaining: 0,
        reset_at: EpochMs(0),
        retry: match shape.has_retry {
            true => Retry::AfterMs(0),
            false => Retry::Never,
        },
    };
    let quota_policy = QuotaPolicy {
        quota: 0,
        window_ms: 0,
    };
    let mut template = Template::default();
    memory(|isolate| {
        let slot = isolate.prepared.find(slot)?;
        let text = slot.text(decision, (EpochMs(0), WindowLabel(0)), quota_policy);
        text.tell(EpochMs(0), &mut template);
        Some(())
    })
    .ok()??;
    Some(template.0)
}
