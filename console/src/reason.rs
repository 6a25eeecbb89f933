//! Why a decision came out as it did, in words.

use weir_shared::wire::check::Reason;

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

    use weir_shared::ordered::OrderedSet;

    use super::*;

    #[test]
    fn no_two_reasons_read_alike() {
        let names: OrderedSet<_> = Reason::ALL.into_iter().map(name).collect();
        let meanings: OrderedSet<_> = Reason::ALL.into_iter().map(meaning).collect();
        assert_eq!(
            (names.len(), meanings.len()),
            (Reason::ALL.len(), Reason::ALL.len())
        );
    }
}
