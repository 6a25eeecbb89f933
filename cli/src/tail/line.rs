//! A decision in one line, for people and for programs.

use serde_json::{Value, json};
use weir_shared::visible::visible;
use weir_shared::wire::operator::live::DecisionSample;

use crate::figures::{UNKNOWN, instant};

/// `2026-01-01T00:00:00Z weur denied over_share tokens acme`: what has a name stands last, as names vary in length, and after
/// it the decision id of a denial.
///
/// ```
/// use weir_cli::tail::line::text;
/// use weir_shared::wire::{check::Reason, operator::live::DecisionSample};
/// use weir_shared::units::EpochMs;
/// let sample = DecisionSample {
///     at: EpochMs(1_500), tenant: Some("acme".into()), allowed: false, binding: "tokens".into(),
///     reason: Reason::OverShare, would_deny: false,
///     decision: Some("1500.x".into()),
/// };
/// assert_eq!(text("weur", &sample), "1970-01-01T00:00:01.5Z  weur  denied    over_share      tokens  acme  1500.x\n");
/// ```
#[must_use]
pub fn text(region: &str, sample: &DecisionSample) -> String {
    let tenant = sample.tenant.as_deref().unwrap_or(UNKNOWN);
    let decision = sample.decision.as_deref();
    let decision = decision.map_or_else(String::new, |id| format!("  {}", visible(id)));
    format!(
        "{}  {}  {:<8}  {:<14}  {}  {}{decision}\n",
        instant(sample.at),
        visible(region),
        outcome(sample),
        sample.reason.name(),
        visible(&sample.binding),
        visible(tenant)
    )
}

/// The same for a program.
#[must_use]
pub fn value(region: &str, sample: &DecisionSample) -> Value {
    json!({
        "at": sample.at,
        "region": region,
        "tenant": sample.tenant,
        "allowed": sample.allowed,
        "binding": sample.binding,
        "reason": sample.reason.name(),
        "would_deny": sample.would_deny,
        "decision": sample.decision,
    })
}

fn outcome(sample: &DecisionSample) -> &'static str {
    match (sample.allowed, sample.would_deny) {
        (_, true) => "shadowed",
        (true, false) => "admitted",
        (false, false) => "denied",
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;
    use weir_shared::wire::check::Reason;

    use super::*;

    #[test]
    fn no_name_writes_to_the_terminal() {
        let sample = DecisionSample {
            at: EpochMs(0),
            tenant: Some("a\u{1b}]0;x\u{7}".to_owned()),
            allowed: true,
            binding: "tokens".to_owned(),
            reason: Reason::Admitted,
            would_deny: true,
            decision: None,
        };
        let line = text("weur", &sample);
        assert!(
            line.ends_with("shadowed  admitted        tokens  a⟨U+001B⟩]0;x⟨U+0007⟩\n"),
            "{line}"
        );
        assert_eq!(value("weur", &sample)["tenant"], "a\u{1b}]0;x\u{7}");
    }
}
