//! Waiting with an end.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use worker::Delay;

/// The future's output, or `None` after `ms` milliseconds.
pub async fn within<F: Future>(ms: u64, future: F) -> Option<F::Output> {
    match select(pin!(future), pin!(sleep(ms))).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// Waits for `ms` milliseconds.
pub async fn sleep(ms: u64) {
    Delay::from(Duration::from_millis(ms)).await;
}
