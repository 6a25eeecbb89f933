//! The head of a request's body, read before the request is decided where what it may use stands there. It goes to the
//! origin before the rest.

use std::future::ready;

use futures_util::stream::once;
use futures_util::{Stream, StreamExt};
use wasm_bindgen::{JsCast, JsValue};
use wasm_streams::readable::IntoStream;
use web_sys::ReadableStream;
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::usage::request::ModelRequest;
use weir_shared::limits::{REQUEST_HEAD_BYTES_MAX, REQUEST_HEAD_MS_MAX};
use worker::js_sys::Uint8Array;

use super::Refused;
use crate::http::failure::Failure;
use crate::objects::deadline::within;

/// The first bytes of a body.
pub struct Head {
    bytes: Vec<u8>,
    /// What follows; nothing where that is all.
    rest: Option<IntoStream<'static>>,
    /// What they say.
    pub said: ModelRequest,
}

/// A body, and its length where it is known.
pub type Body = (ReadableStream, Option<u64>);

impl Head {
    /// Reads the head of a body.
    ///
    /// # Errors
    /// 408 when it does not come, and when the client breaks off.
    pub async fn read((body, length): Body) -> Result<Self, Refused> {
        let mut stream =
            wasm_streams::ReadableStream::from_raw(body.unchecked_into()).into_stream();
        let reading = within(REQUEST_HEAD_MS_MAX, first_bytes(&mut stream)).await;
        let late = || Refusal::body_timed_out(REQUEST_HEAD_MS_MAX);
        let (bytes, is_whole) = reading.ok_or_else(late)?.map_err(failure)?;
        let unread = length.map_or(1, |all| all.saturating_sub(bytes.len() as u64).max(1));
        Ok(Self {
            said: ModelRequest::read(&bytes, if is_whole { 0 } else { unread }),
            rest: (!is_whole).then_some(stream),
            bytes,
        })
    }

    /// The whole body again, which has `length` bytes where that is known; with `asks_usage` it asks for the usage of a
    /// stream. With it, whether it now does.
    pub fn join(self, length: Option<u64>, asks_usage: bool) -> (Joined, bool) {
        let asking = self.said.with_usage(&self.bytes).filter(|_| asks_usage);
        let asks = asking.is_some();
        let bytes = Uint8Array::from(&asking.unwrap_or(self.bytes)[..]);
        let joined = match self.rest {
            None => Joined::Whole(bytes),
            Some(rest) => {
                Joined::Passing(stream(once(ready(Ok(bytes.into()))).chain(rest), length))
            }
        };
        (joined, asks)
    }
}

/// A body that goes to the origin.
pub enum Joined {
    /// All of it is here: nothing has to be pumped.
    Whole(Uint8Array),
    /// It is still coming.
    Passing(Body),
}

impl Joined {
    /// Its length, where it is known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(u64::from(bytes.length())),
            Self::Passing((_, length)) => *length,
        }
    }

    /// The same as a stream.
    pub fn stream(self) -> Body {
        let length = self.length();
        match self {
            Self::Whole(bytes) => stream(once(ready(Ok(bytes.into()))), length),
            Self::Passing(body) => body,
        }
    }
}

fn stream(
    parts: impl Stream<Item = Result<JsValue, JsValue>> + 'static,
    length: Option<u64>,
) -> Body {
    let body = wasm_streams::ReadableStream::from_stream(parts);
    (body.into_raw().unchecked_into(), length)
}

/// The first bytes of a body, up to the bound and the chunk that reaches it; and whether these are all.
async fn first_bytes(stream: &mut IntoStream<'static>) -> Result<(Vec<u8>, bool), JsValue> {
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk: Uint8Array = chunk?.dyn_into()?;
        let at = bytes.len();
        bytes.resize(at + chunk.length() as usize, 0);
        chunk.copy_to(&mut bytes[at..]);
        if bytes.len() >= REQUEST_HEAD_BYTES_MAX {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

fn failure(error: JsValue) -> Failure {
    Failure::Internal(format!("body: {error:?}"))
}
