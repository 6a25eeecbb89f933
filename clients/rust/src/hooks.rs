//! What an application hears of each request: for traces, logs and metrics.

use std::time::Duration;

use hyper::HeaderMap;

use crate::error::WeirError;

/// A request that is about to leave.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestEvent {
    /// Where to, such as `/v1/check`.
    pub path: String,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// What it is sent with, the token left out. What is added here is sent, too, such as `traceparent`.
    pub headers: HeaderMap,
    /// The body: JSON.
    pub body: String,
}

/// What came of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResponseEvent<'a> {
    /// The request.
    pub request: &'a RequestEvent,
    /// The HTTP status; 0 when there was no answer.
    pub status: u16,
    /// How long it took.
    pub duration: Duration,
    /// What went wrong, if anything. A denial is no error.
    pub error: Option<&'a WeirError>,
}

/// The hooks. They are called in place: slow ones slow the request.
pub trait Hooks: Send + Sync {
    /// Before each request.
    fn request(&self, _event: &mut RequestEvent) {}

    /// After it.
    fn response(&self, _event: &ResponseEvent<'_>) {}
}

/// Nobody listens.
pub(crate) struct Silent;

impl Hooks for Silent {}
