//! When tokens were last used, on its way to the registry: each is told at most once a while, whatever it is used for.

use weir_core::limits::TOKENS_MAX;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_wire::access::TokenUse;

/// Uses that are to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uses {
    every_ms: u64,
    tokens: OrderedMap<String, Mark>,
}

/// One token's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Mark {
    told_at: Option<EpochMs>,
    at: EpochMs,
    uses: u64,
}

impl Mark {
    fn due(&self, every_ms: u64, now: EpochMs) -> bool {
        let silent = |told_at: EpochMs| now.since(told_at) >= every_ms || now < told_at;
        self.uses > 0 && self.told_at.is_none_or(silent)
    }
}

impl Uses {
    /// None yet; each token is told at most once every `every_ms`.
    #[must_use]
    pub fn new(every_ms: u64) -> Self {
        Self {
            every_ms,
            tokens: OrderedMap::new(),
        }
    }

    /// Counts one use. Beyond [`TOKENS_MAX`] tokens and the bootstrap token, others are not counted.
    pub fn mark(&mut self, id: &str, now: EpochMs) {
        if let Some(mark) = self.tokens.get_mut(id) {
            mark.at = mark.at.max(now);
            mark.uses = mark.uses.saturating_add(1);
            return;
        }
        self.add(&TokenUse {
            id: id.to_owned(),
            at: now,
            uses: 1,
        });
    }

    /// Counts uses that were told by another.
    pub fn add(&mut self, told: &TokenUse) {
        if self.tokens.len() > TOKENS_MAX && !self.tokens.contains_key(&told.id) {
            return;
        }
        let mark = self.tokens.entry(told.id.clone()).or_default();
        mark.at = mark.at.max(told.at);
        mark.uses = mark.uses.saturating_add(told.uses);
    }

    /// Whether there is anything to tell.
    #[must_use]
    pub fn due(&self, now: EpochMs) -> bool {
        let mut marks = self.tokens.values();
        marks.any(|mark| mark.due(self.every_ms, now))
    }

    /// What is told now, at most `count` tokens.
    ///
    /// ```
    /// use weir_access::uses::Uses;
    /// use weir_core::units::EpochMs;
    /// let mut uses = Uses::new(60_000);
    /// uses.mark("a", EpochMs(1_000));
    /// uses.mark("a", EpochMs(2_000));
    /// let told = uses.take(64, EpochMs(2_000));
    /// assert_eq!((told[0].uses, told[0].at), (2, EpochMs(2_000)));
    /// uses.mark("a", EpochMs(3_000));
    /// assert!(uses.take(64, EpochMs(61_999)).is_empty());
    /// assert_eq!(uses.take(64, EpochMs(62_000))[0].uses, 1);
    /// ```
    pub fn take(&mut self, count: usize, now: EpochMs) -> Vec<TokenUse> {
        let every_ms = self.every_ms;
        let due = self.tokens.iter_mut();
        let due = due.filter(|(_, mark)| mark.due(every_ms, now)).take(count);
        let told = due.map(|(id, mark)| {
            mark.told_at = Some(now);
            TokenUse {
                id: id.clone(),
                at: mark.at,
                uses: std::mem::take(&mut mark.uses),
            }
        });
        told.collect()
    }

    /// Takes back what could not be told: it is due again at once.
    pub fn put_back(&mut self, untold: &[TokenUse]) {
        for told in untold {
            self.add(told);
            if let Some(mark) = self.tokens.get_mut(&told.id) {
                mark.told_at = None;
            }
        }
    }

    /// Forgets tokens that are not valid any more.
    pub fn retain(&mut self, valid: impl Fn(&str) -> bool) {
        self.tokens.retain(|id, _| valid(id));
    }
}
