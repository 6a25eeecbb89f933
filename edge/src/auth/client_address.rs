//! Whose word on a client's address counts, as the deployment's variable says.

use weir_shared::gateway::client_address::{CLIENT_ADDRESS, ClientAddress};
use worker::{Env, console_error};

/// What the deployment says. Where it cannot be read nobody's word counts: an address that anyone can write is none.
#[must_use]
pub fn client_address(env: &Env) -> ClientAddress {
    let Ok(said) = env.var(CLIENT_ADDRESS) else {
        return ClientAddress::default();
    };
    let said = said.to_string();
    ClientAddress::named(&said).unwrap_or_else(|| {
        console_error!(
            "{CLIENT_ADDRESS} is `{said}`; it may be `cloudflare`, `forwarded` or `none`"
        );
        ClientAddress::None
    })
}
