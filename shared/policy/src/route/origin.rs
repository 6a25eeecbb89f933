//! Where admitted requests go.

use std::net::{Ipv4Addr, Ipv6Addr};

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{
    HOST_BYTES_MAX, ORIGIN_TIMEOUT_MS, ORIGIN_TIMEOUT_MS_MAX, ORIGIN_TIMEOUT_MS_MIN,
    PATTERN_BYTES_MAX, URL_BYTES_MAX,
};
use weir_wire::route::OriginBody;

use super::origin_header::{self, OriginHeader};
use super::origin_limits::{self, OriginLimits};
use super::{inside, required, text};
use crate::between;

/// An origin and its patience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Where it is.
    pub url: OriginUrl,
    /// What the path of a request begins with that this origin's does not have.
    pub strip_prefix: StripPrefix,
    /// How long it may take until its answer begins.
    pub timeout_ms: u64,
    /// What it gets from the deployment; none unless nobody on the way can read it.
    pub headers: Vec<OriginHeader>,
    /// Where it tells how much it lets through. None of the origin of requests that no route takes.
    pub limits: Option<OriginLimits>,
}

impl Origin {
    /// One of which nothing but the URL is said.
    #[must_use]
    pub fn at(url: OriginUrl) -> Self {
        Self {
            url,
            strip_prefix: StripPrefix::default(),
            timeout_ms: ORIGIN_TIMEOUT_MS,
            headers: Vec::new(),
            limits: None,
        }
    }

    /// The origin that is written at the pointer `at`.
    ///
    /// # Errors
    /// The first fault, at `{at}/..`.
    pub(super) fn read(body: Option<&OriginBody>, at: &str) -> Result<Self, Invalid> {
        let body = required(body, at)?;
        let url = required(body.url.as_deref(), &format!("{at}/url"))?;
        let url = OriginUrl::read(url).map_err(|fault| Invalid::new(format!("{at}/url"), fault))?;
        let timeout_ms = between(
            &format!("{at}/timeout_ms"),
            body.timeout_ms.unwrap_or(ORIGIN_TIMEOUT_MS),
            ORIGIN_TIMEOUT_MS_MIN,
            ORIGIN_TIMEOUT_MS_MAX,
        )?;
        let prefix = body.strip_prefix.as_deref().unwrap_or_default();
        let strip_prefix = StripPrefix::read(prefix)
            .map_err(|fault| Invalid::new(format!("{at}/strip_prefix"), fault))?;
        let headers = origin_header::headers(&body.headers, at)?;
        if !headers.is_empty() && !url.is_private() {
            let message = "must begin with https://, as it gets secrets";
            return Err(Invalid::new(format!("{at}/url"), form(message)));
        }
        Ok(Self {
            url,
            strip_prefix,
            timeout_ms,
            headers,
            limits: origin_limits::read(body, at)?,
        })
    }
}

/// What the path of a request begins with that its origin's does not have: whole segments, as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StripPrefix(String);

impl StripPrefix {
    /// Reads a prefix; an empty one takes nothing off.
    ///
    /// # Errors
    /// What is wrong with it, for the caller to place.
    pub fn read(prefix: &str) -> Result<Self, Fault> {
        let prefix = prefix.trim_end_matches('/');
        if prefix.is_empty() {
            return Ok(Self::default());
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        text(
            prefix,
            PATTERN_BYTES_MAX,
            plain,
            "a-z, A-Z, 0-9, -, ., _, ~ and /",
        )?;
        let dots = |segment: &str| [".", ".."].contains(&segment);
        if !prefix.starts_with('/') || prefix.contains("//") || prefix.split('/').any(dots) {
            return Err(form(
                "must begin with a slash, without . or .. or empty segments",
            ));
        }
        Ok(Self(prefix.to_owned()))
    }

    /// The path without it; the path as it is where that begins otherwise.
    ///
    /// ```
    /// use weir_policy::route::StripPrefix;
    /// let llm = StripPrefix::read("/llm").unwrap();
    /// assert_eq!(llm.off("/llm/v1/models"), "/v1/models");
    /// assert_eq!((llm.off("/llm"), llm.off("/llms/x"), llm.off("/x")), ("/", "/llms/x", "/x"));
    /// ```
    #[must_use]
    pub fn off<'a>(&self, path: &'a str) -> &'a str {
        match path.strip_prefix(&self.0) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }
}

/// A URL that requests are sent to: `http` or `https`, without credentials, query or fragment (RFC 3986).
///
/// ```
/// use weir_policy::route::OriginUrl;
/// let url = OriginUrl::read("https://Origin.example.com:8443/base/").unwrap();
/// assert_eq!(url.text(), "https://origin.example.com:8443/base");
/// assert!(OriginUrl::read("https://user:secret@origin.example.com").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginUrl {
    scheme: Scheme,
    /// Host and port, in lower case.
    authority: String,
    /// Empty, or a path that begins with a slash and does not end with one.
    base: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl OriginUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it, for the caller to place.
    pub fn read(url: &str) -> Result<Self, Fault> {
        let printable = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
        text(url, URL_BYTES_MAX, printable, "those of a URL")?;
        let schemes = [("https://", Scheme::Https), ("http://", Scheme::Http)];
        let found = schemes.into_iter().find_map(|(name, scheme)| {
            let (head, rest) = url.split_at_checked(name.len())?;
            head.eq_ignore_ascii_case(name).then_some((scheme, rest))
        });
        let (scheme, rest) = found.ok_or_else(|| form("must begin with https:// or http://"))?;
        let (authority, base) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(form("must not carry credentials"));
        }
        if base.contains(['?', '#']) {
            return Err(form("must end with its path: no query and no fragment"));
        }
        let dots = |segment: &str| [".", ".."].contains(&segment);
        let encoded = base.to_ascii_lowercase().replace("%2e", ".");
        if encoded.split('/').any(dots) || base.contains("//") {
            return Err(form("must not have . or .. or empty segments"));
        }
        Ok(Self {
            scheme,
            authority: self::authority(authority)?,
            base: base.trim_end_matches('/').to_owned(),
        })
    }

    /// The whole, without a slash at its end.
    #[must_use]
    pub fn text(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}{}", self.authority, self.base)
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether only the inside of a network reaches it, as far as the URL tells: a private, link-local, loopback or
    /// otherwise special address, or a name that never leaves a machine or a network. A public name may still lead there.
    ///
    /// ```
    /// use weir_policy::route::OriginUrl;
    /// let inside = |url: &str| OriginUrl::read(url).unwrap().is_inside();
    /// assert!(inside("http://169.254.169.254/") && inside("http://localhost:8080") && inside("http://0x7f.1"));
    /// assert!(!inside("https://origin.example.com") && !inside("https://192.0.9.1"));
    /// ```
    #[must_use]
    pub fn is_inside(&self) -> bool {
        inside::is_inside(&host_alone(&self.authority))
    }

    /// Whether nobody on the way can read or change what is sent: it is encrypted, or does not leave the machine.
    #[must_use]
    pub fn is_private(&self) -> bool {
        let host = split_port(&self.authority).0;
        let local = host == "localhost" || host == "[::1]";
        let loopback = host.parse().is_ok_and(|host: Ipv4Addr| host.is_loopback());
        self.scheme == Scheme::Https || local || loopback
    }
}

/// Host and port in lower case: a name of letters, digits, `-`, `_` and dots, an IPv4 address, or an IPv6 address in
/// brackets.
fn authority(given: &str) -> Result<String, Fault> {
    let lower = given.to_ascii_lowercase();
    let (host, port) = split_port(&lower);
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_port = |port: &str| digits(port) && port.parse().is_ok_and(|port: u16| port > 0);
    if let Some(port) = port.filter(|port| !is_port(port)) {
        return Err(Fault::OutOfRange {
            got: format!("port {port:?}"),
            min: "1".to_owned(),
            max: u16::MAX.to_string(),
        });
    }
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match bracketed {
        Some(inner) if inner.parse::<Ipv6Addr>().is_ok() => Ok(lower),
        Some(_) => Err(form("has an IPv6 address that cannot be read")),
        None => {
            host_name(host)?;
            Ok(lower)
        }
    }
}

/// Host and port, which follows the last colon outside of brackets.
pub(crate) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// The host of an authority as hosts are compared: in lower case, without its port, and without the dot that ends a name
/// that is complete.
///
/// ```
/// use weir_policy::route::host_alone;
/// assert_eq!(host_alone("Api.Example.com.:8443"), "api.example.com");
/// assert_eq!(host_alone("[::1]:80"), "[::1]");
/// ```
#[must_use]
pub fn host_alone(authority: &str) -> String {
    let mut host = split_port(authority).0.to_ascii_lowercase();
    if host.ends_with('.') {
        host.pop();
    }
    host
}

/// Refuses what is no name of a host in lower case: labels of `a-z 0-9 - _` with dots between.
pub(super) fn host_name(host: &str) -> Result<(), Fault> {
    let allowed =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_' || c == '.';
    text(host, HOST_BYTES_MAX, allowed, "a-z, 0-9, -, _ and .")?;
    if host.split('.').any(str::is_empty) {
        return Err(form("has an empty label"));
    }
    Ok(())
}

pub(super) fn form(message: &str) -> Fault {
    let message = message.to_owned();
    Fault::Form { message }
}
