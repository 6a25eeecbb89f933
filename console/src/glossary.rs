//! What the words of the field mean: where they stand, and on a page.

/// A word that is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// How alike tenants are served.
    Jain,
    /// What a tenant has a claim to.
    Guarantee,
    /// What that comes to among those that asked.
    FairShare,
    /// What everybody would have got, had all demand been known.
    IdealShare,
    /// Beyond a guarantee.
    Borrowed,
    /// What the coordinator gave out.
    Lent,
    /// What came back.
    Returned,
    /// Units of reservations.
    Reserved,
    /// Who has units.
    Holder,
    /// Units that are no tenant's.
    Unassigned,
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
    /// What tenants share.
    Budget,
    /// A bound for each key.
    Limit,
    /// A bound of a flow.
    Meter,
    /// A bound of what runs at a time.
    Guard,
    /// Who asks.
    Tenant,
    /// What a tenant counts beside others.
    Weight,
    /// The time in which a budget is used.
    Window,
    /// Who guarantees a budget.
    Coordinator,
    /// A part of the world.
    Region,
    /// A place that decides, and what it was lent.
    Lease,
    /// A rule on trial.
    Shadow,
    /// What a tenant has at least.
    Floor,
    /// What a tenant has at most.
    Ceiling,
    /// What the tenants that want more are filled to.
    Level,
    /// What may be overloaded.
    Resource,
}

impl Term {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::Jain,
        Self::Guarantee,
        Self::FairShare,
        Self::IdealShare,
        Self::Borrowed,
        Self::Lent,
        Self::Returned,
        Self::Reserved,
        Self::Holder,
        Self::Unassigned,
        Self::Escrow,
        Self::Leased,
        Self::Isolate,
        Self::WouldDeny,
        Self::Shed,
        Self::Budget,
        Self::Limit,
        Self::Meter,
        Self::Guard,
        Self::Tenant,
        Self::Weight,
        Self::Window,
        Self::Coordinator,
        Self::Region,
        Self::Lease,
        Self::Shadow,
        Self::Floor,
        Self::Ceiling,
        Self::Level,
        Self::Resource,
    ];

    /// All of them, by their words.
    ///
    /// ```
    /// use weir_console::glossary::Term;
    /// assert_eq!(Term::sorted()[..2], [Term::Borrowed, Term::Budget]);
    /// ```
    pub fn sorted() -> [Self; Self::ALL.len()] {
        let mut terms = Self::ALL;
        terms.sort_unstable_by_key(|term| term.name());
        terms
    }

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
                "Units a window that a tenant has a claim to: its weight over all weights, times the limit. Below a \
                 parent, weights divide what the parent is guaranteed. Lists count all tenants that were seen, a window \
                 those that asked in it. A tenant may use more while others leave units unused.",
            ),
            Self::FairShare => (
                "Fair share",
                "What guarantees come to among those that ask in one window: more than among all that were seen, as long \
                 as somebody asks for nothing.",
            ),
            Self::IdealShare => (
                "Ideal share",
                "Units that a tenant would have got of a window, had all that everybody asked for been known at its start: \
                 its guarantee, and its part of what others left. Who comes later is not known, so what it got may differ.",
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
            Self::Holder => (
                "Holder",
                "A place with units of the open window: a region, which has them from the coordinator, or an isolate or \
                 an agent, which has them from its region.",
            ),
            Self::Unassigned => (
                "Unassigned",
                "Units of the open window that a holder has and that are no tenant's yet: they go to whoever asks.",
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
            Self::Budget => (
                "Budget",
                "Units in a window that all tenants share. The whole deployment together never admits more, if the \
                 budget's scope is global.",
            ),
            Self::Limit => (
                "Limit",
                "What one key may use: one address, one user, one route. Each key is counted separately.",
            ),
            Self::Meter => (
                "Meter",
                "Units a second that a tenant may use in batches of any size: a large batch is paid off before the next.",
            ),
            Self::Guard => (
                "Guard",
                "How many calls of a tenant may run at a time, and how many may start in a minute.",
            ),
            Self::Tenant => (
                "Tenant",
                "A customer of the API, or a team or user below one. Its name comes with the call, from its token or its key.",
            ),
            Self::Weight => (
                "Weight",
                "How much a tenant counts when tenants want more than there is: with the weight 2 it gets twice what it \
                 would get with 1. Unnamed tenants have a bound on what they weigh together: above it, each counts as less.",
            ),
            Self::Window => (
                "Window",
                "The time in which a budget may be used. When it ends, the next one starts with all units.",
            ),
            Self::Coordinator => (
                "Coordinator",
                "The one object that lends a budget's units to regions. As it alone lends them, no unit is used twice.",
            ),
            Self::Region => (
                "Region",
                "A part of the world with objects of its own. They hold units, so calls there are decided nearby.",
            ),
            Self::Lease => (
                "Lease",
                "Units that were lent for one window. A holder that dies keeps them until then, and nobody uses them again.",
            ),
            Self::Shadow => (
                "Shadow",
                "A rule that decides and counts, and denies nobody: a rule on trial.",
            ),
            Self::Floor => (
                "Floor",
                "Units of a window that are set aside for a tenant before weights divide the rest.",
            ),
            Self::Ceiling => (
                "Ceiling",
                "Units of a window that a tenant never exceeds, even if others use nothing.",
            ),
            Self::Level => (
                "Level",
                "Units per unit of weight up to which every tenant that wants more is served. Who wants less gets what it \
                 wants.",
            ),
            Self::Resource => (
                "Resource",
                "What serves the calls and can be overloaded: an origin, a database. Weir finds the rate that it serves, \
                 and shares that.",
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
