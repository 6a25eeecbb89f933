//! Bursts: requests that come one after the other before a holder makes its next contact.

use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use crate::federation::chain::Chain;
use crate::federation::terms;

const START: EpochMs = EpochMs(1_000_000);
const WINDOW_MS: u64 = 20_000;
const LIMITS: [u64; 7] = [1, 3, 10, 30, 300, 1_000, 30_000];
const REQUESTS: [u64; 6] = [1, 3, 10, 30, 100, 300];
const GAPS_MS: [u64; 5] = [0, 1, 7, 40, 300];

/// How a budget is shared; `None`: whoever comes first is served.
const RULES: [Option<RuleBody>; 4] = [
    None,
    Some(RuleBody::Paced),
    Some(RuleBody::Pooled),
    Some(RuleBody::None),
];

/// A burst of as many requests as a limit has room for.
#[derive(Debug, Clone, Copy)]
struct Burst {
    rule: Option<RuleBody>,
    limit: u64,
    cost: u64,
    requests: u64,
    gap_ms: u64,
}

impl Burst {
    fn chain(&self) -> Chain {
        let sharing = self.rule.map(|rule| SharingBody {
            rule,
            tenants_max: 10,
            unknown_weight_max: 100_000_000,
            floors: FloorsBody::default(),
        });
        let terms = Terms {
            window_ms: WINDOW_MS,
            sharing,
            ..terms(self.limit)
        };
        Chain::new(terms, START)
    }

    fn party(&self, name: &str) -> Party {
        match self.rule {
            Some(_) => Claimant::plain(name).into(),
            None => Party::Everyone,
        }
    }
}

/// All bursts that are over within a window.
fn bursts() -> impl Iterator<Item = Burst> {
    let rules = RULES.into_iter();
    let limits = rules.flat_map(|rule| LIMITS.map(|limit| (rule, limit)));
    let costs = limits.flat_map(|one| REQUESTS.map(|requests| (one, one.1 / requests)));
    let all = costs.flat_map(|one| GAPS_MS.map(|gap_ms| (one, gap_ms)));
    let bursts = all.filter(|(((_, _), cost), _)| *cost > 0);
    let bursts = bursts.map(|(((rule, limit), cost), gap_ms)| Burst {
        rule,
        limit,
        cost,
        requests: limit / cost,
        gap_ms,
    });
    bursts.filter(|burst| burst.requests * burst.gap_ms < WINDOW_MS - 1_000)
}

#[test]
fn who_asks_alone_in_a_burst_gets_the_whole_limit() {
    let mut played = 0;
    for burst in bursts() {
        let mut chain = burst.chain();
        for request in 0..burst.requests {
            let admitted = chain.check(0, &burst.party("a"), burst.cost);
            assert!(admitted, "{burst:?}, request {request}");
            chain.goes_on(burst.gap_ms);
        }
        played += 1;
    }
    assert!(played > 500, "{played}");
}

/// Requests of bursts at two isolates in turn, and those of them that were denied: only where less than another request lies
/// elsewhere than at the other isolate.
fn denied_at_two_isolates(rule: Option<RuleBody>) -> (u64, u64) {
    let (mut requests, mut denied) = (0, 0);
    for burst in bursts().filter(|burst| burst.rule == rule) {
        let mut chain = burst.chain();
        let mut left = burst.limit;
        for request in 0..burst.requests {
            let here = request as usize % 2;
            requests += 1;
            if chain.check(here, &burst.party("a"), burst.cost) {
                left -= burst.cost;
            } else {
                denied += 1;
                let there = chain.isolates[1 - here].lease().unwrap().balance();
                assert!(
                    left < there + 2 * burst.cost,
                    "{burst:?}, request {request}: {left} left, {there} there"
                );
            }
            chain.goes_on(burst.gap_ms);
        }
    }
    (requests, denied)
}

#[test]
fn who_asks_alone_at_two_isolates_is_denied_what_lies_at_the_other_as_where_the_first_is_served() {
    let (requests, first_come) = denied_at_two_isolates(None);
    assert!(first_come * 50 < requests, "{first_come} of {requests}");
    for rule in RULES.into_iter().filter(Option::is_some) {
        let (_, denied) = denied_at_two_isolates(rule);
        println!("{rule:?}: {denied}, first come: {first_come} of {requests}");
        assert!(denied <= 2 * first_come, "{rule:?}: {denied}, {first_come}");
    }
}

#[test]
fn two_that_ask_in_bursts_for_half_of_their_guarantees_are_denied_nothing() {
    let keeps = |burst: &Burst| matches!(burst.rule, Some(RuleBody::Paced | RuleBody::Pooled));
    for burst in bursts().filter(keeps) {
        let mut chain = burst.chain();
        for request in 0..burst.requests / 4 {
            for name in ["a", "b"] {
                let admitted = chain.check(0, &burst.party(name), burst.cost);
                assert!(admitted, "{burst:?}, {name}'s request {request}");
                chain.goes_on(burst.gap_ms / 2);
            }
        }
    }
}
