//! Answers as plain data, made into the platform's at the end.

use serde::Serialize;
use worker::{Response, ResponseBuilder};

use super::failure::Failure;

/// The media type of an answer that is no problem.
const JSON: &str = "application/json";

/// Keeps a browser from taking an answer for something else than it says (the Fetch standard, section 3.6).
const SNIFFING: (&str, &str) = ("x-content-type-options", "nosniff");

/// The status of an answer that opens a WebSocket.
const SWITCHING_PROTOCOLS: u16 = 101;

/// A header by name.
pub type Header = (&'static str, String);

/// A JSON answer that no cache keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Of the body.
    pub media_type: &'static str,
    /// What is said besides.
    pub headers: Vec<Header>,
    /// JSON.
    pub body: String,
}

impl Reply {
    /// An answer that is no problem.
    ///
    /// # Errors
    /// When the body cannot be written.
    pub fn json(status: u16, body: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self::text(status, serde_json::to_string(body)?))
    }

    /// An answer of JSON that is written already.
    #[must_use]
    pub fn text(status: u16, body: String) -> Self {
        Self {
            status,
            media_type: JSON,
            headers: Vec::new(),
            body,
        }
    }

    /// The same with one header more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The platform's answer.
    ///
    /// # Errors
    /// When the platform refuses a header.
    pub fn respond(self) -> worker::Result<Response> {
        let mut builder = ResponseBuilder::new()
            .with_status(self.status)
            .with_header("content-type", self.media_type)?
            .with_header("cache-control", "no-store")?
            .with_header(SNIFFING.0, SNIFFING.1)?;
        for (name, value) in &self.headers {
            builder = builder.with_header(name, value)?;
        }
        Ok(builder.fixed(self.body.into_bytes()))
    }

    /// The answer as one text, for the module entry: lines of status, body, and name and value of each header, none of
    /// which can hold a line break.
    #[must_use]
    pub fn into_text(self) -> String {
        let headers = self.headers.iter();
        let headers_bytes: usize = headers
            .map(|(name, value)| name.len() + value.len() + 2)
            .sum();
        let mut text = self.status.to_string();
        text.reserve(1 + self.body.len() + headers_bytes);
        text.push('\n');
        text.push_str(&self.body);
        for (name, value) in &self.headers {
            for part in [name, value.as_str()] {
                text.push('\n');
                text.push_str(part);
            }
        }
        text
    }
}

/// A JSON answer that no cache keeps.
///
/// # Errors
/// When the platform refuses to build it.
pub fn json(status: u16, body: &impl Serialize) -> Result<Response, Failure> {
    Ok(Reply::json(status, body)?.respond()?)
}

/// The same answer, for what it says it is and nothing else.
///
/// # Errors
/// When the platform refuses the header.
pub fn unsniffed(mut response: Response) -> Result<Response, Failure> {
    // What follows is no answer of HTTP any more.
    if response.status_code() != SWITCHING_PROTOCOLS {
        response.headers_mut().set(SNIFFING.0, SNIFFING.1)?;
    }
    Ok(response)
}
