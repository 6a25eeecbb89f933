//! Whether the client of a request has gone away, which the platform tells by the request's own signal.

use std::pin::pin;

use futures_util::future::{Either, select};
use web_sys::AbortSignal;
use weir_shared::algorithms::sleep::sleep_chunks;
use worker::Request;
use worker::js_sys::Promise;
use worker::wasm_bindgen_futures::JsFuture;

use crate::objects::deadline::sleep;

/// The client of a request.
pub struct Client {
    signal: AbortSignal,
}

impl Client {
    /// Of this request.
    pub fn of(request: &Request) -> Self {
        Self {
            signal: request.inner().signal(),
        }
    }

    /// Whether it has gone.
    pub fn has_gone(&self) -> bool {
        self.signal.aborted()
    }

    /// Waits for `ms` milliseconds, in pieces that a timer takes, or until the client has gone. Whether it is still there.
    pub async fn stays_for(&self, ms: u64) -> bool {
        let mut gone = pin!(self.goes());
        for piece_ms in sleep_chunks(ms) {
            if let Either::Left(_) = select(gone.as_mut(), pin!(sleep(piece_ms))).await {
                return false;
            }
        }
        !self.has_gone()
    }

    /// Waits until it has gone. Without the platform's word, for ever.
    async fn goes(&self) {
        if self.has_gone() {
            return;
        }
        let told = Promise::new(&mut |resolve, _| self.signal.set_onabort(Some(&resolve)));
        // It is never refused.
        let _gone = JsFuture::from(told).await;
    }
}
