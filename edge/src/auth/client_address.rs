//! Whose word on a client's address counts, as the deployment's variable says.

use weir_shared::gateway::address::CONNECTING;
use weir_shared::gateway::client_address::{CLIENT_ADDRESS, ClientAddress};
use worker::{Env, Request, console_error};

/// The address that a request comes from, where that is known.
#[must_use]
pub fn address_of(request: &Request, env: &Env) -> Option<String> {
    let headers = request.headers();
    client_address(env).value(CONNECTING, |name| headers.get(name).ok().flatten())
}

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
