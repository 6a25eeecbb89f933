//! `traceparent`: the trace that a request belongs to.

use crate::hex::hex;

/// The header, in requests to Weir, to its objects and to origins.
pub const HEADER: &str = "traceparent";

/// Bytes of the form of version 00.
const FORM_BYTES: usize = 55;

/// The bit that says that whoever asks records its part.
const SAMPLED: u8 = 1;

/// A trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub [u8; 16]);

/// A span of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// In hexadecimal.
    #[must_use]
    pub fn text(&self) -> String {
        hex(&self.0)
    }
}

impl SpanId {
    /// In hexadecimal.
    #[must_use]
    pub fn text(&self) -> String {
        hex(&self.0)
    }
}

/// What a `traceparent` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub trace: TraceId,
    /// The span that asks.
    pub span: SpanId,
    /// Whether whoever asks records its part.
    pub sampled: bool,
}

impl Parent {
    /// Reads a header field; `None` for one that is not valid, with which a new trace begins.
    ///
    /// ```
    /// use weir_core::trace::parent::Parent;
    /// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let parent = Parent::read(text).unwrap();
    /// assert!(parent.sampled);
    /// assert_eq!(parent.text(), text);
    /// assert_eq!(Parent::read("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
    /// ```
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let form = bytes.get(..FORM_BYTES)?;
        let dashes = [2, 35, 52].iter().all(|at| form.get(*at) == Some(&b'-'));
        let [version] = digits(form.get(..2)?)?;
        let trace: [u8; 16] = digits(form.get(3..35)?)?;
        let span: [u8; 8] = digits(form.get(36..52)?)?;
        let [flags] = digits(form.get(53..)?)?;
        // A later version may say more behind another dash.
        let ends = match bytes.get(FORM_BYTES) {
            None => true,
            Some(next) => version != 0 && *next == b'-',
        };
        let valid = dashes && ends && version != 0xff && trace != [0; 16] && span != [0; 8];
        valid.then_some(Self {
            trace: TraceId(trace),
            span: SpanId(span),
            sampled: flags & SAMPLED == SAMPLED,
        })
    }

    /// As a header field.
    #[must_use]
    pub fn text(&self) -> String {
        let (trace, span) = (self.trace.text(), self.span.text());
        format!("00-{trace}-{span}-{:02x}", u8::from(self.sampled))
    }
}

/// Bytes of as many pairs of lower-case hexadecimal digits.
fn digits<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn the_table_of_the_recommendation() {
        for (text, sampled) in [
            (format!("00-{TRACE}-{SPAN}-00"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-01"), Some(true)),
            // Flags that are not known yet are ignored.
            (format!("00-{TRACE}-{SPAN}-ff"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-fe"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-03"), Some(true)),
            // Of version 00 nothing follows.
            (format!("00-{TRACE}-{SPAN}-01-"), None),
            (format!("00-{TRACE}-{SPAN}-01-what"), None),
            (format!("00-{TRACE}-{SPAN}-01."), None),
            // Of a later one something may, behind a dash.
            (format!("cc-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01-what-the-future"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01.what"), None),
            (format!("cc-{TRACE}-{SPAN}-01x"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("0-{TRACE}-{SPAN}-01"), None),
            (format!(".0-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", &TRACE[1..]), None),
            (format!("00-{TRACE}a-{SPAN}-01"), None),
            (format!("00-{TRACE}-{}-01", &SPAN[1..]), None),
            (format!("00-{TRACE}-{SPAN}1-01"), None),
            (format!("00-{TRACE}-{SPAN}-1"), None),
            (format!("00-{TRACE}-{SPAN}-001"), None),
            (format!("00-{TRACE}-{SPAN}-"), None),
            (format!("00-{TRACE}-{SPAN}-.0"), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{TRACE}-{}-01", SPAN.to_uppercase()), None),
            (format!("00-{TRACE}-{SPAN}-0A"), None),
            (format!("00_{TRACE}_{SPAN}_01"), None),
            (format!(" 00-{TRACE}-{SPAN}-01"), None),
            // Two fields arrive as one.
            (format!("00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}é-{SPAN}-01", &TRACE[2..]), None),
            (String::new(), None),
        ] {
            let read = Parent::read(&text);
            assert_eq!(read.map(|parent| parent.sampled), sampled, "{text}");
            if let Some(parent) = read {
                assert_eq!(
                    (parent.trace.text().as_str(), parent.span.text().as_str()),
                    (TRACE, SPAN)
                );
                assert_eq!(Parent::read(&parent.text()), Some(parent));
            }
        }
    }
}
