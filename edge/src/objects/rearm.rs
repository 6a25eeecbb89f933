//! Whether the deployment lets its bootstrap token in again.

use worker::Env;

/// The variable that lets the bootstrap token in again beside other admins' tokens, when it is `1`: for a deployment whose
/// admins have lost theirs.
const REARM: &str = "WEIR_BOOTSTRAP_REARM";

/// Whether the deployment says that the bootstrap token is accepted whatever tokens there are.
#[must_use]
pub fn rearmed(env: &Env) -> bool {
    env.var(REARM).is_ok_and(|value| value.to_string() == "1")
}
