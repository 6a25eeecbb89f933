//! Memory under names that come once and never again: what isolates, a region, a coordinator and a ledger keep of a shared
//! budget stops growing.
//!
//! `WEIR_SOAK_MINUTES=n` plays so many minutes of simulated time, ten otherwise.

use allocation_counter::measure;

use weir_shared::accounting::books::Books;
use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::frame::Outbox;
use weir_shared::accounting::pending::{InWindow, WindowClaim};
use weir_shared::decision::Reason;
use weir_shared::fairness::ask::Claimant;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use crate::federation::chain::Chain;
use crate::federation::terms;

const START: EpochMs = EpochMs(1_700_000_000_000);
const WINDOW_MS: u64 = 10_000;
const REQUESTS_PER_SEC: u64 = 200;
const MINUTES: u64 = 10;
/// Requests that a name makes before it is never heard of again.
const REQUESTS_A_NAME: u64 = 2;
const MIB: i64 = 1 << 20;

struct World {
    chain: Chain,
    outboxes: [Outbox; 2],
    ledger: Books,
    requests: u64,
    admitted: u64,
}

impl World {
    fn new() -> Self {
        let terms = Terms {
            window_ms: WINDOW_MS,
            sharing: Some(SharingBody {
                rule: RuleBody::Pooled,
                tenants_max: 100_000,
                unknown_weight_max: 100_000_000_000,
                floors: FloorsBody::default(),
            }),
            // Every other request is one too many.
            ..terms(REQUESTS_PER_SEC * WINDOW_MS / 2_000)
        };
        Self {
            chain: Chain::new(terms, START),
            outboxes: [1, 2].map(|id| Outbox::new(HolderId(id), Incarnation(1))),
            ledger: Books::default(),
            requests: 0,
            admitted: 0,
        }
    }

    fn plays(&mut self, minutes: u64) {
        for _ in 0..minutes * 60 {
            for _ in 0..REQUESTS_PER_SEC {
                self.asks();
                // Ten milliseconds are the step of the chain.
                if self.requests.is_multiple_of(REQUESTS_PER_SEC / 100) {
                    self.chain.goes_on(10);
                }
            }
            for index in 0..self.outboxes.len() {
                self.tells(index);
            }
            if self.ledger.fold_due(self.chain.now) {
                let _rows = self.ledger.fold(self.chain.now).unwrap();
            }
        }
    }

    /// One request, of a name of its own or of the one before.
    fn asks(&mut self) {
        let isolate = (self.requests / REQUESTS_A_NAME % 2) as usize;
        let tenant = format!("stranger-{}", self.requests / REQUESTS_A_NAME);
        let party = Claimant::plain(&tenant).into();
        self.requests += 1;
        let admitted = self.chain.check(isolate, &party, 1);
        self.admitted += u64::from(admitted);
        let decided = Decided {
            tenant: &tenant,
            known: false,
            charged: Charged::Budget("tokens"),
            reason: if admitted {
                Reason::Admitted
            } else {
                Reason::OverShare
            },
            units: 1,
        };
        let lease = self.chain.isolates[isolate].lease().unwrap();
        let window = InWindow {
            budget: "tokens",
            label: lease.label,
            limit: lease.limit,
            ends_at: lease.ends_at,
            claim: WindowClaim::default(),
        };
        self.outboxes[isolate].decided(&decided, Some(&window));
    }

    /// What an isolate has counted in a second becomes an entry of the ledger.
    fn tells(&mut self, index: usize) {
        let outbox = &mut self.outboxes[index];
        while let Some(frame) = outbox.begin(self.chain.now) {
            let taken = self.ledger.take(&frame, self.chain.now);
            outbox.finish(&taken.reply).unwrap();
        }
    }
}

#[test]
fn what_is_kept_of_names_that_never_come_again_stops_growing() {
    let minutes = std::env::var("WEIR_SOAK_MINUTES").map_or(MINUTES, |text| text.parse().unwrap());
    let part = (minutes / 5).max(1);
    let mut world = World::new();
    // What was allocated and not freed after each fifth.
    let mut live = Vec::new();
    for fifth in 1..=5 {
        let played = measure(|| world.plays(part));
        let before: i64 = live.last().copied().unwrap_or(0);
        live.push(before + played.bytes_current);
        println!(
            "{:4} min, {:7} names: {:6} KiB live, at most {:6} KiB more meanwhile",
            fifth * part,
            world.requests / REQUESTS_A_NAME,
            live[live.len() - 1] / 1_024,
            played.bytes_max / 1_024
        );
        assert!(played.bytes_max < 64 * MIB as u64, "{played:?}");
    }
    let asked = world.requests as f64;
    assert!(
        world.admitted as f64 > asked * 0.4,
        "{} of {asked}",
        world.admitted
    );
    // Names differ by a digit and lists by what they have room for.
    let (first, most) = (live[0], live.iter().max().unwrap());
    assert!(*most <= first + first / 4 + MIB, "{live:?}");
}
