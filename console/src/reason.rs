//! Why a decision came out as it did, in words.

use weir_shared::wire::check::Reason;

/// Every reason: the admission first, then the refusals from the most to the least usual.
pub const ALL: [Reason; 8] = [
    Reason::Admitted,
    Reason::OverShare,
    Reason::CapReached,
    Reason::LimitExceeded,
    Reason::Concurrency,
    Reason::Overloaded,
    Reason::Unavailable,
    Reason::Never,
];

/// Its name in addresses and in the API.
pub fn slug(reason: Reason) -> &'static str {
    match reason {
        Reason::Admitted => "admitted",
        Reason::OverShare => "over_share",
        Reason::CapReached => "cap_reached",
        Reason::LimitExceeded => "limit_exceeded",
        Reason::Concurrency => "concurrency",
        Reason::Overloaded => "overloaded",
        Reason::Unavailable => "unavailable",
        Reason::Never => "never",
    }
}

/// The reason of that name.
pub fn from_slug(name: &str) -> Option<Reason> {
    ALL.into_iter().find(|reason| slug(*reason) == name)
}

/// What it is called.
pub fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::Admitted => "Admitted",
        Reason::OverShare => "Over its share",
        Reason::CapReached => "Budget used up",
        Reason::LimitExceeded => "Limit exceeded",
        Reason::Concurrency => "No free slot",
        Reason::Overloaded => "Overloaded",
        Reason::Unavailable => "Out of reach",
        Reason::Never => "Can never pass",
    }
}

/// What it means.
pub fn meaning(reason: Reason) -> &'static str {
    match reason {
        Reason::Admitted => "Every limit that was asked for admitted it.",
        Reason::OverShare => "The tenant has used its share of the budget for this window.",
        Reason::CapReached => "The whole budget is used up for this window.",
        Reason::LimitExceeded => "The limit's rate or quota does not permit the cost now.",
        Reason::Concurrency => "Every slot of the guard is taken.",
        Reason::Overloaded => "The resource is overloaded and sheds load.",
        Reason::Unavailable => "What keeps the count was out of reach.",
        Reason::Never => "It costs more than the policy can ever admit.",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_in_addresses_are_those_of_the_api() {
        for reason in ALL {
            let wire = serde_json::to_value(reason).unwrap();
            assert_eq!(wire, slug(reason));
            assert_eq!(from_slug(slug(reason)), Some(reason));
        }
        assert_eq!(from_slug("Admitted"), None);
    }

    #[test]
    fn no_two_reasons_read_alike() {
        let names: BTreeSet<_> = ALL.into_iter().map(name).collect();
        let meanings: BTreeSet<_> = ALL.into_iter().map(meaning).collect();
        assert_eq!((names.len(), meanings.len()), (ALL.len(), ALL.len()));
    }
}
