//! The assertion of an identity provider (Cloudflare Access): a JSON Web Token (RFC 7519) signed with RS256 (RFC 7518,
//! section 3.3). Read and judged here; the signature is verified by whoever has the keys.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json;
use crate::limits::{ASSERTION_BYTES_MAX, ASSERTION_EARLY_MS_MAX, JSON_INTEGER_MAX};
use crate::policy::name::tenant_name;
use crate::units::EpochMs;

/// The one signature that is accepted. A token says by itself how it is signed, so anything else would be its choice.
const ALGORITHM: &str = "RS256";

/// An assertion that nobody has verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// Names the key that it says it is signed with.
    pub key_id: String,
    /// What the signature is over.
    pub signed: String,
    /// The signature.
    pub signature: Vec<u8>,
    claims: Claims,
}

/// Who issued an assertion, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected<'a> {
    /// The team's domain, as a URL without a slash at the end.
    pub issuer: &'a str,
    /// The tag of the application.
    pub audience: &'a str,
}

/// Who an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// A name for the audit log.
    pub actor: String,
    /// When the assertion ends.
    pub expires_at: EpochMs,
}

#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    /// Seconds.
    exp: u64,
    /// Seconds.
    #[serde(default)]
    nbf: u64,
    #[serde(default)]
    email: Option<String>,
    /// What a service token has in the place of an address.
    #[serde(default)]
    common_name: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Assertion {
    /// Reads an assertion; `None` for what is none, is too long, or is not signed with RS256.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > ASSERTION_BYTES_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (head, claims) = signed.split_once('.')?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let head: Head = json::from_slice(&bytes(head)?).ok()?;
        if head.alg != ALGORITHM {
            return None;
        }
        Some(Self {
            key_id: head.kid,
            signature: bytes(signature)?,
            claims: json::from_slice(&bytes(claims)?).ok()?,
            signed: signed.to_owned(),
        })
    }

    /// Who it is about, if it is meant for `expected` and holds at `now`. Says nothing about the signature.
    #[must_use]
    pub fn identity(&self, expected: &Expected<'_>, now: EpochMs) -> Option<Identity> {
        let claims = &self.claims;
        let expires_at = self.holds_until(expected, now)?;
        let name = claims.email.as_ref().or(claims.common_name.as_ref())?;
        let actor = format!("access:{name}");
        tenant_name(&actor).ok()?;
        Some(Identity { actor, expires_at })
    }

    /// What it claims under `name`, a text or a whole number as text, if it is meant for `expected` and holds at
    /// `now`. Says nothing about the signature. What is judged itself (`iss`, `aud`, `exp`, `nbf`) names nobody.
    #[must_use]
    pub fn claim(&self, expected: &Expected<'_>, name: &str, now: EpochMs) -> Option<String> {
        self.holds_until(expected, now)?;
        match name {
            "email" => return self.claims.email.clone(),
            "common_name" => return self.claims.common_name.clone(),
            _ => {}
        }
        match self.claims.others.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) if !number.is_f64() => Some(number.to_string()),
            _ => None,
        }
    }

    /// When it ends, if it is meant for `expected` and holds at `now`.
    fn holds_until(&self, expected: &Expected<'_>, now: EpochMs) -> Option<EpochMs> {
        let claims = &self.claims;
        let meant = match &claims.aud {
            Audience::One(audience) => audience == expected.audience,
            Audience::Many(audiences) => audiences.iter().any(|one| one == expected.audience),
        };
        let expires_at = EpochMs(claims.exp.saturating_mul(1_000).min(JSON_INTEGER_MAX));
        let begins_at = EpochMs(claims.nbf.saturating_mul(1_000));
        let holds = now < expires_at && begins_at <= now.plus(ASSERTION_EARLY_MS_MAX);
        (meant && claims.iss == expected.issuer && holds).then_some(expires_at)
    }
}

/// The keys of an identity provider: a JSON Web Key Set (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KeySet {
    /// The keys.
    pub keys: Vec<PublicKey>,
}

/// One RSA key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// Its name.
    pub kid: String,
    /// The kind of key; only RSA keys verify anything here.
    pub kty: String,
    /// The modulus.
    #[serde(default)]
    pub n: String,
    /// The exponent.
    #[serde(default)]
    pub e: String,
}
