//! What is known of a request before the first byte of its body.

use std::fmt;

/// A request's facts.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Its method, as it was sent.
    pub method: &'a str,
    /// The host that it names, as it was sent: any case, with or without a port.
    pub host: &'a str,
    /// Its path as it was sent, percent-encoded, without a query.
    pub path: &'a str,
    /// The value of a header field by its name in lower case, several fields of one name joined with `, `.
    pub header: &'a dyn Fn(&str) -> Option<String>,
    /// The country that it comes from, where the platform knows.
    pub country: Option<&'a str>,
    /// The number of the network that it comes from, where the platform knows.
    pub asn: Option<u64>,
    /// Its body.
    pub body: BodyLength,
}

/// How long a request's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// It has none.
    None,
    /// So many bytes, as `content-length` says; who sends says no more than that (RFC 9112, section 6.3).
    Known(u64),
    /// It is not known before it ends.
    Unknown,
}

impl Facts<'_> {
    /// The value of a header field, without blanks around it; `None` where there is none or nothing in it.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<String> {
        let value = (self.header)(name)?;
        let value = value.trim_matches([' ', '\t']);
        (!value.is_empty()).then(|| value.to_owned())
    }
}

impl fmt::Debug for Facts<'_> {
    /// Without headers: they may carry secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method, host, path, ..
        } = self;
        write!(f, "{method} {host}{path}")
    }
}
