//! Reading a request's path, so that Weir and the origin behind it mean the same by it.
//!
//! Dot segments are resolved (RFC 3986, section 5.2.4), and what is forwarded is the path without them. Two readings of
//! the rest are kept: segments as they are divided by slashes, and as a lenient server divides them, which also takes
//! an encoded slash or a backslash for one and cuts off what follows a `;`. A request that the two readings would give
//! to different routes is refused: it could be charged as one thing and served as another.

use weir_core::limits::PATH_BYTES_MAX;
use weir_core::percent::decoded;

/// A path that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    /// What is forwarded: as it was sent, without dot segments.
    pub forwarded: String,
    /// Its segments, decoded, without those that are empty.
    pub strict: Vec<String>,
    /// Its segments as a lenient server reads them; `None` where they are the same.
    pub lenient: Option<Vec<String>>,
}

/// Why a path cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It does not begin with a slash.
    NoSlash,
    /// It is longer than [`PATH_BYTES_MAX`].
    TooLong,
    /// It has a `%` without two hexadecimal digits, or bytes that are not UTF-8.
    Encoding,
    /// It has a control character, be it encoded.
    Control,
    /// It has a dot segment once what is encoded is decoded: servers disagree on what that means.
    HiddenDots,
}

impl Unreadable {
    /// In words.
    #[must_use]
    pub fn detail(self) -> &'static str {
        match self {
            Self::NoSlash => "The path does not begin with /.",
            Self::TooLong => "The path is too long.",
            Self::Encoding => "The path is not percent-encoded UTF-8.",
            Self::Control => "The path has a control character.",
            Self::HiddenDots => "The path has an encoded . or .. segment.",
        }
    }
}

impl RequestPath {
    /// Reads a path as it was sent, without a query.
    ///
    /// # Errors
    /// Why it cannot be read.
    ///
    /// ```
    /// use weir_gateway::path::RequestPath;
    /// let path = RequestPath::read("/a/./b/../c%20d//e").unwrap();
    /// assert_eq!(path.forwarded, "/a/c%20d//e");
    /// assert_eq!(path.strict, ["a", "c d", "e"]);
    /// ```
    pub fn read(raw: &str) -> Result<Self, Unreadable> {
        if raw.len() > PATH_BYTES_MAX {
            return Err(Unreadable::TooLong);
        }
        let rest = raw.strip_prefix('/').ok_or(Unreadable::NoSlash)?;
        let kept = resolved(rest);
        let mut strict = Vec::with_capacity(kept.len());
        for segment in &kept {
            let segment = decoded(segment).map_err(|_| Unreadable::Encoding)?;
            if segment.chars().any(char::is_control) {
                return Err(Unreadable::Control);
            }
            strict.push(segment);
        }
        let mut lenient = Vec::with_capacity(strict.len());
        for part in strict.iter().flat_map(|segment| segment.split(['/', '\\'])) {
            let name = part.split(';').next().unwrap_or_default();
            if is_dots(name) {
                return Err(Unreadable::HiddenDots);
            }
            if !name.is_empty() {
                lenient.push(name.to_owned());
            }
        }
        strict.retain(|segment| !segment.is_empty());
        Ok(Self {
            forwarded: format!("/{}", kept.join("/")),
            lenient: (lenient != strict).then_some(lenient),
            strict,
        })
    }
}

/// The segments without dot segments; `..` takes the one before it along. A dot segment at the end leaves a slash.
fn resolved(rest: &str) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept
}

fn is_dots(segment: &str) -> bool {
    segment == "." || segment == ".."
}
