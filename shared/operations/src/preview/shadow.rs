//! What passes as its rule is in shadow mode.

use weir_policy::Policy;
use weir_wire::rule_kind::RuleKind;

/// Which of the present policy and the candidate lets all of a rule pass: the one that has it in shadow mode while the other one
/// enforces it. Where neither enforces it both count as if they did, so that a shadow's numbers can be compared.
pub(super) fn passes(policies: [&Policy; 2], kind: RuleKind, name: &str) -> [bool; 2] {
    let [present, candidate] = policies.map(|policy| is_shadow(policy, kind, name));
    [present && !candidate, candidate && !present]
}

/// Whether a policy has a rule that it does not enforce: it counts what it decides by it, and denies nobody.
#[must_use]
pub fn is_shadow(policy: &Policy, kind: RuleKind, name: &str) -> bool {
    let own = match kind {
        RuleKind::Budget => policy.budgets.get(name).map(|one| one.shadow),
        RuleKind::Limit => policy.limits.get(name).map(|one| one.shadow),
        RuleKind::Meter => policy.meters.get(name).map(|one| one.shadow),
        RuleKind::Guard => policy.guards.get(name).map(|one| one.shadow),
        RuleKind::Overload => policy.overload.get(name).map(|one| one.shadow),
    };
    own.is_some_and(|shadow| shadow || !policy.enforcing)
}
