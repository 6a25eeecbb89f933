//! A console's session: a text that names the token it was opened with and says until when, sealed by the deployment.
//! What it permits is what its token permits now: with the token it ends, and it ends before when somebody logs out
//! ([`super::ended`]) or all sessions are ended, by a newer key.

use weir_core::limits::{SESSION_EARLY_MS_MAX, SESSION_MS};
use weir_core::units::EpochMs;

use super::ended::EndedSessions;
use super::grant::Principal;
use super::seal::{Opened, SealKeys};

/// Keeps sessions apart from whatever else is sealed.
const PURPOSE: &str = "weir session 3";

/// The cookie over https. By its prefix a browser takes it from the host itself alone, for every path, and over https
/// (RFC 6265bis, section 4.1.3.2): nothing beside Weir can set it.
pub const COOKIE: &str = "__Host-weir_session";

/// The cookie over plain http on the own machine, where browsers take no cookie with that prefix.
pub const COOKIE_LOCAL: &str = "weir_session";

/// The name of the session's cookie at an address.
///
/// ```
/// use weir_access::session::{COOKIE, COOKIE_LOCAL, cookie_name};
/// assert_eq!(cookie_name("http", "localhost:8787"), COOKIE_LOCAL);
/// assert_eq!(cookie_name("http", "[::1]:8787"), COOKIE_LOCAL);
/// assert_eq!(cookie_name("https", "localhost:8787"), COOKIE);
/// assert_eq!(cookie_name("http", "weir.example.com"), COOKIE);
/// ```
#[must_use]
pub fn cookie_name(scheme: &str, authority: &str) -> &'static str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let local = ["localhost", "127.0.0.1", "[::1]"];
    if scheme == "http" && local.contains(&host.to_ascii_lowercase().as_str()) {
        COOKIE_LOCAL
    } else {
        COOKIE
    }
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The id of the token that it was opened with.
    pub token: String,
    /// Its own.
    pub id: String,
    /// When it ends by itself.
    pub expires_at: EpochMs,
}

/// What a text that may be a session's comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// A session that goes on.
    Open(Session),
    /// It says that it was sealed by a key that is newer than any here.
    Newer {
        /// The version of that key.
        version: u64,
    },
    /// No session of this deployment, or one that has ended.
    Nothing,
}

impl Session {
    /// A new session of a token. `id` is to be random, and of one word.
    #[must_use]
    pub fn new(token: String, id: String, now: EpochMs) -> Self {
        Self {
            token,
            id,
            expires_at: now.plus(SESSION_MS),
        }
    }

    /// The same, ending with its token where that expires sooner.
    #[must_use]
    pub fn ending_with(self, principal: Option<&Principal>) -> Self {
        let end = principal.and_then(|principal| principal.expires_at);
        Self {
            expires_at: end.map_or(self.expires_at, |end| end.min(self.expires_at)),
            ..self
        }
    }

    /// Its text; `None` where the deployment has no key.
    #[must_use]
    pub fn seal(&self, keys: &SealKeys) -> Option<String> {
        let Self {
            token,
            id,
            expires_at,
        } = self;
        keys.seal(PURPOSE, &format!("{}.{id}.{token}", expires_at.0))
    }

    /// What a text comes to: it has to be sealed by the newest key, and to end within a session's length from now.
    #[must_use]
    pub fn judge(text: &str, keys: &SealKeys, ended: &EndedSessions, now: EpochMs) -> Judged {
        match keys.open(PURPOSE, text, now) {
            Opened::Body { body, newest: true } => {
                let session = Self::read(body, now).filter(|session| !ended.has(session));
                session.map_or(Judged::Nothing, Judged::Open)
            }
            Opened::Newer { version } => Judged::Newer { version },
            Opened::Body { newest: false, .. } | Opened::Nothing => Judged::Nothing,
        }
    }

    fn read(body: &str, now: EpochMs) -> Option<Self> {
        let mut parts = body.splitn(3, '.');
        let expires_at = EpochMs(parts.next()?.parse().ok()?);
        let (id, token) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let latest = now.plus(SESSION_MS + SESSION_EARLY_MS_MAX);
        (now < expires_at && expires_at <= latest).then_some(Self {
            token,
            id,
            expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::role::Role;

    use super::*;

    #[test]
    fn a_session_ends_no_later_than_its_token() {
        let session = || Session::new("token".to_owned(), "id".to_owned(), EpochMs(0));
        let ends = |expires_at: Option<EpochMs>| {
            let principal = Principal {
                token: Some("token".to_owned()),
                actor: "somebody".to_owned(),
                role: Role::Viewer,
                tenant: None,
                prefix: None,
                expires_at,
            };
            session().ending_with(Some(&principal)).expires_at
        };
        assert_eq!(ends(Some(EpochMs(5_000))), EpochMs(5_000));
        assert_eq!(ends(Some(EpochMs(2 * SESSION_MS))), EpochMs(SESSION_MS));
        assert_eq!(ends(None), EpochMs(SESSION_MS));
        assert_eq!(session().ending_with(None).expires_at, EpochMs(SESSION_MS));
    }
}
