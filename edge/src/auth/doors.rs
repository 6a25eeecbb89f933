//! Which hosts lead where, as the deployment's variables say.

use weir_shared::policy::doors::{ALLOW_SHARED_HOST, Doors, OPERATOR_HOST};
use worker::Env;

/// What the deployment says of its hosts.
#[must_use]
pub fn doors(env: &Env) -> Doors {
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let shared = variable(ALLOW_SHARED_HOST).as_deref() == Some("1");
    Doors::new(variable(OPERATOR_HOST).as_deref(), shared)
}
