//! How a client is set up, each value checked.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use hyper::Uri;
use hyper::header::HeaderValue;

use crate::hooks::{Hooks, Silent};

/// Milliseconds that a call may take: 2^31-1 is what clients in other languages can wait for.
const TIMEOUT_MS: RangeInclusive<u64> = 1..=(1 << 31) - 1;
/// A deadline is shared out evenly: with more tries none has time to be answered.
const RETRIES: RangeInclusive<u64> = 0..=10;
/// Who waits for company for longer has forgotten the question.
const BATCH_MS: RangeInclusive<u64> = 1..=10_000;
/// What Weir takes of an idempotency key, in bytes.
const KEY_BYTES: RangeInclusive<u64> = 1..=128;

const TIMEOUT_MS_DEFAULT: u64 = 2_000;

/// What a check is answered with while Weir is out of reach. There is no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fail {
    /// Lets pass.
    Open,
    /// Denies.
    Closed,
}

/// The options of a client.
#[derive(Clone)]
pub struct Options {
    url: String,
    token: String,
    fail: Fail,
    timeout_ms: u64,
    retries: u64,
    batch_ms: Option<u64>,
    hooks: Arc<dyn Hooks>,
}

impl Options {
    /// `url`: where Weir is, such as `https://weir.example.com`. `token`: one of the role service, or of one tenant.
    pub fn new(url: impl Into<String>, token: impl Into<String>, fail: Fail) -> Self {
        Self {
            url: url.into(),
            token: token.into(),
            fail,
            timeout_ms: TIMEOUT_MS_DEFAULT,
            retries: 0,
            batch_ms: None,
            hooks: Arc::new(Silent),
        }
    }

    /// Milliseconds that a call may take, its retries included: 1 to 2^31-1, 2000 unless it is said.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }

    /// How often a check is tried again: 0 to 10, 0 unless it is said. Above 0 every check carries an `Idempotency-Key`, so that
    /// it is charged once however often it is tried; that costs Weir a row a check, and the check a call to the object that
    /// keeps it.
    #[must_use]
    pub fn retries(mut self, retries: u64) -> Self {
        self.retries = retries;
        self
    }

    /// Milliseconds within which checks are gathered into one request: 1 to 10,000. Unless it is said each is a request of its
    /// own. A batch carries no `Idempotency-Key` and is never tried again.
    #[must_use]
    pub fn batch_ms(mut self, batch_ms: u64) -> Self {
        self.batch_ms = Some(batch_ms);
        self
    }

    /// Called before each request and after it.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks = Arc::new(hooks);
        self
    }
}

/// What single calls may say otherwise; `None` for what the client says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Milliseconds that a call may take, its retries included.
    pub timeout_ms: Option<u64>,
    /// How often it is tried again: 0 to 10.
    pub retries: Option<u64>,
    /// The key by which Weir knows a call again, within 10 minutes: 1 to 128 bytes. Made up when absent and needed.
    pub idempotency_key: Option<String>,
}

/// An option that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// The address is none of http or https, has no host, or has a name or a password in it.
    Url(String),
    /// An address of https, and the feature `tls` is off.
    NoTls(String),
    /// The token is empty or has a character that a header field does not take.
    Token,
    /// The key has a character that a header field does not take.
    IdempotencyKey(String),
    /// A number out of its bounds, both included.
    Number {
        /// Which option.
        name: &'static str,
        /// What it was.
        value: u64,
        /// The least that it may be.
        least: u64,
        /// The most.
        most: u64,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => write!(f, "url: {url:?} is no address of http or https"),
            Self::NoTls(url) => write!(f, "url: {url:?} needs the feature `tls`"),
            Self::Token => f.write_str("token: a text of visible ASCII is needed"),
            Self::IdempotencyKey(key) => {
                write!(f, "idempotency_key: {key:?} is not printable ASCII")
            }
            Self::Number {
                name,
                value,
                least,
                most,
            } => write!(
                f,
                "{name}: a number from {least} to {most} is needed, not {value}"
            ),
        }
    }
}

impl Error for OptionError {}

/// The options, checked and complete.
pub(crate) struct Settings {
    /// Scheme and authority.
    pub(crate) base: String,
    pub(crate) authorization: HeaderValue,
    pub(crate) fail: Fail,
    pub(crate) timeout_ms: u64,
    pub(crate) retries: u64,
    pub(crate) batch_ms: Option<u64>,
    pub(crate) hooks: Arc<dyn Hooks>,
}

impl TryFrom<Options> for Settings {
    type Error = OptionError;

    fn try_from(options: Options) -> Result<Self, OptionError> {
        check("timeout_ms", options.timeout_ms, TIMEOUT_MS)?;
        check("retries", options.retries, RETRIES)?;
        if let Some(batch_ms) = options.batch_ms {
            check("batch_ms", batch_ms, BATCH_MS)?;
        }
        Ok(Self {
            base: base(&options.url)?,
            authorization: authorization(&options.token)?,
            fail: options.fail,
            timeout_ms: options.timeout_ms,
            retries: options.retries,
            batch_ms: options.batch_ms,
            hooks: options.hooks,
        })
    }
}

impl CallOptions {
    /// Whether each value is within its bounds.
    pub(crate) fn checked(self) -> Result<Self, OptionError> {
        if let Some(timeout_ms) = self.timeout_ms {
            check("timeout_ms", timeout_ms, TIMEOUT_MS)?;
        }
        if let Some(retries) = self.retries {
            check("retries", retries, RETRIES)?;
        }
        if let Some(key) = &self.idempotency_key {
            check("idempotency_key", key.len() as u64, KEY_BYTES)?;
            if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                return Err(OptionError::IdempotencyKey(key.clone()));
            }
        }
        Ok(self)
    }
}

fn check(name: &'static str, value: u64, bounds: RangeInclusive<u64>) -> Result<(), OptionError> {
    if bounds.contains(&value) {
        return Ok(());
    }
    Err(OptionError::Number {
        name,
        value,
        least: *bounds.start(),
        most: *bounds.end(),
    })
}

fn authorization(token: &str) -> Result<HeaderValue, OptionError> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(OptionError::Token);
    }
    let mut value =
        HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| OptionError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The address without what follows its path, which ends without a slash.
fn base(url: &str) -> Result<String, OptionError> {
    let refused = || OptionError::Url(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| refused())?;
    let scheme = uri.scheme_str().unwrap_or_default();
    let authority = uri.authority().ok_or_else(refused)?.as_str();
    if !["http", "https"].contains(&scheme) || authority.contains('@') {
        return Err(refused());
    }
    if scheme == "https" && !cfg!(feature = "tls") {
        return Err(OptionError::NoTls(url.to_owned()));
    }
    let path = uri.path().trim_end_matches('/');
    Ok(format!("{scheme}://{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str, token: &str, change: impl FnOnce(Options) -> Options) -> String {
        let options = change(Options::new(url, token, Fail::Open));
        Settings::try_from(options).err().unwrap().to_string()
    }

    const URL: &str = "http://localhost:1/below/";

    #[test]
    fn options_that_make_no_sense_are_refused_by_name() {
        let table = [
            ("token", refused(URL, "", |options| options)),
            ("token", refused(URL, "two words", |options| options)),
            ("url", refused("ftp://example.com", "t", |options| options)),
            ("url", refused("example.com", "t", |options| options)),
            (
                "url",
                refused("http://n:w@example.com", "t", |options| options),
            ),
            (
                "timeout_ms",
                refused(URL, "t", |options| options.timeout_ms(0)),
            ),
            ("retries", refused(URL, "t", |options| options.retries(11))),
            ("batch_ms", refused(URL, "t", |options| options.batch_ms(0))),
        ];
        for (name, told) in table {
            assert!(told.starts_with(&format!("{name}: ")), "{told}");
        }
        for key in ["", "\n", &"k".repeat(129)] {
            let options = CallOptions {
                idempotency_key: Some(key.to_owned()),
                ..CallOptions::default()
            };
            let told = options.checked().unwrap_err().to_string();
            assert!(told.starts_with("idempotency_key: "), "{told}");
        }
    }

    #[test]
    fn paths_are_below_the_path_of_the_address() {
        let options = Options::new(format!("{URL}?query"), "t", Fail::Closed);
        let settings = Settings::try_from(options).ok().unwrap();
        assert_eq!(settings.base, "http://localhost:1/below");
        assert!(!format!("{:?}", settings.authorization).contains("Bearer"));
    }
}
