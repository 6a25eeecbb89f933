//! The documents that describe Weir to programs. They are made of the code when that changes, and the module entry has them as
//! text: what only they need is not in wasm.

use js_sys::JsString;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::Response;

use crate::http::failure::Failure;
use crate::http::reply::Reply;

#[wasm_bindgen]
extern "C" {
    /// A document of the module entry by its name; nothing where there is none.
    #[wasm_bindgen(js_namespace = globalThis, js_name = weirDocument)]
    fn document(name: &str) -> Option<JsString>;
}

/// The interface as an OpenAPI document.
pub const OPENAPI: &str = "openapi";

/// The form of a policy as a JSON Schema.
pub const POLICY_SCHEMA: &str = "policy.schema";

/// The document of a name.
///
/// # Errors
/// When the module entry has none of that name.
pub fn read(name: &str) -> Result<Response, Failure> {
    let text = document(name).ok_or_else(|| Failure::Internal(format!("no document {name}")))?;
    Ok(Reply::text(200, text.into()).respond()?)
}
