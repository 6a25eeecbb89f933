//! What the words of the field mean, where they stand.

/// A word that is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// How alike tenants are served.
    Jain,
    /// What a tenant has a claim to.
    Guarantee,
    /// Beyond a guarantee.
    Borrowed,
    /// What the coordinator gave out.
    Lent,
    /// What came back.
    Returned,
    /// Units of reservations.
    Reserved,
    /// What a region keeps.
    Escrow,
    /// What an isolate has.
    Leased,
    /// A process that decides.
    Isolate,
    /// Decided and not enforced.
    WouldDeny,
    /// Refused to protect a resource.
    Shed,
}

impl Term {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Jain,
        Self::Guarantee,
        Self::Borrowed,
        Self::Lent,
        Self::Returned,
        Self::Reserved,
        Self::Escrow,
        Self::Leased,
        Self::Isolate,
        Self::WouldDeny,
        Self::Shed,
    ];

    /// The word.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Jain => (
                "Jain's index",
                "How alike tenants are served, from what each got of its share: 1 when all got the same part of it, \
                 1 / n when one of n got everything.",
            ),
            Self::Guarantee => (
                "Guarantee",
                "Units a window that a tenant has a claim to: its weight over all weights, times the limit. It may use \
                 more while others leave units unused.",
            ),
            Self::Borrowed => (
                "Borrowed",
                "Units that a tenant was served beyond its guarantee, as others left them unused.",
            ),
            Self::Lent => (
                "Lent",
                "Units that the coordinator gave to regions for this window, whether they spent them or not.",
            ),
            Self::Returned => (
                "Returned",
                "Units that came back unspent, or lapsed with a holder when the window ended.",
            ),
            Self::Reserved => (
                "Reserved",
                "Units that requests set aside before their cost is known. They count as used when they are settled, \
                 as far as they were used.",
            ),
            Self::Escrow => (
                "Escrow",
                "Units that a region was lent and has not given to its isolates: it can give them without asking anybody.",
            ),
            Self::Leased => (
                "Leased",
                "Units that isolates were given by their region. An isolate spends them without asking, so some may be \
                 spent already.",
            ),
            Self::Isolate => (
                "Isolate",
                "One running copy of the Worker. Each decides by itself from the units that it holds.",
            ),
            Self::WouldDeny => (
                "Would deny",
                "Calls that passed, though a rule in shadow mode decided against them. They are in neither of admitted \
                 and denied.",
            ),
            Self::Shed => (
                "Shed",
                "Calls that a meter or an overloaded resource refused, so that others are served.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_explained_in_whole_sentences_of_its_own() {
        let mut meanings = Term::ALL.map(Term::meaning).to_vec();
        for (term, meaning) in Term::ALL.iter().zip(&meanings) {
            assert!(
                meaning.ends_with('.') && !meaning.contains("  "),
                "{term:?}"
            );
        }
        meanings.sort_unstable();
        meanings.dedup();
        assert_eq!(meanings.len(), Term::ALL.len());
    }
}
