//! Secrets of the deployment that a policy names. Their values leave the isolate for the origins that get them alone.

use weir_shared::invalid::Invalid;
use weir_shared::policy::Policy;
use weir_shared::policy::route::permit_secrets;
use worker::Env;

/// The value of a secret; `None` where the deployment does not have it, or it is empty.
#[must_use]
pub fn secret_of(env: &Env, name: &str) -> Option<String> {
    let value = env.var(name).ok()?.to_string();
    (!value.is_empty()).then_some(value)
}

/// Refuses a policy that names a secret which the deployment does not have.
///
/// # Errors
/// At the first of them.
pub fn permit(env: &Env, policy: &Policy) -> Result<(), Invalid> {
    permit_secrets(policy, |name| secret_of(env, name).is_some())
}
