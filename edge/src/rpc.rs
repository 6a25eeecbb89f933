//! What another Worker calls over a service binding: each function is a method of the entry point (`entry.js`), and one
//! route of the public interface. It is answered as that route is, token, bounds and problems included, so that a
//! binding gets no further than a request does.
//!
//! `env.WEIR.check(token, question)` takes the question as an object, or as JSON text, and answers in kind: what the
//! route answers, or the problem object in its stead, which has a `status` where an answer has none. Nothing is thrown
//! for a denial or for bad input.

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use weir_shared::name::label;
use worker::js_sys::{JSON, JsString, Object, Reflect};
use worker::worker_sys::Context as RawContext;
use worker::{Context, Env, Headers, Method, Request, RequestInit, Response};

use crate::http::failure::Failure;
use crate::routes;

/// A service binding has no address: the host is never resolved.
const ORIGIN: &str = "https://weir.internal";

/// What a caller may say of where its own request arrived, in the platform's words: by these the nearest region is
/// found.
const ARRIVAL: [&str; 2] = ["continent", "longitude"];

/// `POST /v1/check`. `arrival` is the `cf` of the request that the question is about, if there is one.
#[wasm_bindgen(this)]
pub async fn check(this: JsValue, token: JsValue, question: JsValue, arrival: JsValue) -> JsValue {
    answer(&this, "/v1/check", &token, &question, &arrival).await
}

/// `POST /v1/check/batch`.
#[wasm_bindgen(this, js_name = checkBatch)]
pub async fn check_batch(
    this: JsValue,
    token: JsValue,
    question: JsValue,
    arrival: JsValue,
) -> JsValue {
    answer(&this, "/v1/check/batch", &token, &question, &arrival).await
}

/// `POST /v1/reserve`.
#[wasm_bindgen(this)]
pub async fn reserve(
    this: JsValue,
    token: JsValue,
    question: JsValue,
    arrival: JsValue,
) -> JsValue {
    answer(&this, "/v1/reserve", &token, &question, &arrival).await
}

/// `POST /v1/settle`.
#[wasm_bindgen(this)]
pub async fn settle(this: JsValue, token: JsValue, question: JsValue, arrival: JsValue) -> JsValue {
    answer(&this, "/v1/settle", &token, &question, &arrival).await
}

/// `POST /v1/report`.
#[wasm_bindgen(this)]
pub async fn report(this: JsValue, token: JsValue, question: JsValue, arrival: JsValue) -> JsValue {
    answer(&this, "/v1/report", &token, &question, &arrival).await
}

/// `POST /v1/guards/{guard}/acquire`.
#[wasm_bindgen(this)]
pub async fn acquire(
    this: JsValue,
    token: JsValue,
    guard: JsValue,
    question: JsValue,
    arrival: JsValue,
) -> JsValue {
    slot(&this, "acquire", &token, (&guard, &question), &arrival).await
}

/// `POST /v1/guards/{guard}/renew`.
#[wasm_bindgen(this)]
pub async fn renew(
    this: JsValue,
    token: JsValue,
    guard: JsValue,
    question: JsValue,
    arrival: JsValue,
) -> JsValue {
    slot(&this, "renew", &token, (&guard, &question), &arrival).await
}

/// `POST /v1/guards/{guard}/release`.
#[wasm_bindgen(this)]
pub async fn release(
    this: JsValue,
    token: JsValue,
    guard: JsValue,
    question: JsValue,
    arrival: JsValue,
) -> JsValue {
    slot(&this, "release", &token, (&guard, &question), &arrival).await
}

async fn slot(
    this: &JsValue,
    what: &str,
    token: &JsValue,
    (guard, question): (&JsValue, &JsValue),
    arrival: &JsValue,
) -> JsValue {
    // A name that could be no guard's must not become another path.
    let guard = guard.as_string().filter(|name| label(name).is_ok());
    let path = guard.map(|name| format!("/v1/guards/{name}/{what}"));
    answer(
        this,
        path.as_deref().unwrap_or("/v1/guards"),
        token,
        question,
        arrival,
    )
    .await
}

/// Answers in kind: text to text, an object to an object.
async fn answer(
    this: &JsValue,
    path: &str,
    token: &JsValue,
    question: &JsValue,
    arrival: &JsValue,
) -> JsValue {
    let text = match served(this, path, (token, question), arrival).await {
        Ok(text) => text,
        Err(failure) => problem(&failure),
    };
    if question.is_string() {
        return JsValue::from(text);
    }
    JSON::parse(&text).unwrap_or_else(|_| JsValue::from(text))
}

async fn served(
    this: &JsValue,
    path: &str,
    (token, question): (&JsValue, &JsValue),
    arrival: &JsValue,
) -> Result<String, Failure> {
    let member = |name: &str| Reflect::get(this, &name.into()).map_err(worker::Error::from);
    let env: Env = member("env")?.unchecked_into();
    let context: RawContext = member("ctx")?.unchecked_into();
    let request = request(path, token, question, arrival)?;
    let mut response: Response = routes::serve(request, env, Context::new(context)).await?;
    Ok(response.text().await?)
}

/// The request that asks the same. A question that JSON cannot express is an empty body, which its route refuses.
fn request(
    path: &str,
    token: &JsValue,
    question: &JsValue,
    arrival: &JsValue,
) -> Result<Request, Failure> {
    let headers = Headers::new();
    headers.set("content-type", "application/json")?;
    // What is not of the form of a header's value could be no token either.
    if let Some(token) = token.as_string().filter(|token| token.is_ascii()) {
        let _not_a_value = headers.set("authorization", &format!("Bearer {token}"));
    }
    let body = question.as_string().or_else(|| json(question));
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_headers(headers)
        .with_body(body.map(JsValue::from));
    let raw: web_sys::RequestInit = (&init).into();
    Reflect::set(&raw, &"cf".into(), &told(arrival)).map_err(worker::Error::from)?;
    let url = format!("{ORIGIN}{path}");
    let request = web_sys::Request::new_with_str_and_init(&url, &raw);
    Ok(request.map_err(worker::Error::from)?.into())
}

fn json(value: &JsValue) -> Option<String> {
    let text: JsString = JSON::stringify(value).ok()?;
    JsValue::from(text).as_string()
}

/// The fields of `arrival` that are read, and only as text.
fn told(arrival: &JsValue) -> Object {
    let told = Object::new();
    for name in ARRIVAL {
        let value = Reflect::get(arrival, &name.into()).ok();
        if let Some(text) = value.and_then(|value| value.as_string()) {
            let _frozen = Reflect::set(&told, &name.into(), &text.into());
        }
    }
    told
}

fn problem(failure: &Failure) -> String {
    worker::console_error!("rpc: {failure:?}");
    serde_json::to_string(&failure.problem()).unwrap_or_default()
}
