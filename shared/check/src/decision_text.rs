//! A decision as JSON, written without a form in between.

use weir_core::units::{EpochMs, Revision, WindowLabel};
use weir_decision::Decision;
use weir_decision::id::{Denial, TenantMark};
use weir_wire::rule_kind::RuleKind;

use crate::template::Parts;

/// A decision on a budget, byte for byte as `serde_json` writes it of a
/// [`DecisionBody`](weir_wire::check::DecisionBody) without reservation and slot. Names are labels, which need no escape.
///
/// ```
/// use weir_check::decision_text::DecisionText;
/// use weir_decision::{Decision, Retry};
/// use weir_core::units::{EpochMs, Revision, WindowLabel};
/// use weir_wire::check::Reason;
/// let decision = Decision {
///     reason: Reason::OverShare, limit: 10, remaining: 0, reset_at: EpochMs(2_000), retry: Retry::AfterMs(150),
/// };
/// let mut text = String::new();
/// DecisionText {
///     decision, at: EpochMs(1_850), tenant: "acme", binding: "tokens", region: "weur", window: WindowLabel(3),
///     revision: Revision(7),
/// }.write(&mut text);
/// assert_eq!(text, concat!(
///     r#"{"allowed":false,"limit":10,"remaining":0,"reset_at":2000,"retry_after_ms":150,"binding":"tokens","#,
///     r#""reason":"over_share","region":"weur","window":3,"policy_revision":7,"#,
///     r#""decision":"1850.5a0a02d29c9c2c19.weur.over_share.budget.tokens"}"#,
/// ));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DecisionText<'a> {
    /// The decision.
    pub decision: Decision,
    /// When it was made.
    pub at: EpochMs,
    /// Whose it is.
    pub tenant: &'a str,
    /// The budget.
    pub binding: &'a str,
    /// The region that decided.
    pub region: &'a str,
    /// The window that was charged.
    pub window: WindowLabel,
    /// The policy that was applied.
    pub revision: Revision,
}

/// Room for one decision: its names have at most 64 bytes, most have ten.
const BYTES_EXPECTED: usize = 384;

impl DecisionText<'_> {
    /// Adds it to a text.
    pub fn write(&self, text: &mut String) {
        text.reserve(BYTES_EXPECTED);
        self.tell(text);
    }

    /// Tells it in parts. Between decisions on one budget for one tenant in one region with one reason, only numbers differ, except that
    /// the number of [`Retry::AfterMs`](weir_decision::Retry::AfterMs) is there or not.
    pub fn tell(&self, parts: &mut impl Parts) {
        let decision = &self.decision;
        parts.text(match decision.admitted() {
            true => "{\"allowed\":true,\"limit\":",
            false => "{\"allowed\":false,\"limit\":",
        });
        parts.number(decision.limit);
        parts.text(",\"remaining\":");
        parts.number(decision.remaining);
        parts.text(",\"reset_at\":");
        parts.number(decision.reset_at.0);
        parts.text(",\"retry_after_ms\":");
        match decision.retry.after_ms() {
            Some(after_ms) => parts.number(after_ms),
            None => parts.text("null"),
        }
        for (before, name) in [
            (",\"binding\":\"", self.binding),
            ("\",\"reason\":\"", decision.reason.name()),
            ("\",\"region\":\"", self.region),
        ] {
            parts.text(before);
            parts.text(name);
        }
        parts.text("\",\"window\":");
        parts.number(self.window.0);
        parts.text(",\"policy_revision\":");
        parts.number(self.revision.0);
        if !decision.admitted() {
            parts.text(",\"decision\":\"");
            self.tell_id(parts);
            parts.text("\"");
        }
        parts.text("}");
    }

    /// Tells the id of a denial. Between denials of one tenant, only the number differs.
    pub fn tell_id(&self, parts: &mut impl Parts) {
        let denial = Denial {
            at: self.at,
            tenant: self.tenant,
            region: self.region,
            reason: self.decision.reason,
            kind: RuleKind::Budget,
            rule: self.binding,
        };
        parts.number(denial.at.0);
        for piece in denial.pieces(&TenantMark::of(self.tenant)) {
            parts.text(piece);
        }
    }
}
