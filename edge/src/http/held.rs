//! The answer to a question that the isolate decides by what it holds, for the module entry.

use weir_shared::check::decision_text::DecisionText;
use weir_shared::check::template::Parts;
use weir_shared::units::EpochMs;

use super::ratelimit::{QuotaPolicy, retry_after_s, tell_left, tell_policy};

/// A decision on one budget.
pub struct HeldText<'a> {
    /// The body.
    pub body: DecisionText<'a>,
    /// What the budget promises.
    pub quota_policy: QuotaPolicy,
}

impl HeldText<'_> {
    /// Tells the body and the values of `ratelimit-policy`, `ratelimit` and, on a denial, `weir-decision` and, where a retry
    /// can mend it, `retry-after`, a line each.
    pub fn tell(&self, now: EpochMs, parts: &mut impl Parts) {
        let (decision, name) = (&self.body.decision, self.body.binding);
        self.body.tell(parts);
        parts.text("\n");
        tell_policy(name, self.quota_policy, parts);
        parts.text("\n");
        tell_left(name, decision.remaining, (decision.reset_at, now), parts);
        if decision.admitted() {
            return;
        }
        parts.text("\n");
        self.body.tell_id(parts);
        if let Some(after_ms) = decision.retry.after_ms() {
            parts.text("\n");
            parts.number(retry_after_s(after_ms));
        }
    }
}
