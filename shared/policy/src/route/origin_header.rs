//! Headers that an origin gets from the deployment: the credential of a provider, above all.
//!
//! A policy names secrets and never holds them. Whoever edits policies decides where they go, so none of Weir's own can
//! be named.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{ORIGIN_HEADERS_MAX, ORIGIN_PREFIX_BYTES_MAX, SECRET_NAME_BYTES_MAX};
use weir_core::ordered::OrderedMap;
use weir_wire::route::OriginHeaderBody;

use super::header::{HeaderName, is_reserved};
use super::{required, text};
use crate::count;

/// What the names of Weir's own variables and secrets begin with.
const OWN: &str = "WEIR_";

/// A header that the origin gets, whatever the client sent by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginHeader {
    /// Its name.
    pub name: HeaderName,
    /// The secret that is its value.
    pub secret: SecretName,
    /// What stands before that: `Bearer `, for example.
    pub prefix: String,
}

/// The name of a secret of the deployment that is not Weir's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretName(String);

impl SecretName {
    /// Reads a name.
    ///
    /// # Errors
    /// What is wrong with it, for the caller to place.
    ///
    /// ```
    /// use weir_policy::route::SecretName;
    /// assert_eq!(SecretName::read("OPENAI_KEY").unwrap().as_str(), "OPENAI_KEY");
    /// assert!(SecretName::read("WEIR_BOOTSTRAP_TOKEN").is_err());
    /// ```
    pub fn read(name: &str) -> Result<Self, Fault> {
        let allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        text(name, SECRET_NAME_BYTES_MAX, allowed, "A-Z, 0-9 and _")?;
        if name.starts_with(OWN) {
            let (got, served) = (name.to_owned(), "secrets that are not Weir's own");
            return Err(Fault::Unserved { got, served });
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The headers that are written at `{at}/headers`.
///
/// # Errors
/// The first fault.
pub(super) fn headers(
    bodies: &OrderedMap<String, OriginHeaderBody>,
    at: &str,
) -> Result<Vec<OriginHeader>, Invalid> {
    let at = format!("{at}/headers");
    count(&at, "headers", bodies.len(), ORIGIN_HEADERS_MAX)?;
    let mut headers: Vec<OriginHeader> = Vec::with_capacity(bodies.len());
    for (name, body) in bodies {
        let field = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let header = header(name, body).map_err(|refused| refused.under(&field))?;
        if headers.iter().any(|other| other.name == header.name) {
            let got = header.name.as_str().to_owned();
            return Err(Invalid::new(field, Fault::Duplicate { got }));
        }
        headers.push(header);
    }
    Ok(headers)
}

/// Whether a policy may say what an origin gets by that name, in lower case: not what concerns the connection, or what
/// Weir says of where a request comes from.
fn is_settable(name: &str) -> bool {
    let framing = name == "content-length" || name == "cookie";
    !(framing || name.starts_with("x-forwarded-") || is_reserved(name))
}

fn header(name: &str, body: &OriginHeaderBody) -> Result<OriginHeader, Invalid> {
    let name = HeaderName::read(name).map_err(|fault| Invalid::new("", fault))?;
    if !is_settable(name.as_str()) {
        let (got, served) = (name.as_str().to_owned(), "headers that Weir does not write");
        return Err(Invalid::new("", Fault::Unserved { got, served }));
    }
    let secret = SecretName::read(required(body.secret.as_deref(), "/secret")?);
    let prefix = body.prefix.clone().unwrap_or_default();
    let printable = |c: char| c.is_ascii_graphic() || c == ' ';
    if !prefix.is_empty() {
        let names = "those of a header's value";
        text(&prefix, ORIGIN_PREFIX_BYTES_MAX, printable, names)
            .map_err(|fault| Invalid::new("/prefix", fault))?;
    }
    Ok(OriginHeader {
        name,
        secret: secret.map_err(|fault| Invalid::new("/secret", fault))?,
        prefix,
    })
}
