//! The assertion of an identity provider (Cloudflare Access, the issuer of a route's tokens): a JSON Web Token (RFC 7519)
//! signed with RSA or ECDSA (RFC 7518, sections 3.3 to 3.5) or EdDSA (RFC 8037, section 3.1). Read and judged here; the
//! signature is verified by whoever has the keys. A signature by a shared secret (HS256) is never read: the key sets of
//! providers are public.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::json;
use weir_core::limits::{
    ASSERTION_BYTES_MAX, ASSERTION_EARLY_MS_MAX, JSON_INTEGER_MAX, RSA_BITS_MIN,
};
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

/// Bytes of a public key of Ed25519.
const ED25519_BYTES: usize = 32;

/// The signatures that are accepted. A token says by itself how it is signed; its key says so, too, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// The same with SHA-384.
    Rs384,
    /// The same with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256, and a salt as long as the hash.
    Ps256,
    /// The same with SHA-384.
    Ps384,
    /// The same with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// ECDSA on P-521 with SHA-512.
    Es512,
    /// Ed25519.
    EdDsa,
}

/// The kind of key that an algorithm takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    /// The curve, and bytes of a coordinate.
    Curve(&'static str, usize),
    Ed25519,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::EdDsa,
    ];

    /// Its name in tokens and keys.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Bits of its hash; `None` for Ed25519, whose hash is its own.
    ///
    /// ```
    /// use weir_access::jwt::Algorithm;
    /// assert_eq!(Algorithm::Ps384.hash_bits(), Some(384)); // a salt of 384 / 8 = 48 bytes
    /// assert_eq!(Algorithm::EdDsa.hash_bits(), None);
    /// ```
    #[must_use]
    pub fn hash_bits(self) -> Option<u32> {
        match self {
            Self::Rs256 | Self::Ps256 | Self::Es256 => Some(256),
            Self::Rs384 | Self::Ps384 | Self::Es384 => Some(384),
            Self::Rs512 | Self::Ps512 | Self::Es512 => Some(512),
            Self::EdDsa => None,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    fn key_kind(self) -> KeyKind {
        match self {
            Self::Rs256 | Self::Rs384 | Self::Rs512 | Self::Ps256 | Self::Ps384 | Self::Ps512 => {
                KeyKind::Rsa
            }
            Self::Es256 => KeyKind::Curve("P-256", 32),
            Self::Es384 => KeyKind::Curve("P-384", 48),
            // 521 bits.
            Self::Es512 => KeyKind::Curve("P-521", 66),
            Self::EdDsa => KeyKind::Ed25519,
        }
    }
}

/// An assertion that nobody has verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// Names the key that it says it is signed with.
    pub key_id: String,
    /// How it says it is signed.
    pub algorithm: Algorithm,
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
    /// Fields that have to be understood (RFC 7515, section 4.1.11): none is.
    #[serde(default)]
    crit: Option<Value>,
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
    others: OrderedMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Assertion {
    /// Reads an assertion; `None` for what is none, is too long, is signed in another way than those of [`Algorithm`], or
    /// asks for something to be understood that is not.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > ASSERTION_BYTES_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (head, claims) = signed.split_once('.')?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let head: Head = json::from_slice(&bytes(head)?).ok()?;
        if head.crit.is_some() {
            return None;
        }
        Some(Self {
            algorithm: Algorithm::named(&head.alg)?,
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

/// One key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublicKey {
    /// Its name; a key without one verifies nothing.
    pub kid: String,
    /// The kind of key: `RSA`, `EC` or `OKP`.
    pub kty: String,
    /// What it is for: `sig`, or another use.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    pub intended: Option<String>,
    /// What may be done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_ops: Option<Vec<String>>,
    /// The one algorithm that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// The modulus of an RSA key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub n: String,
    /// The exponent of an RSA key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub e: String,
    /// The curve.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub crv: String,
    /// The first coordinate of a point, or the public key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub x: String,
    /// The second coordinate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub y: String,
}

impl PublicKey {
    /// Whether it verifies any signature that is accepted.
    #[must_use]
    pub fn is_of_signatures(&self) -> bool {
        Algorithm::ALL.into_iter().any(|one| self.verifies(one))
    }

    /// Whether it verifies signatures of that algorithm: it is of the kind and the strength, and meant for no other use.
    ///
    /// ```
    /// use weir_access::jwt::{Algorithm, PublicKey};
    /// let key = PublicKey {
    ///     kid: "one".to_owned(), kty: "OKP".to_owned(), crv: "Ed25519".to_owned(),
    ///     x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".to_owned(), ..PublicKey::default()
    /// };
    /// assert!(key.verifies(Algorithm::EdDsa) && !key.verifies(Algorithm::Es256));
    /// let for_encryption = PublicKey { intended: Some("enc".to_owned()), ..key };
    /// assert!(!for_encryption.verifies(Algorithm::EdDsa));
    /// ```
    #[must_use]
    pub fn verifies(&self, algorithm: Algorithm) -> bool {
        let is = |said: &Option<String>, due: &str| said.as_deref().is_none_or(|said| said == due);
        let operations = self.key_ops.as_ref();
        let may = operations.is_none_or(|all| all.iter().any(|one| one == "verify"));
        let meant = is(&self.intended, "sig") && is(&self.alg, algorithm.name()) && may;
        let kind = (self.kty.as_str(), self.crv.as_str());
        let fits = match algorithm.key_kind() {
            KeyKind::Rsa => self.kty == "RSA" && bits(&self.n) >= RSA_BITS_MIN,
            KeyKind::Curve(curve, bytes) => {
                kind == ("EC", curve) && is_bytes(&self.x, bytes) && is_bytes(&self.y, bytes)
            }
            KeyKind::Ed25519 => kind == ("OKP", "Ed25519") && is_bytes(&self.x, ED25519_BYTES),
        };
        meant && fits && !self.kid.is_empty()
    }
}

/// Bits of a number in base64url; 0 for what is none.
fn bits(number: &str) -> usize {
    let bytes = URL_SAFE_NO_PAD.decode(number).unwrap_or_default();
    let mut significant = bytes.iter().skip_while(|byte| **byte == 0);
    match significant.next() {
        Some(first) => 8 * (significant.count() + 1) - first.leading_zeros() as usize,
        None => 0,
    }
}

fn is_bytes(text: &str, count: usize) -> bool {
    let bytes = URL_SAFE_NO_PAD.decode(text);
    bytes.is_ok_and(|bytes| bytes.len() == count)
}
