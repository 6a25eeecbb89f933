//! The Worker's entry points, nothing else. Each authenticates inside itself (`routes::serve`): what is exported
//! here can also be called by other Workers over a service binding.

mod auth;
#[allow(
    missing_docs,
    reason = "what `wasm_bindgen` makes of an exported function carries no documentation"
)]
mod direct;
mod http;
mod isolate;
#[allow(
    missing_docs,
    reason = "the methods that `durable_object` exports carry no documentation"
)]
mod objects;
mod routes;
#[allow(
    missing_docs,
    reason = "what `wasm_bindgen` makes of an exported function carries no documentation"
)]
mod rpc;

use worker::{Context, Env, Request, Response, event};

pub use objects::coordinator::Coordinator;
pub use objects::ledger::Ledger;
pub use objects::region::Region;
pub use objects::registry::Registry;

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    routes::serve(request, env, context).await
}
