//! A request that a proxy has received and asks about: what it was, as the proxy says in header fields.

use weir_access::endpoint::carried;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::METHOD_BYTES_MAX;

use super::facts::{BodyLength, Facts};

/// Names under which proxies say the method, the host and the URI; the first is the one to use.
const METHOD: [&str; 2] = ["x-forwarded-method", "x-original-method"];
const HOST: [&str; 1] = ["x-forwarded-host"];
const URI: [&str; 2] = ["x-forwarded-uri", "x-original-uri"];

/// What a request was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    method: String,
    host: String,
    /// Percent-encoded, without its query.
    path: String,
}

impl Described {
    /// The request that a question is about. Where the path of the question carries that of the request ([`carried`]), its
    /// method and host are the request's too, and no field says anything else. Otherwise the URI has to be said; method
    /// and host are those of the question where they are not.
    ///
    /// # Errors
    /// At the field: a URI that is missing, a method that is none, and two fields that say different things, one of which
    /// the client may have written.
    pub fn read(question: &Facts<'_>) -> Result<Self, Invalid> {
        if let Some(path) = carried(question.path) {
            return Ok(Self {
                method: question.method.to_owned(),
                host: question.host.to_owned(),
                path: path.to_owned(),
            });
        }
        let uri = said(question, &URI)?;
        let uri = uri.ok_or_else(|| Invalid::new(at(URI[0]), Fault::Missing))?;
        let path = uri.split(['?', '#']).next().unwrap_or_default();
        let method = said(question, &METHOD)?;
        if !method.as_deref().is_none_or(is_method) {
            let message = "is not the name of a method".to_owned();
            return Err(Invalid::new(at(METHOD[0]), Fault::Form { message }));
        }
        Ok(Self {
            method: method.unwrap_or_else(|| question.method.to_owned()),
            host: said(question, &HOST)?.unwrap_or_else(|| question.host.to_owned()),
            path: path.to_owned(),
        })
    }

    /// What is known of the request; `header` reads a field of the question. Nobody says where on earth it came from, and
    /// how long its body is: that it has one is taken from its method.
    pub fn facts<'a>(&'a self, header: &'a dyn Fn(&str) -> Option<String>) -> Facts<'a> {
        Facts {
            method: &self.method,
            host: &self.host,
            path: &self.path,
            header,
            country: None,
            asn: None,
            body: match self.method.as_str() {
                "GET" | "HEAD" => BodyLength::None,
                _ => BodyLength::Unknown,
            },
        }
    }
}

/// What the fields of these names say, all that are there the same.
fn said(question: &Facts<'_>, names: &[&'static str]) -> Result<Option<String>, Invalid> {
    let mut said: Option<(String, &'static str)> = None;
    for name in names {
        let Some(value) = question.value(name) else {
            continue;
        };
        if let Some((_, by)) = said.as_ref().filter(|(first, _)| *first != value) {
            let message =
                format!("says something else than {by}: the proxy has to set both or neither");
            return Err(Invalid::new(at(name), Fault::Form { message }));
        }
        said = said.or(Some((value, name)));
    }
    Ok(said.map(|(value, _)| value))
}

fn at(name: &str) -> String {
    format!("/headers/{name}")
}

/// Of the characters that a method may have (RFC 9110, section 5.6.2), those that any has.
fn is_method(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.len() <= METHOD_BYTES_MAX && text.bytes().all(fits)
}
