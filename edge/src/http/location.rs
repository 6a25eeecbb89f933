//! The address of a request, as the platform has read and written it (WHATWG URL): nothing is left to be made out but
//! where its parts are. A parser of URLs brings Unicode's tables along, which are a tenth of a megabyte.

use worker::Request;

/// An address.
pub struct Location {
    text: String,
    /// Where the host begins, and where the path does.
    host: (usize, usize),
    /// Where the path ends.
    path: usize,
}

impl Location {
    /// Of this request.
    pub fn of(request: &Request) -> Self {
        let mut text = request.inner().url();
        text.truncate(text.find('#').unwrap_or(text.len()));
        let after_scheme = text.find("://").map_or(0, |at| at + 3);
        let end = |from: usize, ends: &[char]| text[from..].find(ends).map(|at| from + at);
        let path = end(after_scheme, &['/', '?']).unwrap_or(text.len());
        let host = text[after_scheme..path].rfind('@');
        Self {
            host: (host.map_or(after_scheme, |at| after_scheme + at + 1), path),
            path: end(path, &['?']).unwrap_or(text.len()),
            text,
        }
    }

    /// `https`, or another.
    pub fn scheme(&self) -> &str {
        self.text.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// The host, with the port if it is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.text[self.host.0..self.host.1]
    }

    /// The path, as it was encoded.
    pub fn path(&self) -> &str {
        match &self.text[self.host.1..self.path] {
            "" => "/",
            path => path,
        }
    }

    /// What follows the question mark, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.text[self.path..].strip_prefix('?')
    }

    /// The origin (RFC 6454, section 6.2).
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.host())
    }
}
