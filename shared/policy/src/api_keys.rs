//! Whose an API key is. The policy knows keys by their hash alone: who reads it cannot use them.

use sha2::{Digest, Sha256};
use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{API_KEY_BYTES_MAX, API_KEYS_MAX};
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedMap;

use super::count;

/// Tenants by the SHA-256 of their key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiKeys(OrderedMap<[u8; 32], String>);

impl ApiKeys {
    /// Reads hashes in hexadecimal and their tenants.
    ///
    /// # Errors
    /// At `/api_keys/..`.
    pub fn read(hashes: &OrderedMap<String, String>) -> Result<Self, Invalid> {
        count("/api_keys", "API keys", hashes.len(), API_KEYS_MAX)?;
        let mut keys = OrderedMap::new();
        for (text, tenant) in hashes {
            let at = |fault| Invalid::new(format!("/api_keys{}", step(text)), fault);
            tenant_name(tenant).map_err(at)?;
            let hash = hash(text).map_err(at)?;
            if keys.insert(hash, tenant.clone()).is_some() {
                // The same digits in another case.
                let got = text.clone();
                return Err(at(Fault::Duplicate { got }));
            }
        }
        Ok(Self(keys))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose the key is; `None` for one that nobody has. It is looked up by its hash, so that how long that takes says
    /// nothing about other keys.
    ///
    /// ```
    /// use weir_core::ordered::OrderedMap;
    /// use weir_policy::api_keys::ApiKeys;
    /// // The SHA-256 of "abc" (FIPS 180-2, appendix B.1).
    /// let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    /// let keys = ApiKeys::read(&OrderedMap::from([(hash.to_owned(), "acme".to_owned())])).unwrap();
    /// assert_eq!(keys.tenant("abc"), Some("acme"));
    /// assert_eq!(keys.tenant("abd"), None);
    /// ```
    #[must_use]
    pub fn tenant(&self, key: &str) -> Option<&str> {
        if key.len() > API_KEY_BYTES_MAX {
            return None;
        }
        let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        self.0.get(&hash).map(String::as_str)
    }
}

/// The bytes of a hash in hexadecimal, in either case.
///
/// # Errors
/// A character that is no digit, or another number of digits than 64.
pub fn hash(text: &str) -> Result<[u8; 32], Fault> {
    let digits = text.as_bytes();
    if let Some(got) = text.chars().find(|c| !c.is_ascii_hexdigit()) {
        let allowed = "the hexadecimal digits of a SHA-256";
        return Err(Fault::Character { got, allowed });
    }
    if digits.len() != 64 {
        return Err(Fault::OutOfRange {
            got: format!("{} digits", digits.len()),
            min: "64".to_owned(),
            max: "64".to_owned(),
        });
    }
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Ok(hash)
}
