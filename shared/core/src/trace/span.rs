//! Spans, and the message in which they leave: OTLP's JSON, with identifiers in hexadecimal, integers of 64 bits as text, and
//! enumerations as numbers.

use super::sampling::Begun;
use crate::limits::SPAN_TEXT_BYTES_MAX;
use crate::units::EpochMs;

/// Which side of a call a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Whoever answers.
    Server,
    /// Whoever asks.
    Client,
}

/// What is said of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A text; what is longer than [`SPAN_TEXT_BYTES_MAX`] is cut off.
    Text(String),
    /// A number.
    Number(u64),
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it stands in its trace.
    pub begun: Begun,
    /// What was done.
    pub name: String,
    /// The side.
    pub side: Side,
    /// When it began.
    pub started: EpochMs,
    /// When it ended.
    pub ended: EpochMs,
    /// What is said of it, by the names of the semantic conventions.
    pub said: Vec<(&'static str, Said)>,
    /// Whether it failed.
    pub failed: bool,
}

/// Adds a span to a message, member by member: of all that JSON can be it is little.
fn write(span: &Span, text: &mut String) {
    let begun = &span.begun;
    let parent = begun.parent.map(|parent| parent.text());
    let kind = match span.side {
        Side::Server => "2",
        Side::Client => "3",
    };
    text.push_str("{\"kind\":");
    text.push_str(kind);
    if span.failed {
        text.push_str(",\"status\":{\"code\":2}");
    }
    for (name, value) in [
        ("traceId", Some(begun.trace.text().as_str())),
        ("spanId", Some(&begun.span.text())),
        ("parentSpanId", parent.as_deref()),
        ("traceState", begun.state.as_deref()),
        ("name", Some(cut(&span.name))),
        ("startTimeUnixNano", Some(&nanoseconds(span.started))),
        ("endTimeUnixNano", Some(&nanoseconds(span.ended))),
    ] {
        if let Some(value) = value {
            text.push_str(",\"");
            text.push_str(name);
            text.push_str("\":");
            quoted(value, text);
        }
    }
    text.push_str(",\"attributes\":[");
    for (index, (name, said)) in span.said.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        attribute(name, said, text);
    }
    text.push_str("]}");
}

/// The message of some spans: the body of `POST /v1/traces`.
#[must_use]
pub fn message(spans: &[Span]) -> String {
    let mut text = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[".to_owned();
    attribute("service.name", &Said::Text("weir".to_owned()), &mut text);
    text.push_str("]},\"scopeSpans\":[{\"scope\":{\"name\":\"weir\"},\"spans\":[");
    for (index, span) in spans.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(span, &mut text);
    }
    text.push_str("]}]}]}");
    text
}

/// The host of a URL's authority, which may name a port: what the conventions call `server.address`.
///
/// ```
/// use weir_core::trace::span::server_address;
/// assert_eq!(server_address("api.example.com:8443"), "api.example.com");
/// assert_eq!(server_address("[2001:db8::1]"), "[2001:db8::1]");
/// ```
#[must_use]
pub fn server_address(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn attribute(name: &str, said: &Said, text: &mut String) {
    text.push_str("{\"key\":");
    quoted(name, text);
    match said {
        Said::Text(said) => {
            text.push_str(",\"value\":{\"stringValue\":");
            quoted(cut(said), text);
        }
        Said::Number(number) => {
            text.push_str(",\"value\":{\"intValue\":");
            quoted(&number.to_string(), text);
        }
    }
    text.push_str("}}");
}

fn quoted(value: &str, text: &mut String) {
    // A text is always written.
    text.push_str(&serde_json::to_string(value).unwrap_or_default());
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(SPAN_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn nanoseconds(at: EpochMs) -> String {
    format!("{}000000", at.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::trace::parent::{SpanId, TraceId};

    #[test]
    fn the_message_is_otlp_s_json() {
        let begun = Begun {
            trace: TraceId([0xab; 16]),
            span: SpanId([1; 8]),
            parent: None,
            state: None,
        };
        let root = Span {
            begun: begun.clone(),
            name: "GET /llm/*".to_owned(),
            side: Side::Server,
            started: EpochMs(1_764_150_000_123),
            ended: EpochMs(1_764_150_000_125),
            said: vec![("http.response.status_code", Said::Number(200))],
            failed: false,
        };
        let below = Span {
            begun: Begun {
                parent: Some(SpanId([1; 8])),
                span: SpanId([2; 8]),
                state: Some("a=1".to_owned()),
                ..begun
            },
            name: "é".repeat(200),
            side: Side::Client,
            said: vec![("weir.tenant", Said::Text("acme".to_owned()))],
            failed: true,
            ..root.clone()
        };
        let told: Value = serde_json::from_str(&message(&[root, below])).unwrap();
        let name = "é".repeat(128);
        assert_eq!(
            told,
            json!({ "resourceSpans": [{
            "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "weir" } }] },
            "scopeSpans": [{ "scope": { "name": "weir" }, "spans": [
                {
                    "traceId": "abababababababababababababababab", "spanId": "0101010101010101",
                    "name": "GET /llm/*", "kind": 2,
                    "startTimeUnixNano": "1764150000123000000", "endTimeUnixNano": "1764150000125000000",
                    "attributes": [{ "key": "http.response.status_code", "value": { "intValue": "200" } }],
                },
                {
                    "traceId": "abababababababababababababababab", "spanId": "0202020202020202",
                    "parentSpanId": "0101010101010101", "traceState": "a=1",
                    "name": name, "kind": 3,
                    "startTimeUnixNano": "1764150000123000000", "endTimeUnixNano": "1764150000125000000",
                    "attributes": [{ "key": "weir.tenant", "value": { "stringValue": "acme" } }],
                    "status": { "code": 2 },
                },
            ] }],
        }] })
        );
    }
}
