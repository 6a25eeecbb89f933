//! Which hosts and paths a route is for.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::PATTERN_BYTES_MAX;

use super::origin::{form, host_name};
use super::text;

/// The hosts of a route.
///
/// ```
/// use weir_policy::route::HostPattern;
/// let every = HostPattern::read(Some("*.Example.com")).unwrap();
/// assert!(every.fits("eu.api.example.com") && !every.fits("example.com"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// Any.
    Any,
    /// This one, in lower case.
    Exact(String),
    /// Those that end with this, which begins with a dot.
    Beneath(String),
}

impl HostPattern {
    /// Reads a pattern: a host, or `*.` and what hosts end with; none for any.
    ///
    /// # Errors
    /// At `/host`.
    pub fn read(pattern: Option<&str>) -> Result<Self, Invalid> {
        let Some(pattern) = pattern else {
            return Ok(Self::Any);
        };
        let lower = pattern.to_ascii_lowercase();
        let at = |fault| Invalid::new("/host", fault);
        match lower.strip_prefix("*.") {
            Some(rest) => {
                let rest = undotted(rest);
                host_name(rest).map_err(at)?;
                Ok(Self::Beneath(format!(".{rest}")))
            }
            None => {
                let lower = undotted(&lower);
                host_name(lower).map_err(at)?;
                Ok(Self::Exact(lower.to_owned()))
            }
        }
    }

    /// Whether a host is one of them: in lower case, without port and final dot.
    #[must_use]
    pub fn fits(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => exact == host,
            Self::Beneath(end) => host.len() > end.len() && host.ends_with(end.as_str()),
        }
    }
}

/// A name without the dot that ends a complete one: it is no other name.
fn undotted(name: &str) -> &str {
    let shorter = name.strip_suffix('.').filter(|name| !name.is_empty());
    shorter.unwrap_or(name)
}

/// The paths of a route, by their segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    segments: Vec<Segment>,
    /// Whether any number of segments may follow.
    open: bool,
    /// Whether letters have a case.
    cased: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Is(String),
    Any,
}

impl PathPattern {
    /// Reads a pattern: segments after slashes, `*` for one segment, at the end for all that follow, even none.
    /// No pattern is for every path.
    ///
    /// # Errors
    /// At `/path`.
    ///
    /// ```
    /// use weir_policy::route::PathPattern;
    /// let pattern = PathPattern::read(Some("/llm/*")).unwrap();
    /// assert!(pattern.fits(&["llm", "v1", "chat"]) && pattern.fits(&["llm"]) && !pattern.fits(&["llms"]));
    /// ```
    pub fn read(pattern: Option<&str>) -> Result<Self, Invalid> {
        let at = |fault| Invalid::new("/path", fault);
        let pattern = pattern.unwrap_or("/*");
        text(pattern, PATTERN_BYTES_MAX, allowed, ALLOWED).map_err(at)?;
        let Some(rest) = pattern.strip_prefix('/') else {
            return Err(at(form("must begin with /")));
        };
        if pattern.contains("//") {
            return Err(at(form("has an empty segment")));
        }
        // A slash at the end says nothing: what it follows is matched with and without.
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let mut segments = Vec::new();
        if !rest.is_empty() {
            for segment in rest.split('/') {
                segments.push(Segment::read(segment).map_err(at)?);
            }
        }
        let open = segments.pop_if(|last| *last == Segment::Any).is_some();
        Ok(Self {
            segments,
            open,
            cased: true,
        })
    }

    /// The same, for origins that take letters of a path whatever their case is.
    ///
    /// ```
    /// use weir_policy::route::PathPattern;
    /// let pattern = PathPattern::read(Some("/Llm/*")).unwrap();
    /// assert!(!pattern.fits(&["LLM"]) && pattern.case_insensitive(true).fits(&["LLM"]));
    /// ```
    #[must_use]
    pub fn case_insensitive(self, so: bool) -> Self {
        Self { cased: !so, ..self }
    }

    /// Whether any number of segments may follow those that it names.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// A path that fits, divided: what it names, and what follows in the place of the `*` at its end. All of it is named
    /// where the pattern names nothing.
    ///
    /// ```
    /// use weir_policy::route::PathPattern;
    /// let path = ["v1", "models", "meta", "llama"];
    /// let pattern = PathPattern::read(Some("/v1/models/*")).unwrap();
    /// assert_eq!(pattern.divided(&path), path.split_at(2));
    /// let all = PathPattern::read(Some("/*")).unwrap();
    /// assert_eq!(all.divided(&path), path.split_at(4));
    /// ```
    #[must_use]
    pub fn divided<'a, S>(&self, path: &'a [S]) -> (&'a [S], &'a [S]) {
        let named = match self.segments.len() {
            0 => path.len(),
            named => named.min(path.len()),
        };
        path.split_at(named)
    }

    /// Whether a path of these decoded segments, none of them empty, is one of them.
    #[must_use]
    pub fn fits<S: AsRef<str>>(&self, path: &[S]) -> bool {
        let due = self.segments.len();
        if path.len() < due || (path.len() > due && !self.open) {
            return false;
        }
        self.agrees(path)
    }

    /// Whether it has paths that begin with these decoded segments.
    ///
    /// ```
    /// use weir_policy::route::PathPattern;
    /// let pattern = PathPattern::read(Some("/llm/v1/chat")).unwrap();
    /// assert!(pattern.reaches(&["llm", "v1"]) && !pattern.reaches(&["other"]) && !pattern.reaches(&["llm", "v1", "chat", "x"]));
    /// ```
    #[must_use]
    pub fn reaches<S: AsRef<str>>(&self, beginning: &[S]) -> bool {
        (self.open || beginning.len() <= self.segments.len()) && self.agrees(beginning)
    }

    /// Whether what both have is the same.
    fn agrees<S: AsRef<str>>(&self, path: &[S]) -> bool {
        let mut pairs = self.segments.iter().zip(path);
        pairs.all(|(segment, given)| match segment {
            Segment::Any => true,
            Segment::Is(text) if self.cased => text == given.as_ref(),
            Segment::Is(text) => text.to_lowercase() == given.as_ref().to_lowercase(),
        })
    }
}

const ALLOWED: &str = "letters, digits and -._~!$&'()*+,=:@ between slashes";

/// What stands in a path without being encoded (RFC 3986, section 3.3), but for `;`, behind which servers read
/// parameters. Letters of other scripts stand for themselves.
fn allowed(c: char) -> bool {
    match c {
        _ if c.is_ascii_alphanumeric() => true,
        _ if c.is_ascii() => "/-._~!$&'()*+,=:@".contains(c),
        _ => !c.is_control() && !c.is_whitespace(),
    }
}

impl Segment {
    fn read(segment: &str) -> Result<Self, Fault> {
        match segment {
            "." | ".." => Err(form("must not have . or ..")),
            "*" => Ok(Self::Any),
            _ if segment.contains('*') => Err(form("has a * beside other characters")),
            _ => Ok(Self::Is(segment.to_owned())),
        }
    }
}
