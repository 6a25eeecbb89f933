//! A layer for services of tower, such as axum's: it asks Weir before the service sees a request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response, StatusCode};
use pin_project_lite::pin_project;
use serde_json::json;
use tower_layer::Layer;
use tower_service::Service;

use crate::answer::{Decision, Reason};
use crate::error::WeirError;
use crate::question::Question;
use crate::slot::Slot;
use crate::weir::Weir;

/// What a request asks of Weir, by its head alone: who it is for, what it charges, how much. `None` lets it pass unasked.
type Asks = Arc<dyn Fn(&Parts) -> Option<Question> + Send + Sync>;

/// Asks Weir before a service sees a request. A denial is 429 with `Retry-After`, or 503 where nobody has capacity, as a problem
/// (RFC 9457); every answer carries Weir's rate-limit fields. A guard's slot is kept until the answer's body has ended. The
/// [`Decision`] is among the request's extensions. The body is never read. A question that Weir refuses is a mistake in the
/// function, and answered 500; [`Hooks`](crate::Hooks) hear why.
#[derive(Clone)]
pub struct WeirLayer {
    weir: Weir,
    asks: Asks,
}

impl WeirLayer {
    /// `asks` makes the question from the head of a request.
    pub fn new(
        weir: Weir,
        asks: impl Fn(&Parts) -> Option<Question> + Send + Sync + 'static,
    ) -> Self {
        Self {
            weir,
            asks: Arc::new(asks),
        }
    }
}

impl<S> Layer<S> for WeirLayer {
    type Service = WeirService<S>;

    fn layer(&self, inner: S) -> WeirService<S> {
        WeirService {
            layer: self.clone(),
            inner,
        }
    }
}

/// A service behind a [`WeirLayer`].
#[derive(Clone)]
pub struct WeirService<S> {
    layer: WeirLayer,
    inner: S,
}

type Answering<R, E> = Pin<Box<dyn Future<Output = Result<Response<Holding<R>>, E>> + Send>>;

impl<S, B, R> Service<Request<B>> for WeirService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
    R: From<String> + Send + 'static,
{
    type Response = Response<Holding<R>>;
    type Error = S::Error;
    type Future = Answering<R, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        let question = (self.layer.asks)(&head);
        let weir = self.layer.weir.clone();
        // The one that was asked whether it is ready is the one that is called.
        let fresh = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        Box::pin(async move {
            let Some(question) = question else {
                let request = Request::from_parts(head, body);
                return Ok(inner
                    .call(request)
                    .await?
                    .map(|body| Holding::new(body, None)));
            };
            let slot = match weir.slot(&question).await {
                Ok(slot) => slot,
                Err(error) => return Ok(mistaken(&error)),
            };
            let decision = slot.decision().clone();
            if !decision.allowed {
                return Ok(denied(&decision));
            }
            let fields = fields(&decision);
            head.extensions.insert(decision);
            let mut response = inner.call(Request::from_parts(head, body)).await?;
            for (name, value) in fields {
                // Of two words on one limit, Weir's is the true one.
                response.headers_mut().insert(name, value);
            }
            Ok(response.map(|body| Holding::new(body, Some(slot))))
        })
    }
}

pin_project! {
    /// A body that keeps a slot until it has ended.
    pub struct Holding<R> {
        #[pin]
        body: R,
        slot: Option<Slot>,
    }
}

impl<R> Holding<R> {
    fn new(body: R, slot: Option<Slot>) -> Self {
        Self { body, slot }
    }
}

impl<R: Body> Body for Holding<R> {
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let this = self.project();
        let polled = this.body.poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = polled {
            // Given back in the background.
            *this.slot = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

const DRAFT: &str = "https://iana.org/assignments/http-problem-types#";

fn denied<R: From<String>>(decision: &Decision) -> Response<Holding<R>> {
    let (status, kind, title) = match decision.reason {
        Reason::Overloaded | Reason::Unavailable | Reason::Unreachable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "temporary-reduced-capacity",
            "Request cannot be satisfied due to temporary server capacity constraints",
        ),
        _ => (
            StatusCode::TOO_MANY_REQUESTS,
            "quota-exceeded",
            "Request cannot be satisfied as assigned quota has been exceeded",
        ),
    };
    let mut told = json!({
        "type": format!("{DRAFT}{kind}"), "title": title, "status": status.as_u16(),
        "detail": detail(decision), "retry_after_ms": decision.retry_after_ms,
    });
    if !decision.binding.is_empty() {
        told["violated-policies"] = json!([decision.binding]);
    }
    if let Some(id) = &decision.decision {
        told["decision"] = json!(id);
    }
    let mut headers: HeaderMap = fields(decision).into_iter().collect();
    if let Some(after_s) = decision.retry_after_ms.map(retry_after_s) {
        headers.insert(RETRY_AFTER, HeaderValue::from(after_s));
    }
    problem(status, headers, told.to_string())
}

fn mistaken<R: From<String>>(_: &WeirError) -> Response<Holding<R>> {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    // What is wrong with the question is the application's, and no client's.
    let told = json!({
        "type": "about:blank", "title": "Internal Server Error", "status": status.as_u16(),
        "detail": "The request could not be decided.",
    });
    problem(status, HeaderMap::new(), told.to_string())
}

fn problem<R: From<String>>(
    status: StatusCode,
    headers: HeaderMap,
    text: String,
) -> Response<Holding<R>> {
    let mut response = Response::new(Holding::new(R::from(text), None));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn fields(decision: &Decision) -> Vec<(HeaderName, HeaderValue)> {
    let fields = decision.headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::try_from(name.as_str()).ok()?;
        Some((name, HeaderValue::try_from(value.as_str()).ok()?))
    });
    fields.collect()
}

/// Seconds of a `Retry-After`: never 0, which would invite a request that is denied again.
fn retry_after_s(after_ms: u64) -> u64 {
    after_ms.div_ceil(1_000).max(1)
}

/// In the words of Weir's gateway.
fn detail(decision: &Decision) -> String {
    let name = &decision.binding;
    match decision.reason {
        Reason::OverShare => format!("The tenant has used its share of {name}."),
        Reason::CapReached => format!("{name} is used up until its window ends."),
        Reason::Concurrency => format!("As many calls of {name} are running as may."),
        Reason::Overloaded => format!("{name} has no capacity left for the tenant now."),
        Reason::Unavailable => format!("{name} cannot be decided now."),
        Reason::Unreachable => "Whether the request may pass cannot be decided now.".to_owned(),
        Reason::Never => format!("The request costs more than {name} ever admits."),
        _ => format!("{name} is exceeded."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Fail;
    use crate::unreachable;

    #[test]
    fn a_denial_is_429_and_503_where_nobody_has_capacity() {
        let cause = WeirError::no_answer("nobody");
        let decision = Decision {
            binding: "b".to_owned(),
            ..unreachable::decision(Fail::Closed, cause, 0)
        };
        let table = [
            (Reason::OverShare, 429),
            (Reason::CapReached, 429),
            (Reason::LimitExceeded, 429),
            (Reason::Concurrency, 429),
            (Reason::Never, 429),
            (Reason::Overloaded, 503),
            (Reason::Unavailable, 503),
            (Reason::Unreachable, 503),
        ];
        for (reason, status) in table {
            let told = denied::<String>(&Decision {
                reason,
                ..decision.clone()
            });
            assert_eq!(told.status().as_u16(), status, "{reason:?}");
            assert_eq!(told.headers()[RETRY_AFTER], "1");
            assert!(told.body().body.contains(r#""violated-policies":["b"]"#));
        }
    }

    #[test]
    fn who_is_denied_waits_a_second_at_least() {
        let seconds = [0, 1, 1_000, 1_001].map(retry_after_s);
        assert_eq!(seconds, [1, 1, 1, 2]);
    }
}
