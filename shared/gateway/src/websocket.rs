//! Requests that go on as a WebSocket (RFC 6455): which they are, what of their fields the origin gets, and how one side hears
//! that the other has closed.

use super::facts::Facts;

/// What a side is told when the socket has been open for as long as the route allows: it is going away (RFC 6455, section
/// 7.4.1).
pub const OVER: u16 = 1001;

/// Which side of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who asked for it.
    Client,
    /// Who granted it.
    Origin,
}

/// Whether a request asks to go on as a WebSocket.
///
/// ```
/// use weir_gateway::facts::{BodyLength, Facts};
/// use weir_gateway::websocket::is_asked;
/// let upgrade = |name: &str| (name == "upgrade").then(|| "WebSocket".to_owned());
/// let facts = Facts {
///     method: "GET", host: "h", path: "/", header: &upgrade, country: None, asn: None, body: BodyLength::None,
/// };
/// assert!(is_asked(&facts));
/// assert!(!is_asked(&Facts { method: "POST", ..facts }));
/// assert!(!is_asked(&Facts { header: &|_| Some("h2c".to_owned()), ..facts }));
/// ```
#[must_use]
pub fn is_asked(facts: &Facts<'_>) -> bool {
    let upgrade = facts.value("upgrade").unwrap_or_default();
    let mut protocols = upgrade.split(',').map(str::trim);
    facts.method == "GET" && protocols.any(|one| one.eq_ignore_ascii_case("websocket"))
}

/// The fields of a request to the origin that asks for a WebSocket. Key, version and extensions are those of one connection,
/// which the platform makes; the protocols are the client's.
///
/// ```
/// use weir_gateway::websocket::handshake;
/// let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
/// let sent = [
///     field("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
///     field("sec-websocket-protocol", "realtime"),
/// ];
/// let asked = handshake(sent.to_vec());
/// assert_eq!(asked, [field("sec-websocket-protocol", "realtime"), field("upgrade", "websocket")]);
/// ```
#[must_use]
pub fn handshake(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let of_connection = [
        "sec-websocket-key",
        "sec-websocket-version",
        "sec-websocket-extensions",
    ];
    let kept = headers
        .into_iter()
        .filter(|(name, _)| !of_connection.contains(&name.as_str()));
    let upgrade = ("upgrade".to_owned(), "websocket".to_owned());
    kept.chain([upgrade]).collect()
}

/// The code by which one side is closed when the other has closed with `code`; `None` for no code. Codes that nobody may send
/// stand for a side that went without a word: of a client the origin hears that it is going away, of an origin the client
/// hears of an error (RFC 6455, section 7.4).
///
/// ```
/// use weir_gateway::websocket::{Side, passed_on};
/// assert_eq!(passed_on(Side::Origin, 1000), Some(1000));
/// assert_eq!(passed_on(Side::Client, 4321), Some(4321));
/// assert_eq!(passed_on(Side::Client, 1005), None, "it closed and gave no code");
/// assert_eq!((passed_on(Side::Client, 1006), passed_on(Side::Origin, 1006)), (Some(1001), Some(1011)));
/// ```
#[must_use]
pub fn passed_on(from: Side, code: u16) -> Option<u16> {
    match (code, from) {
        (1005, _) => None,
        (1000..=1003 | 1007..=1014 | 3000..=4999, _) => Some(code),
        (_, Side::Client) => Some(1001),
        (_, Side::Origin) => Some(1011),
    }
}
