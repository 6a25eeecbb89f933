//! Tokens that were verified, so that each costs its MAC once and not with every request.

use std::hash::Hasher;
use std::rc::Rc;

use siphasher::sip::SipHasher13;
use subtle::ConstantTimeEq;
use weir_core::limits::TOKENS_VERIFIED_MAX;
use weir_core::ordered::OrderedMap;
use weir_core::units::Revision;

/// What is known of tokens, each by the text that was sent, as of one revision of all tokens.
///
/// Entries are found by a keyed hash (SipHash-1-3), and texts are compared in a time that does not depend on where they
/// differ: how long it takes says nothing of a token.
///
/// ```
/// use weir_access::verified::Verified;
/// use weir_core::units::Revision;
/// let mut verified = Verified::new((1, 2));
/// verified.remember("token", "acme", Revision(3));
/// assert_eq!(verified.get("token", Revision(3)).as_deref(), Some(&"acme"));
/// // The token may have been revoked since.
/// assert_eq!(verified.get("token", Revision(4)), None);
/// ```
#[derive(Debug, Clone)]
pub struct Verified<T> {
    key: (u64, u64),
    entries: OrderedMap<u64, Entry<T>>,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    text: Box<str>,
    revision: Revision,
    whose: Rc<T>,
}

impl<T> Verified<T> {
    /// None yet. The key of the hash is random and not told.
    #[must_use]
    pub fn new(key: (u64, u64)) -> Self {
        Self {
            key,
            entries: OrderedMap::new(),
        }
    }

    /// Whose a token is, if it was verified by `revision`.
    #[must_use]
    pub fn get(&self, text: &str, revision: Revision) -> Option<Rc<T>> {
        let entry = self.entries.get(&self.hash(text))?;
        let same: bool = entry.text.as_bytes().ct_eq(text.as_bytes()).into();
        (same && entry.revision == revision).then(|| Rc::clone(&entry.whose))
    }

    /// Whether the token was ever verified, by whatever revision.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        let entry = self.entries.get(&self.hash(text));
        entry.is_some_and(|entry| entry.text.as_bytes().ct_eq(text.as_bytes()).into())
    }

    /// Keeps whose a token is, and gives it back. What was kept is dropped when there are more than [`TOKENS_VERIFIED_MAX`].
    pub fn remember(&mut self, text: &str, whose: T, revision: Revision) -> Rc<T> {
        if self.entries.len() >= TOKENS_VERIFIED_MAX {
            self.entries.clear();
        }
        let whose = Rc::new(whose);
        let entry = Entry {
            text: text.into(),
            revision,
            whose: Rc::clone(&whose),
        };
        self.entries.insert(self.hash(text), entry);
        whose
    }

    fn hash(&self, text: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Revision = Revision(7);

    #[test]
    fn another_text_is_not_known() {
        let mut verified = Verified::new((3, 4));
        verified.remember("a-token", 1, NOW);
        for other in ["a-toke", "a-tokens", "a-tokem", ""] {
            assert_eq!(verified.get(other, NOW), None);
            assert!(!verified.has(other));
        }
    }

    #[test]
    fn a_later_word_replaces_an_earlier_one() {
        let mut verified = Verified::new((3, 4));
        verified.remember("t", 1, NOW);
        verified.remember("t", 2, Revision(8));
        assert_eq!(verified.get("t", NOW), None);
        assert_eq!(verified.get("t", Revision(8)).as_deref(), Some(&2));
    }

    #[test]
    fn no_number_of_tokens_fills_the_memory() {
        let mut verified = Verified::new((3, 4));
        for number in 0..3 * TOKENS_VERIFIED_MAX {
            verified.remember(&number.to_string(), number, NOW);
            assert!(verified.entries.len() <= TOKENS_VERIFIED_MAX);
            assert!(verified.has(&number.to_string()));
        }
    }
}
