//! Tokens as text: `weir_ID.SECRET.MAC`, each part in base64url. The MAC lets whoever has the key tell a token of this
//! deployment from garbage without asking anyone; the secret lets nobody make another from an id that was seen.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use weir_core::hex::hex;

/// Bytes of a token's id: two of 2,000 are never equal by accident.
pub const ID_BYTES: usize = 12;

/// Bytes of a token's secret: 192 bits cannot be guessed.
pub const SECRET_BYTES: usize = 24;

/// Bytes of the MAC that travel: with 128 bits one in 2^128 guesses passes.
pub const MAC_BYTES: usize = 16;

/// Bytes of the key of the MAC (RFC 2104, section 3: as long as the hash).
pub const KEY_BYTES: usize = 32;

/// How every token begins.
pub const PREFIX: &str = "weir_";
const PURPOSE: &[u8] = b"weir token 1\0";

/// The key of the tokens' MAC.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenKey([u8; KEY_BYTES]);

impl TokenKey {
    /// The key of these bytes, which are to be random.
    #[must_use]
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The key of a text in base64url; `None` for any other text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        bytes(text).map(Self)
    }

    /// Its text in base64url.
    #[must_use]
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// A MAC (HMAC-SHA256, RFC 2104) of something that is no token; `purpose` keeps one use apart from another.
    #[must_use]
    pub fn mac_of(&self, purpose: &str, message: &str) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(message.as_bytes());
        Some(mac.finalize().into_bytes().into())
    }

    /// The first bytes of HMAC-SHA256 (RFC 2104) of `signed`.
    fn mac(&self, signed: &str) -> Option<[u8; MAC_BYTES]> {
        // A key of any length is taken, so there is always a MAC.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(PURPOSE);
        mac.update(signed.as_bytes());
        let whole = mac.finalize().into_bytes();
        whole.first_chunk().copied()
    }
}

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not of the form of a token.
    Malformed,
    /// This deployment did not make it.
    Forged,
    /// It was valid, and is no more.
    Expired,
    /// Made by this deployment, and not in the table: newer than the table, or revoked.
    Unknown {
        /// Its id.
        id: String,
    },
}

/// A token with a true MAC. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
    id: String,
}

impl Token {
    /// A new token of random bytes; `None` never happens, as every key gives a MAC.
    ///
    /// ```
    /// use weir_access::token::{Token, TokenKey};
    /// let key = TokenKey::new([7; 32]);
    /// let token = Token::make(&key, [1; 12], [2; 24]).unwrap();
    /// assert_eq!(token.text().len(), 5 + 16 + 1 + 32 + 1 + 22);
    /// assert!(Token::open(&key, token.text()).is_ok_and(|opened| opened.id() == token.id()));
    /// ```
    #[must_use]
    pub fn make(key: &TokenKey, id: [u8; ID_BYTES], secret: [u8; SECRET_BYTES]) -> Option<Self> {
        let id = URL_SAFE_NO_PAD.encode(id);
        let signed = format!("{id}.{}", URL_SAFE_NO_PAD.encode(secret));
        let mac = URL_SAFE_NO_PAD.encode(key.mac(&signed)?);
        Some(Self {
            text: format!("{PREFIX}{signed}.{mac}"),
            id,
        })
    }

    /// The token of a text, if the key made it. The MAC is compared in a time that does not depend on where it differs.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] or [`Refusal::Forged`].
    pub fn open(key: &TokenKey, text: &str) -> Result<Self, Refusal> {
        let (signed, given) = parts(text).ok_or(Refusal::Malformed)?;
        let due = key.mac(signed).ok_or(Refusal::Forged)?;
        if !bool::from(due.ct_eq(&given)) {
            return Err(Refusal::Forged);
        }
        let (id, _) = signed.split_once('.').ok_or(Refusal::Malformed)?;
        Ok(Self {
            text: text.to_owned(),
            id: id.to_owned(),
        })
    }

    /// What names it: no secret.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All of it, to be shown once.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is kept of it: SHA-256 of the text, in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.text.as_bytes()))
    }

    /// Whether `hash` is this token's, in a time that does not depend on where it differs.
    #[must_use]
    pub fn has_hash(&self, hash: &str) -> bool {
        self.hash().as_bytes().ct_eq(hash.as_bytes()).into()
    }
}

/// Whether the text is an id of a token: 12 bytes in base64url.
#[must_use]
pub fn is_id(text: &str) -> bool {
    bytes::<ID_BYTES>(text).is_some()
}

/// Whether the text is of the form of a token: its MAC may still be anyone's.
#[must_use]
pub fn is_token(text: &str) -> bool {
    parts(text).is_some()
}

/// What is signed, and the MAC, of a text of the right form.
fn parts(text: &str) -> Option<(&str, [u8; MAC_BYTES])> {
    let (signed, mac) = text.strip_prefix(PREFIX)?.rsplit_once('.')?;
    let (id, secret) = signed.split_once('.')?;
    let _id: [u8; ID_BYTES] = bytes(id)?;
    let _secret: [u8; SECRET_BYTES] = bytes(secret)?;
    Some((signed, bytes(mac)?))
}

/// The `N` bytes of a text in base64url.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    // No longer text can be of so many bytes; none is decoded that is.
    if text.len() != (N * 4).div_ceil(3) {
        return None;
    }
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
