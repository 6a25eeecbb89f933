//! Where traces go, as the deployment's variables say.

use super::sampling::Share;
use crate::limits::COLLECTOR_HEADERS_MAX;
use crate::percent::decoded;

/// The variable that names the collector. Without it nothing is traced.
pub const ENDPOINT: &str = "WEIR_OTLP_ENDPOINT";
/// The secret with header fields for the collector: `name=value`, with commas between them, values percent-encoded.
pub const HEADERS: &str = "WEIR_OTLP_HEADERS";
/// The variable with the share of the traces that begin here.
pub const SAMPLE: &str = "WEIR_TRACE_SAMPLE";

/// What is appended to the address of a collector for traces.
const PATH: &str = "/v1/traces";

/// Where traces go, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The address of the collector for traces.
    pub url: String,
    /// Header fields for it.
    pub headers: Vec<(String, String)>,
    /// Of the traces that begin here, those that are sampled.
    pub share: Share,
}

/// A variable that says nothing that can be done; nothing is traced then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misset {
    /// The collector's address is none of `http` or `https`.
    Endpoint,
    /// No `name=value`, or more than [`COLLECTOR_HEADERS_MAX`].
    Headers,
    /// No number from 0 to 1.
    Sample,
}

impl Misset {
    /// What to set, in words for the log. The values are not in them: one is a secret.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Endpoint => {
                "WEIR_OTLP_ENDPOINT: must be an address such as https://collector.example.com"
            }
            Self::Headers => {
                "WEIR_OTLP_HEADERS: must be at most 8 of name=value, with commas between them"
            }
            Self::Sample => "WEIR_TRACE_SAMPLE: must be a number from 0 to 1",
        }
    }
}

impl Settings {
    /// Reads the variables. Without a share only what is sampled already is traced.
    ///
    /// # Errors
    /// Which of them says nothing that can be done.
    ///
    /// ```
    /// use weir_core::trace::settings::Settings;
    /// let read = Settings::read("https://otlp.example.com/", Some("api-key=a%2Cb, x=1"), None).unwrap();
    /// assert_eq!(read.url, "https://otlp.example.com/v1/traces");
    /// assert_eq!(read.headers[0], ("api-key".to_owned(), "a,b".to_owned()));
    /// ```
    pub fn read(
        endpoint: &str,
        headers: Option<&str>,
        sample: Option<&str>,
    ) -> Result<Self, Misset> {
        let endpoint = endpoint.trim_end_matches('/');
        let rest = endpoint
            .strip_prefix("https://")
            .or_else(|| endpoint.strip_prefix("http://"));
        let plain = |rest: &&str| {
            !rest.is_empty()
                && !rest.contains(['?', '#', '@', ' '])
                && !rest.contains(char::is_control)
        };
        rest.filter(plain).ok_or(Misset::Endpoint)?;
        let pairs = headers.unwrap_or_default().split(',');
        let pairs = pairs.filter(|pair| !pair.trim().is_empty());
        let headers: Option<Vec<_>> = pairs.map(header).collect();
        let headers = headers.filter(|headers| headers.len() <= COLLECTOR_HEADERS_MAX);
        let share = sample.map_or(Ok(Share::default()), Share::try_from);
        Ok(Self {
            url: format!("{endpoint}{PATH}"),
            headers: headers.ok_or(Misset::Headers)?,
            share: share.map_err(|_| Misset::Sample)?,
        })
    }
}

fn header(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (
        name.trim().to_ascii_lowercase(),
        decoded(value.trim()).ok()?,
    );
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good = !name.is_empty()
        && name.bytes().all(token)
        && value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    good.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_that_can_be_done_is_named() {
        let endpoint = "http://127.0.0.1:4318";
        let many = ["a=1"; COLLECTOR_HEADERS_MAX + 1].join(",");
        for (endpoint, headers, sample, misset) in [
            ("", None, None, Misset::Endpoint),
            ("collector", None, None, Misset::Endpoint),
            ("https://", None, None, Misset::Endpoint),
            ("ftp://collector", None, None, Misset::Endpoint),
            ("https://user@collector", None, None, Misset::Endpoint),
            ("https://collector?x", None, None, Misset::Endpoint),
            (endpoint, Some("a"), None, Misset::Headers),
            (endpoint, Some("=1"), None, Misset::Headers),
            (endpoint, Some("a b=1"), None, Misset::Headers),
            (endpoint, Some("a=%0A"), None, Misset::Headers),
            (endpoint, Some("a=%zz"), None, Misset::Headers),
            (endpoint, Some(many.as_str()), None, Misset::Headers),
            (endpoint, None, Some("2"), Misset::Sample),
            (endpoint, None, Some(""), Misset::Sample),
        ] {
            assert_eq!(
                Settings::read(endpoint, headers, sample),
                Err(misset),
                "{endpoint} {headers:?}"
            );
            assert!(!misset.words().is_empty());
        }
        let read = Settings::read(endpoint, Some(""), Some("0.5")).unwrap();
        assert_eq!(
            (read.url.as_str(), read.headers.len()),
            ("http://127.0.0.1:4318/v1/traces", 0)
        );
    }
}
