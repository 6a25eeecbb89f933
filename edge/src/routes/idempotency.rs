//! Requests with an `Idempotency-Key`: the first is answered and charged, and whoever asks again is given that answer.

use serde::{Deserialize, Serialize};
use weir_shared::access::endpoint::Matched;
use weir_shared::json;
use weir_shared::limiting::idempotency::{ClaimBody, Claimed, KeepBody, VERSION};
use weir_shared::limits::{
    CHECK_BODY_BYTES_MAX, IDEMPOTENCY_ANSWER_BYTES_MAX, IDEMPOTENCY_CLAIM_MS, OPERATOR_CALL_MS_MAX,
};
use worker::{Request, Response, ResponseBuilder, console_error};

use super::table::answer;
use crate::auth::caller::Caller;
use crate::http::body;
use crate::http::failure::Failure;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, CallError, answers_of, call};

/// Says that an answer was given before.
const REPLAYED: &str = "idempotent-replayed";

/// An answer, as it is remembered.
#[derive(Serialize, Deserialize)]
struct RememberedAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// Answers a request as it was answered before under the same key, or for the first time.
///
/// # Errors
/// As the endpoint; 400 for a key that is none, 409 while another is being answered, 422 for a key of another body, 429 for one
/// key too many, 503 while nobody can say whether there was an answer.
pub async fn once(
    request: &mut Request,
    handles: &RequestHandles,
    (matched, caller): (&Matched<'_>, &Caller),
    key: &str,
) -> Result<Response, Failure> {
    let body = body::json_bytes(&mut request.clone()?, CHECK_BODY_BYTES_MAX).await?;
    let principal = &caller.principal;
    let owner = principal.token.as_deref().unwrap_or(&principal.actor);
    let claim = ClaimBody::of(owner, &request.path(), key, &body)?;
    let (region, _) = place(request, handles).await?;
    let memory = Memory {
        handles,
        name: answers_of(&region),
        region,
    };
    let at = match memory.call(&claim).await? {
        Claimed::New { at } => at,
        Claimed::Answered(text) => return replayed(&text),
        Claimed::UnderWay { after_ms } => return Err(Failure::UnderWay { after_ms }),
        Claimed::Differs => return Err(Failure::KeyReused),
        Claimed::Full => {
            let detail = "As many keys are remembered as may be.";
            let after_ms = IDEMPOTENCY_CLAIM_MS;
            return Err(Failure::TooMany { detail, after_ms });
        }
    };
    let answered = match answer(request, handles, matched, Some(caller)).await {
        Ok(response) => RememberedAnswer::of(response).await,
        Err(failure) => Err(failure),
    };
    let keep = KeepBody {
        v: VERSION,
        key: claim.key,
        at,
        // What was refused has charged nothing, and may be asked again when it is mended.
        answer: answered.as_ref().ok().and_then(RememberedAnswer::text),
    };
    if let Err(failure) = memory.call(&keep).await {
        console_error!("the answer is not remembered: {failure:?}");
    }
    answered?.respond(false)
}

fn replayed(text: &str) -> Result<Response, Failure> {
    let kept: RememberedAnswer = json::from_str(text)
        .map_err(|error| Failure::Internal(format!("a remembered answer: {error}")))?;
    kept.respond(true)
}

/// The object that remembers.
struct Memory<'a> {
    handles: &'a RequestHandles,
    name: String,
    region: String,
}

impl Memory<'_> {
    async fn call<C: crate::objects::binding::Call + Serialize>(
        &self,
        body: &C,
    ) -> Result<C::Reply, Failure> {
        let address = Address::answers(&self.name, &self.region);
        let answer = call(&self.handles.env, address, body, OPERATOR_CALL_MS_MAX).await;
        answer.map_err(|error: CallError| Failure::Unavailable {
            what: error.to_string(),
        })
    }
}

impl RememberedAnswer {
    async fn of(mut response: Response) -> Result<Self, Failure> {
        Ok(Self {
            status: response.status_code(),
            headers: response.headers().entries().collect(),
            body: response.text().await?,
        })
    }

    /// As it is stored; nothing of one that is too long.
    fn text(&self) -> Option<String> {
        let text = serde_json::to_string(self).ok()?;
        (text.len() <= IDEMPOTENCY_ANSWER_BYTES_MAX).then_some(text)
    }

    fn respond(self, again: bool) -> Result<Response, Failure> {
        let mut builder = ResponseBuilder::new().with_status(self.status);
        for (name, value) in &self.headers {
            builder = builder.with_header(name, value)?;
        }
        if again {
            builder = builder.with_header(REPLAYED, "true")?;
        }
        Ok(builder.fixed(self.body.into_bytes()))
    }
}
