//! The request to the origin, and its answer up to the head.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{AbortController, RequestInit, RequestRedirect, WorkerGlobalScope};
use weir_shared::gateway::outcome::Ending;
use weir_shared::policy::route::OriginLimits;
use weir_shared::trace::span::{Said, server_address};
use weir_shared::trace::{parent, state};
use worker::js_sys::{Reflect, global};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Headers, console_error};

use crate::objects::deadline::within;
use crate::objects::trace::{self, Open};

/// A request to an origin.
pub struct Upstream {
    /// Where to.
    pub url: String,
    /// The method.
    pub method: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// Within how many milliseconds the head of the answer has to be there, at most.
    pub timeout_ms: u64,
    /// Where its answers tell how much it lets through.
    pub limits: Option<OriginLimits>,
}

impl Upstream {
    /// Sends the request with its body, if it has one, and waits so long for the head of the answer. Redirects are the
    /// client's to follow.
    ///
    /// # Errors
    /// [`Ending::TimedOut`] when the head is not there in time, [`Ending::Unreachable`] when there is nobody, or nobody
    /// who speaks HTTP.
    pub async fn send(
        &self,
        body: Option<&JsValue>,
        timeout_ms: u64,
    ) -> Result<web_sys::Response, Ending> {
        let unreachable = |error: JsValue| {
            console_error!("{}: {error:?}", self.origin());
            Ending::Unreachable
        };
        let controller = AbortController::new().map_err(unreachable)?;
        let span = trace::ask(|| self.method.clone());
        if let Some(span) = &span {
            let origin = self.origin();
            let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
            span.say([
                ("http.request.method", Said::Text(self.method.clone())),
                (
                    "server.address",
                    Said::Text(server_address(authority).to_owned()),
                ),
            ]);
        }
        let init = self.init(&controller, body, span.as_ref());
        let init = init.map_err(unreachable)?;
        let scope: WorkerGlobalScope = global().unchecked_into();
        let fetching = JsFuture::from(scope.fetch_with_str_and_init(&self.url, &init));
        let Some(answer) = within(timeout_ms, fetching).await else {
            controller.abort();
            return Err(Ending::TimedOut);
        };
        let response = answer.map_err(unreachable)?;
        let response: web_sys::Response = response.dyn_into().map_err(unreachable)?;
        if let Some(span) = &span {
            span.answered(response.status());
        }
        Ok(response)
    }

    fn init(
        &self,
        controller: &AbortController,
        body: Option<&JsValue>,
        span: Option<&Open>,
    ) -> Result<RequestInit, JsValue> {
        let headers = Headers::new();
        for (name, value) in &self.headers {
            // What the platform does not take as a header, it does not send.
            if let Err(error) = headers.append(name, value) {
                console_error!("header {name}: {error}");
            }
        }
        if let Some(span) = span {
            let (parent, told) = span.headers();
            headers.set(parent::HEADER, &parent)?;
            match told {
                Some(told) => headers.set(state::HEADER, told)?,
                None => headers.delete(state::HEADER)?,
            }
        }
        let init = RequestInit::new();
        init.set_method(&self.method);
        init.set_headers(&headers.0);
        init.set_redirect(RequestRedirect::Manual);
        init.set_signal(Some(&controller.signal()));
        if let Some(body) = body {
            init.set_body(body);
        }
        // A compressed body is handed on as it comes: unpacked and packed again, its parts could wait for one another.
        Reflect::set(&init, &"encodeResponseBody".into(), &"manual".into())?;
        Ok(init)
    }

    /// The origin, for the log: a path or a query may hold what is nobody's business.
    fn origin(&self) -> &str {
        let after = self.url.find("://").map_or(0, |at| at + 3);
        let end = self.url[after..].find(['/', '?']);
        &self.url[..end.map_or(self.url.len(), |at| after + at)]
    }
}
