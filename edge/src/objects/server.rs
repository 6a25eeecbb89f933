//! The object's side of a call: reads it, writes the answer. An object never panics and never answers with its
//! internal text.

use std::fmt::Display;
use std::future::Future;

use serde::Serialize;
use wasm_bindgen_futures::spawn_local;
use weir_shared::json;
use weir_shared::trace::span::Side;
use worker::{Request, Response, console_error};

use super::binding::Call;
use super::trace::{self, Open};
use super::{telemetry, usage};

/// A call as it arrived.
pub struct Arrived {
    route: String,
    body: String,
    /// Its span, where it is traced.
    span: Option<Open>,
}

/// Why an object did not answer as asked; the text is for the log.
#[derive(Debug)]
pub struct Refused(pub String);

impl<E: Display> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl Arrived {
    /// Reads a request to an object.
    ///
    /// # Errors
    /// When the body cannot be read.
    pub async fn read(mut request: Request) -> worker::Result<Self> {
        let route = request.path().trim_start_matches('/').to_owned();
        let begun = trace::joined(request.headers());
        let span = begun.map(|begun| Open::new(begun, route.clone(), Side::Server));
        Ok(Self {
            body: request.text().await?,
            route,
            span,
        })
    }

    /// Does the work of the call: what it asks of others is a part of its trace.
    pub async fn traced<F: Future>(&self, work: F) -> F::Output {
        trace::around(self.span.as_ref(), work).await
    }

    fn answered(&self, status: u16) {
        if let Some(span) = &self.span {
            span.answered(status);
        }
    }

    /// Whether this is a call of type `C`.
    #[must_use]
    pub fn is<C: Call>(&self) -> bool {
        self.route == C::ROUTE
    }

    /// The call itself.
    ///
    /// # Errors
    /// When it is not of the form of `C`.
    pub fn parse<C: Call>(&self) -> Result<C, Refused> {
        Ok(json::from_str(&self.body)?)
    }

    /// Writes the answer: 200 with the reply, or 500 with nothing and a line in the log.
    ///
    /// # Errors
    /// When the platform refuses to build a response.
    pub fn answer<R: Serialize>(&self, answer: Result<R, Refused>) -> worker::Result<Response> {
        self.answer_text(answer.and_then(|reply| Ok(serde_json::to_string(&reply)?)))
    }

    /// The same with a reply that is written already.
    ///
    /// # Errors
    /// When the platform refuses to build a response.
    pub fn answer_text(&self, answer: Result<String, Refused>) -> worker::Result<Response> {
        self.answered(if answer.is_ok() { 200 } else { 500 });
        match answer {
            Ok(reply) => {
                let mut response = Response::ok(reply)?;
                let used = usage::drain();
                if !used.is_empty() {
                    let text = serde_json::to_string(&used)?;
                    response.headers_mut().set(usage::HEADER, &text)?;
                }
                let told = telemetry::drain();
                if !told.is_empty() {
                    let text = serde_json::to_string(&told)?;
                    response.headers_mut().set(telemetry::HEADER, &text)?;
                }
                Ok(response)
            }
            Err(refused) => {
                console_error!("{}: {}", self.route, refused.0);
                Ok(Response::empty()?.with_status(500))
            }
        }
    }

    /// The answer to a call that this class does not know.
    ///
    /// # Errors
    /// When the platform refuses to build a response.
    pub fn unknown(&self) -> worker::Result<Response> {
        self.answered(404);
        console_error!("unknown call {}", self.route);
        Ok(Response::empty()?.with_status(404))
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        // An object goes on after its answer by itself.
        if self.span.take().is_some() {
            spawn_local(trace::send());
        }
    }
}
