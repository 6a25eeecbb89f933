//! The slots of questions that come again.

use std::rc::Rc;

use weir_shared::check::decision_text::DecisionText;
use weir_shared::decision::Decision;
use weir_shared::limits::PREPARED_MAX;
use weir_shared::units::{EpochMs, Revision, WindowLabel};

use crate::http::held::HeldText;
use crate::http::ratelimit::QuotaPolicy;
use crate::isolate::bearer::Bearer;
use crate::isolate::budget_plans::BudgetQuestion;

/// What was prepared, by the numbers of slots.
#[derive(Default)]
pub struct Prepared {
    /// How often all were dropped.
    generation: u32,
    slots: Vec<Slot>,
}

/// A question of a bearer, at one place, by one policy.
pub struct Slot {
    pub(super) bearer: Rc<Bearer>,
    pub(super) region: String,
    pub(super) tenant: String,
    pub(super) budget: String,
    pub(super) cost: u64,
    /// Of the policy.
    pub(super) revision: Revision,
    /// Of the tokens.
    pub(super) access: Revision,
}

/// The number of a slot: it is given once, also after all were dropped.
pub type Number = u32;

impl Prepared {
    /// Keeps a question; its number.
    pub(super) fn keep(&mut self, slot: Slot) -> Number {
        if self.slots.len() >= PREPARED_MAX {
            self.slots.clear();
            self.generation = self.generation.wrapping_add(1);
        }
        self.slots.push(slot);
        self.first().wrapping_add(self.slots.len() as Number - 1)
    }

    /// The question of that number.
    pub(super) fn find(&self, number: Number) -> Option<&Slot> {
        let index = number.checked_sub(self.first())?;
        self.slots.get(index as usize)
    }

    fn first(&self) -> Number {
        self.generation.wrapping_mul(PREPARED_MAX as Number)
    }
}

impl Slot {
    /// What is asked.
    pub(super) fn ask(&self) -> BudgetQuestion<'_> {
        BudgetQuestion {
            tenant: &self.tenant,
            budget: &self.budget,
            cost: self.cost,
        }
    }

    /// The text of an answer.
    pub(super) fn text(
        &self,
        decision: Decision,
        (at, window): (EpochMs, WindowLabel),
        quota_policy: QuotaPolicy,
    ) -> HeldText<'_> {
        let body = DecisionText {
            decision,
            at,
            tenant: &self.tenant,
            binding: &self.budget,
            region: &self.region,
            window,
            revision: self.revision,
        };
        HeldText { body, quota_policy }
    }
}
