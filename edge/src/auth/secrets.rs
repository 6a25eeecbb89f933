//! What this deployment signs for itself: sessions and reservations.

use std::rc::Rc;

use subtle::ConstantTimeEq;
use weir_shared::access::table::AccessTable;
use worker::Env;

use super::bootstrap::BootstrapToken;
use crate::isolate::any_access;

/// The secrets of a deployment: the bootstrap token while there is one, else the key of its tokens.
pub struct Secrets {
    bootstrap: Option<BootstrapToken>,
    table: Option<Rc<AccessTable>>,
}

impl Secrets {
    /// Of this deployment, as far as the isolate knows it.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        Self {
            bootstrap: BootstrapToken::from_env(env),
            table: any_access(),
        }
    }

    /// A MAC of `message`; `purpose` keeps one use apart from another. `None` where there is no secret yet.
    #[must_use]
    pub fn mac(&self, purpose: &str, message: &str) -> Option<[u8; 32]> {
        self.macs(purpose, message).next()
    }

    /// Whether a MAC is this deployment's, in a time that does not depend on where it differs.
    #[must_use]
    pub fn is(&self, purpose: &str, message: &str, given: &[u8]) -> bool {
        self.macs(purpose, message)
            .any(|due| due.as_slice().ct_eq(given).into())
    }

    fn macs(&self, purpose: &str, message: &str) -> impl Iterator<Item = [u8; 32]> {
        let bootstrap = self.bootstrap.as_ref();
        let table = self.table.as_ref();
        let first = bootstrap.and_then(|token| token.mac(purpose, message));
        let second = table.and_then(|table| table.mac(purpose, message));
        first.into_iter().chain(second)
    }
}
