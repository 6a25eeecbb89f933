//! What a deployment gives callers to keep, as text that it knows again: `VERSION.BODY.MAC`. The keys are random, made
//! by the registry, and travel with the tokens, so that any isolate opens such a text by itself. The newest key seals;
//! earlier ones only open, for as long as what they sealed may last.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{SEALS_AHEAD_MAX, SEALS_MAX};
use weir_core::ordered::sort_by_key;
use weir_core::units::EpochMs;
use weir_wire::access::SealRow;

use super::token::{KEY_BYTES, TokenKey};

/// One key.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey(TokenKey);

impl SealKey {
    /// The key of these bytes, which are to be random.
    #[must_use]
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(TokenKey::new(bytes))
    }

    /// The key of a text in base64url; `None` for any other text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        TokenKey::from_text(text).map(Self)
    }

    /// Its text in base64url.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }
}

/// A key with what is known of it.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    number: u64,
    key: SealKey,
    until: Option<EpochMs>,
}

/// The keys of a deployment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SealKeys {
    /// The newest first.
    versions: Vec<Version>,
}

/// What a text comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened<'a> {
    /// This deployment sealed it for that purpose.
    Body {
        /// What it says.
        body: &'a str,
        /// Whether it was sealed by the key that seals now.
        newest: bool,
    },
    /// It says that it was sealed by a key that is newer than any here: whoever has later keys can tell.
    Newer {
        /// The version of that key.
        version: u64,
    },
    /// Nothing.
    Nothing,
}

impl SealKeys {
    /// Whether there is no key that seals.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// The version that seals; 0 for none.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.versions.first().map_or(0, |version| version.number)
    }

    /// The text of `body`; `purpose` keeps one use apart from another. `None` without a key.
    ///
    /// ```
    /// use weir_access::seal::{Opened, SealKey, SealKeys};
    /// use weir_core::units::EpochMs;
    /// use weir_wire::access::SealRow;
    /// let row = SealRow { version: 3, key: SealKey::new([7; 32]).text(), until: None };
    /// let keys = SealKeys::try_from([row].as_slice()).unwrap();
    /// let text = keys.seal("slots", "body").unwrap();
    /// assert!(text.starts_with("3.body."));
    /// let body = Opened::Body { body: "body", newest: true };
    /// assert_eq!(keys.open("slots", &text, EpochMs(0)), body);
    /// assert_eq!(keys.open("reservations", &text, EpochMs(0)), Opened::Nothing);
    /// ```
    #[must_use]
    pub fn seal(&self, purpose: &str, body: &str) -> Option<String> {
        let version = self.versions.first()?;
        let signed = format!("{}.{body}", version.number);
        let mac = version.key.0.mac_of(purpose, &signed)?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac)))
    }

    /// What a text says that was sealed for `purpose`. MACs are compared in a time that does not depend on where they
    /// differ.
    #[must_use]
    pub fn open<'a>(&self, purpose: &str, text: &'a str, now: EpochMs) -> Opened<'a> {
        self.look(purpose, text, now).unwrap_or(Opened::Nothing)
    }

    fn look<'a>(&self, purpose: &str, text: &'a str, now: EpochMs) -> Option<Opened<'a>> {
        let (signed, mac) = text.rsplit_once('.')?;
        let (number, body) = signed.split_once('.')?;
        let version = number_of(number)?;
        let newest = self.newest();
        if version > newest {
            let near = version - newest <= SEALS_AHEAD_MAX;
            return near.then_some(Opened::Newer { version });
        }
        let known = self.versions.iter().find(|one| one.number == version)?;
        let over = known.until.is_some_and(|until| now >= until);
        let given = URL_SAFE_NO_PAD.decode(mac).ok()?;
        let due = known.key.0.mac_of(purpose, signed)?;
        let held = bool::from(due.as_slice().ct_eq(&given));
        (held && !over).then_some(Opened::Body {
            body,
            newest: version == newest,
        })
    }
}

/// A number as it is written: no sign, and no zero before it, so that each text has one form.
fn number_of(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl TryFrom<&[SealRow]> for SealKeys {
    type Error = Invalid;

    fn try_from(rows: &[SealRow]) -> Result<Self, Invalid> {
        if rows.len() > SEALS_MAX {
            let (got, max, what) = (rows.len(), SEALS_MAX, "keys");
            return Err(Invalid::new("/seals", Fault::TooMany { got, max, what }));
        }
        let mut versions = Vec::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            let key = SealKey::from_text(&row.key).ok_or_else(|| {
                let message = "must be 32 bytes in base64url".to_owned();
                Invalid::new(format!("/seals/{index}/key"), Fault::Form { message })
            })?;
            versions.push(Version {
                number: row.version,
                key,
                until: row.until,
            });
        }
        sort_by_key(&mut versions, |version| std::cmp::Reverse(version.number));
        Ok(Self { versions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_without_a_key_seals_nothing() {
        let keys = |versions: &[u64]| {
            let row = |version: &u64| SealRow {
                version: *version,
                key: SealKey::new([7; KEY_BYTES]).text(),
                until: None,
            };
            let rows: Vec<_> = versions.iter().map(row).collect();
            SealKeys::try_from(rows.as_slice()).unwrap()
        };
        for (versions, newest) in [(&[][..], 0), (&[3], 3), (&[3, 5, 4], 5)] {
            let keys = keys(versions);
            assert_eq!(keys.is_empty(), versions.is_empty());
            assert_eq!(keys.newest(), newest);
            let sealed = keys.seal("slots", "body");
            assert_eq!(sealed.is_none(), versions.is_empty());
            assert!(sealed.is_none_or(|text| text.starts_with(&format!("{newest}.body."))));
        }
    }
}
