//! Answers that are not errors.

use serde::Serialize;
use worker::{Response, ResponseBuilder};

use super::failure::Failure;

/// A JSON answer that no cache keeps.
///
/// # Errors
/// When the platform refuses to build it.
pub fn json(status: u16, body: &impl Serialize) -> Result<Response, Failure> {
    with_body(builder(status)?, body)
}

/// A JSON answer whose head was made by [`builder`].
///
/// # Errors
/// When the body cannot be written.
pub fn with_body(head: ResponseBuilder, body: &impl Serialize) -> Result<Response, Failure> {
    Ok(head.fixed(serde_json::to_string(body)?.into_bytes()))
}

/// The head of a JSON answer, for more headers.
///
/// # Errors
/// When the platform refuses a header.
pub fn builder(status: u16) -> Result<ResponseBuilder, Failure> {
    Ok(ResponseBuilder::new()
        .with_status(status)
        .with_header("content-type", "application/json")?
        .with_header("cache-control", "no-store")?)
}
