//! The first admin token: the secret `WEIR_BOOTSTRAP_TOKEN` of the deployment.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use weir_shared::access::grant::Principal;
use weir_shared::access::role::Role;
use weir_shared::limits::BOOTSTRAP_TOKEN_BYTES_MIN;
use weir_shared::wire::access::BOOTSTRAP;
use worker::{Env, console_error};

/// The variable that holds it.
const VARIABLE: &str = "WEIR_BOOTSTRAP_TOKEN";

/// The variable that lets the bootstrap token in again beside other admins' tokens, when it is `1`: for a deployment whose
/// admins have lost theirs.
const REARM: &str = "WEIR_BOOTSTRAP_REARM";

/// Whether the deployment says that the bootstrap token is accepted whatever tokens there are.
#[must_use]
pub fn rearmed(env: &Env) -> bool {
    env.var(REARM).is_ok_and(|value| value.to_string() == "1")
}

/// Who comes with the bootstrap token.
#[must_use]
pub fn principal() -> Principal {
    Principal {
        actor: BOOTSTRAP.to_owned(),
        role: Role::Admin,
        tenant: None,
        prefix: None,
    }
}

/// The bootstrap token. It is never printed.
pub struct BootstrapToken(String);

impl BootstrapToken {
    /// The deployment's token; `None` when there is none or it is too short to be a secret.
    #[must_use]
    pub fn from_env(env: &Env) -> Option<Self> {
        let token = env.var(VARIABLE).ok()?.to_string();
        if token.len() < BOOTSTRAP_TOKEN_BYTES_MIN {
            console_error!(
                "{VARIABLE} has {} bytes, at least {BOOTSTRAP_TOKEN_BYTES_MIN} are needed: it is refused",
                token.len()
            );
            return None;
        }
        Some(Self(token))
    }

    /// Whether `given` is the token, in a time that does not depend on where they differ.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        Sha256::digest(&self.0).ct_eq(&Sha256::digest(given)).into()
    }
}
