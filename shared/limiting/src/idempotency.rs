//! Answers that are remembered by a key of the caller's, so that what is asked again is charged once
//! (draft-ietf-httpapi-idempotency-key-header-07).
//!
//! Whoever asks first claims the key, and keeps its answer when there is one. A claim of whom nothing was heard lapses; what
//! it then keeps all the same is not taken, as somebody else has asked meanwhile.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_core::hex::hex;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{
    IDEMPOTENCY_CLAIM_MS, IDEMPOTENCY_KEY_BYTES_MAX, IDEMPOTENCY_KEYS_MAX,
    IDEMPOTENCY_KEYS_OF_ONE_MAX, IDEMPOTENCY_MS,
};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

/// The header of a request that has a key.
pub const HEADER: &str = "idempotency-key";

/// A request with a key, as it is claimed: who asks, and digests of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimBody {
    /// Version of the form.
    pub v: u16,
    /// Of the key, the path and who asks: nobody meets another's key.
    pub key: String,
    /// On whose account the key is kept.
    pub owner: String,
    /// Of the body.
    pub print: String,
}

impl ClaimBody {
    /// The claim of a request to `path` with a body, by the key that its header has.
    ///
    /// # Errors
    /// A key that is empty, longer than [`IDEMPOTENCY_KEY_BYTES_MAX`] or of other characters than visible ones of ASCII.
    ///
    /// ```
    /// use weir_limiting::idempotency::ClaimBody;
    /// let claim = |owner, key| ClaimBody::of(owner, "/v1/check", key, b"{}").unwrap();
    /// assert_eq!(claim("a", "k"), claim("a", "k"));
    /// assert_ne!(claim("a", "k").key, claim("b", "k").key);
    /// assert!(ClaimBody::of("a", "/v1/check", "", b"{}").is_err());
    /// ```
    pub fn of(owner: &str, path: &str, key: &str, body: &[u8]) -> Result<Self, Invalid> {
        let at = |fault| Invalid::new(format!("/headers/{HEADER}"), fault);
        if key.is_empty() {
            return Err(at(Fault::Missing));
        }
        if key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
            let (got, max, what) = (key.len(), IDEMPOTENCY_KEY_BYTES_MAX, "bytes");
            return Err(at(Fault::TooMany { got, max, what }));
        }
        if let Some(got) = key.chars().find(|c| !c.is_ascii_graphic()) {
            let allowed = "visible characters of ASCII";
            return Err(at(Fault::Character { got, allowed }));
        }
        Ok(Self {
            v: VERSION,
            // No token, path or key has a line break.
            key: digest(format!("{owner}\n{path}\n{key}").as_bytes()),
            owner: owner.to_owned(),
            print: digest(body),
        })
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Version of the forms.
pub const VERSION: u16 = 1;

/// What becomes of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claimed {
    /// The key is the caller's now. What it keeps names the instant.
    New {
        /// When.
        at: EpochMs,
    },
    /// The answer that was kept.
    Answered(String),
    /// Somebody is asking just now.
    UnderWay {
        /// Milliseconds until the claim lapses at the latest.
        after_ms: u64,
    },
    /// The key stands for another body.
    Differs,
    /// There is no room for more keys.
    Full,
}

/// What is kept under a claim; nothing of a request that charged nothing and may be asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepBody {
    /// Version of the form.
    pub v: u16,
    /// The key of the claim.
    pub key: String,
    /// When it was claimed.
    pub at: EpochMs,
    /// The answer.
    pub answer: Option<String>,
}

/// What is stored of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// On whose account.
    pub owner: String,
    /// Of the body.
    pub print: String,
    /// When it was claimed.
    pub at: EpochMs,
    /// The answer, once there is one.
    pub answer: Option<String>,
}

impl Remembered {
    /// The claim, as it is stored.
    #[must_use]
    pub fn of(claim: &ClaimBody, at: EpochMs) -> Self {
        Self {
            owner: claim.owner.clone(),
            print: claim.print.clone(),
            at,
            answer: None,
        }
    }

    fn is_over(&self, now: EpochMs) -> bool {
        now.since(self.at) >= IDEMPOTENCY_MS
    }

    /// Whether what somebody keeps is of this claim, and the first of it.
    #[must_use]
    pub fn takes(&self, kept: &KeepBody) -> bool {
        self.at == kept.at && self.answer.is_none()
    }
}

/// What becomes of a claim, by what is stored of its key and how many keys there are.
///
/// ```
/// use weir_limiting::idempotency::{ClaimBody, Claimed, Keys, Remembered, claim};
/// use weir_core::units::EpochMs;
/// let asked = ClaimBody::of("a", "/v1/check", "k", b"{}").unwrap();
/// let keys = Keys::default();
/// assert_eq!(claim(&asked, None, &keys, EpochMs(5)), Claimed::New { at: EpochMs(5) });
/// let mut stored = Remembered::of(&asked, EpochMs(5));
/// assert_eq!(claim(&asked, Some(&stored), &keys, EpochMs(6)), Claimed::UnderWay { after_ms: 29_999 });
/// stored.answer = Some("yes".to_owned());
/// assert_eq!(claim(&asked, Some(&stored), &keys, EpochMs(599_999)), Claimed::Answered("yes".to_owned()));
/// assert_eq!(claim(&asked, Some(&stored), &keys, EpochMs(600_005)), Claimed::New { at: EpochMs(600_005) });
/// ```
#[must_use]
pub fn claim(asked: &ClaimBody, stored: Option<&Remembered>, keys: &Keys, now: EpochMs) -> Claimed {
    let Some(stored) = stored else {
        return match keys.has_room(&asked.owner) {
            true => Claimed::New { at: now },
            false => Claimed::Full,
        };
    };
    if stored.is_over(now) {
        return Claimed::New { at: now };
    }
    if stored.print != asked.print {
        return Claimed::Differs;
    }
    let age_ms = now.since(stored.at);
    match &stored.answer {
        Some(answer) => Claimed::Answered(answer.clone()),
        None if age_ms < IDEMPOTENCY_CLAIM_MS => Claimed::UnderWay {
            after_ms: IDEMPOTENCY_CLAIM_MS - age_ms,
        },
        None => Claimed::New { at: now },
    }
}

/// How many keys are kept, and whose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    all: usize,
    of: OrderedMap<String, usize>,
}

impl Keys {
    /// Those of owners, with how many each has.
    #[must_use]
    pub fn of(owners: impl IntoIterator<Item = (String, usize)>) -> Self {
        let of: OrderedMap<_, _> = owners.into_iter().collect();
        Self {
            all: of.values().sum(),
            of,
        }
    }

    /// One more.
    pub fn add(&mut self, owner: &str) {
        self.all += 1;
        *self.of.entry(owner.to_owned()).or_default() += 1;
    }

    /// One less.
    pub fn remove(&mut self, owner: &str) {
        if let Some(own) = self.of.get_mut(owner).filter(|own| **own > 0) {
            *own -= 1;
            self.all -= 1;
        }
    }

    fn has_room(&self, owner: &str) -> bool {
        let own = self.of.get(owner).copied().unwrap_or(0);
        self.all < IDEMPOTENCY_KEYS_MAX && own < IDEMPOTENCY_KEYS_OF_ONE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> ClaimBody {
        ClaimBody::of("token-1", "/v1/check", "order-7", b"{}").unwrap()
    }

    #[test]
    fn a_key_is_one_callers_one_paths_and_one_bodys() {
        let first = asked();
        for (owner, path, key) in [
            ("token-2", "/v1/check", "order-7"),
            ("token-1", "/v1/reserve", "order-7"),
            ("token-1", "/v1/check", "order-8"),
        ] {
            assert_ne!(
                ClaimBody::of(owner, path, key, b"{}").unwrap().key,
                first.key
            );
        }
        let other = ClaimBody::of("token-1", "/v1/check", "order-7", b"[]").unwrap();
        let stored = Remembered::of(&first, EpochMs(0));
        let told = claim(&other, Some(&stored), &Keys::default(), EpochMs(1));
        assert_eq!(told, Claimed::Differs);
    }

    #[test]
    fn a_key_is_text_that_a_header_can_hold() {
        let longest = "k".repeat(IDEMPOTENCY_KEY_BYTES_MAX);
        assert!(ClaimBody::of("a", "/", &longest, b"").is_ok());
        for key in ["", "a b", "\u{e9}", "a\tb", &format!("{longest}k")] {
            let refused = ClaimBody::of("a", "/", key, b"").unwrap_err();
            assert_eq!(refused.field, "/headers/idempotency-key", "{key:?}");
        }
    }

    #[test]
    fn who_lapsed_keeps_nothing_as_another_has_asked_meanwhile() {
        let late = EpochMs(IDEMPOTENCY_CLAIM_MS);
        let stored = Remembered::of(&asked(), EpochMs(0));
        let told = claim(&asked(), Some(&stored), &Keys::default(), late);
        assert_eq!(told, Claimed::New { at: late });
        let taken_over = Remembered::of(&asked(), late);
        let kept = |at| KeepBody {
            v: VERSION,
            key: asked().key,
            at,
            answer: Some("yes".to_owned()),
        };
        assert!(!taken_over.takes(&kept(EpochMs(0))));
        assert!(taken_over.takes(&kept(late)));
        let answered = Remembered {
            answer: Some("yes".to_owned()),
            ..taken_over
        };
        assert!(!answered.takes(&kept(late)), "the first answer counts");
    }

    #[test]
    fn one_caller_s_keys_leave_room_for_others() {
        let mut keys = Keys::of([("token-1".to_owned(), IDEMPOTENCY_KEYS_OF_ONE_MAX - 1)]);
        let told = |keys: &Keys| claim(&asked(), None, keys, EpochMs(0));
        assert!(matches!(told(&keys), Claimed::New { .. }));
        keys.add("token-1");
        assert_eq!(told(&keys), Claimed::Full);
        let mut fewer = keys.clone();
        fewer.remove("token-1");
        fewer.remove("nobody");
        assert!(matches!(told(&fewer), Claimed::New { .. }));
        let other = ClaimBody::of("token-2", "/v1/check", "k", b"").unwrap();
        assert!(matches!(
            claim(&other, None, &keys, EpochMs(0)),
            Claimed::New { .. }
        ));
        // A key that is there needs no room.
        let stored = Remembered::of(&asked(), EpochMs(0));
        let again = claim(&asked(), Some(&stored), &keys, EpochMs(IDEMPOTENCY_MS));
        assert!(matches!(again, Claimed::New { .. }));
        let many = (0..20).map(|owner| (format!("o{owner}"), IDEMPOTENCY_KEYS_MAX / 20));
        assert_eq!(
            claim(&other, None, &Keys::of(many), EpochMs(0)),
            Claimed::Full
        );
    }

    #[test]
    fn the_forms_between_isolates_and_objects_stay() {
        let claim = ClaimBody {
            v: 1,
            key: "k".to_owned(),
            owner: "o".to_owned(),
            print: "p".to_owned(),
        };
        let written = serde_json::to_string(&claim).unwrap();
        assert_eq!(written, r#"{"v":1,"key":"k","owner":"o","print":"p"}"#);
        for (claimed, form) in [
            (Claimed::New { at: EpochMs(5) }, r#"{"new":{"at":5}}"#),
            (Claimed::Answered("a".to_owned()), r#"{"answered":"a"}"#),
            (
                Claimed::UnderWay { after_ms: 7 },
                r#"{"under_way":{"after_ms":7}}"#,
            ),
            (Claimed::Differs, r#""differs""#),
            (Claimed::Full, r#""full""#),
        ] {
            assert_eq!(serde_json::to_string(&claimed).unwrap(), form);
            assert_eq!(serde_json::from_str::<Claimed>(form).unwrap(), claimed);
        }
        let keep = r#"{"v":1,"key":"k","at":5,"answer":null}"#;
        let read: KeepBody = serde_json::from_str(keep).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), keep);
    }
}
