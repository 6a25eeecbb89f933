//! What the platform says of a request, as plain data that the rules of the routes are applied to.

use weir_shared::gateway::facts::{BodyLength, Facts};
use worker::Request;
use worker::js_sys::Reflect;
use worker::wasm_bindgen::JsValue;

use crate::http::failure::Failure;
use crate::http::location::Location;

/// A request as it came: all but its body.
pub struct Arrived {
    /// Its address.
    pub url: Location,
    method: String,
    headers: worker::web_sys::Headers,
    country: Option<String>,
    asn: Option<u64>,
    body: BodyLength,
}

impl Arrived {
    /// Of this request.
    ///
    /// # Errors
    /// When the platform refuses to say.
    pub fn of(request: &Request) -> Result<Self, Failure> {
        let raw = request.inner();
        let cf = Reflect::get(raw, &"cf".into()).unwrap_or(JsValue::UNDEFINED);
        let field = |name: &str| Reflect::get(&cf, &name.into()).ok();
        let length = request.headers().get("content-length")?;
        let length = length.and_then(|text| text.parse().ok());
        Ok(Self {
            url: Location::of(request),
            method: raw.method(),
            headers: raw.headers(),
            country: field("country").and_then(|value| value.as_string()),
            asn: field("asn").and_then(number),
            body: match (raw.body(), length) {
                (None, _) => BodyLength::None,
                (Some(_), Some(bytes)) => BodyLength::Known(bytes),
                (Some(_), None) => BodyLength::Unknown,
            },
        })
    }

    /// A header of the request. Several of one name are one, joined by commas.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).ok().flatten()
    }

    /// The headers, in the platform's order.
    pub fn headers(&self) -> Vec<(String, String)> {
        worker::Headers(self.headers.clone()).entries().collect()
    }

    /// The facts; `header` reads a header.
    pub fn facts<'a>(&'a self, header: &'a dyn Fn(&str) -> Option<String>) -> Facts<'a> {
        Facts {
            method: &self.method,
            host: self.url.host(),
            path: self.url.path(),
            header,
            country: self.country.as_deref(),
            asn: self.asn,
            body: self.body,
        }
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// How long its body is.
    pub fn body(&self) -> BodyLength {
        self.body
    }
}

/// A whole number that the platform gives as a number, or a caller over a service binding as text.
fn number(value: JsValue) -> Option<u64> {
    if let Some(text) = value.as_string() {
        return text.parse().ok();
    }
    let number = value.as_f64()?;
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    whole.then_some(number as u64)
}
