//! Places in the queue of a shaper that are given back: nothing leaves faster for it, and nothing that is free is lost.

use crate::drawn::{START_MS, config};
use proptest::prelude::*;
use weir_shared::algorithms::leaky_bucket::{LeakyBucket, LeakyBucketReceipt, LeakyBucketState};
use weir_shared::algorithms::scale::{Scaled, ScaledReceipt};
use weir_shared::algorithms::{Algorithm, Receipt};
use weir_shared::decision::Retry;
use weir_shared::limits::FREE_PLACES_MAX;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

/// A request that has a place.
#[derive(Debug, Clone)]
struct Request {
    receipt: LeakyBucketReceipt,
    cost: u64,
    /// When it leaves, in ticks, and until when it has the queue's end for itself.
    span: (u128, u128),
    gone: bool,
}

/// A queue with all who ever had a place in it.
struct Queue {
    shaper: LeakyBucket,
    state: Option<LeakyBucketState>,
    now: EpochMs,
    latest: EpochMs,
    requests: Vec<Request>,
}

impl Queue {
    fn empty(rate: f64, queue_ms: f64) -> Self {
        Self {
            shaper: LeakyBucket::new(Decimal(rate), Decimal(queue_ms)).unwrap(),
            state: None,
            now: EpochMs(START_MS),
            latest: EpochMs(START_MS),
            requests: Vec::new(),
        }
    }

    fn enter(&mut self, cost: u64) -> Option<u64> {
        let reserved = self.shaper.reserve(self.state.as_ref(), cost, self.now);
        let next = reserved.next?;
        let receipt = self.shaper.receipt(&next).unwrap();
        let per_ms = u128::from(receipt.ticks_per_ms);
        let from = u128::from(receipt.place.ms) * per_ms + u128::from(receipt.place.ticks);
        assert_eq!(receipt.delay_ms(), reserved.outcome.delay_ms);
        self.requests.push(Request {
            receipt,
            cost,
            span: (from, from + u128::from(receipt.place.length)),
            gone: false,
        });
        self.latest = EpochMs(next.latest_ms);
        self.state = Some(next);
        Some(reserved.outcome.delay_ms)
    }

    /// A request goes away; whether its place, or the rest of it, is free then.
    fn go(&mut self, index: usize) -> bool {
        let request = &self.requests[index];
        let (state, receipt) = (self.state.as_ref().unwrap(), request.receipt);
        let left = self.shaper.refund(state, &receipt, request.cost, self.now);
        let Some(left) = left else {
            return false;
        };
        self.latest = EpochMs(left.latest_ms);
        let at = u128::from(left.latest_ms) * u128::from(receipt.ticks_per_ms);
        let again = self.shaper.refund(&left, &receipt, request.cost, self.now);
        assert_eq!(again, None, "what is free was freed again");
        self.state = Some(left);
        let request = &mut self.requests[index];
        // What has passed of it was its own.
        request.span.1 = request.span.0.max(at).min(request.span.1);
        request.gone = true;
        true
    }

    /// Fails where two have the same time.
    fn stands_apart(&self) -> Result<(), TestCaseError> {
        let mut spans: Vec<_> = self.requests.iter().map(|one| one.span).collect();
        spans.retain(|(from, to)| from < to);
        spans.sort_unstable();
        for two in spans.windows(2) {
            prop_assert!(two[0].1 <= two[1].0, "{two:?} of {:?}", self.requests);
        }
        Ok(())
    }
}

/// Milliseconds that pass, what comes, and who goes.
fn steps() -> impl Strategy<Value = Vec<(i64, u64, Option<prop::sample::Index>)>> {
    let gap_ms = prop_oneof![5 => Just(0_i64), 3 => 0..=400_i64, 1 => -300..=0_i64];
    let cost = prop_oneof![6 => Just(1_u64), 2 => 1..=4_u64, 1 => Just(0)];
    let goes = prop::option::weighted(0.5, any::<prop::sample::Index>());
    prop::collection::vec((gap_ms, cost, goes), 1..=40)
}

fn queues() -> impl Strategy<Value = (f64, f64)> {
    let rate = prop_oneof![Just(10.0), Just(3.0), Just(7.3), Just(1_000.0), Just(0.9)];
    let queue_ms = prop_oneof![Just(0.0), Just(250.5), Just(2_000.0), Just(20_000.0)];
    (rate, queue_ms)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whoever_goes_away_what_leaves_keeps_its_distance((rate, queue_ms) in queues(), steps in steps()) {
        let mut queue = Queue::empty(rate, queue_ms);
        for (gap_ms, cost, goes) in steps {
            queue.now = EpochMs(queue.now.0.saturating_add_signed(gap_ms));
            queue.enter(cost);
            if let Some(goes) = goes.filter(|_| !queue.requests.is_empty()) {
                let index = goes.index(queue.requests.len());
                if !queue.requests[index].gone {
                    queue.go(index);
                }
            }
            queue.stands_apart()?;
            let free = queue.state.as_ref().map_or(0, |state| state.free.len());
            prop_assert!(free <= FREE_PLACES_MAX);
        }
    }

    #[test]
    fn a_place_that_was_left_is_the_next_one_s_who_fits((rate, queue_ms) in queues(), steps in steps(), goes in any::<prop::sample::Index>()) {
        let mut queue = Queue::empty(rate, queue_ms);
        for (gap_ms, cost, _) in steps {
            queue.now = queue.now.plus(gap_ms.unsigned_abs());
            queue.enter(cost);
        }
        let mut waiting: Vec<usize> = (0..queue.requests.len()).collect();
        let now = queue.now.max(queue.latest);
        waiting.retain(|index| queue.requests[*index].receipt.place.ms >= now.0);
        if waiting.is_empty() {
            return Ok(());
        }
        let index = waiting[goes.index(waiting.len())];
        let place = queue.requests[index].receipt.place;
        prop_assert!(queue.go(index));
        let left_ms = place.ms + u64::from(place.ticks > 0) - now.0;
        let cost = queue.requests[index].cost;
        let delay_ms = queue.enter(cost);
        prop_assert!(delay_ms.is_some_and(|delay_ms| delay_ms <= left_ms), "{delay_ms:?}, not {left_ms}");
    }

    #[test]
    fn a_queue_that_all_have_left_is_empty(count in 1..=FREE_PLACES_MAX, order in any::<u64>()) {
        let mut queue = Queue::empty(10.0, 20_000.0);
        for _ in 0..=count {
            queue.enter(1);
        }
        // The first leaves at once: its time is its own.
        let mut waiting: Vec<usize> = (1..=count).collect();
        let mut order = order;
        while !waiting.is_empty() {
            let index = waiting.remove(order as usize % waiting.len());
            order = order.rotate_left(7);
            prop_assert!(queue.go(index));
        }
        prop_assert_eq!(queue.enter(1), Some(100));
    }
}

#[test]
fn a_full_queue_takes_one_more_for_each_who_leaves_and_a_refusal_says_when() {
    // One leaves at once, and two wait for 100 and 200 of 250 ms.
    let mut queue = Queue::empty(10.0, 250.0);
    assert_eq!(
        (0..3).map(|_| queue.enter(1)).collect::<Vec<_>>(),
        [0, 100, 200].map(Some)
    );
    let refused = queue
        .shaper
        .check(queue.state.as_ref(), 1, queue.now)
        .decision;
    assert_eq!(refused.retry, Retry::AfterMs(50));
    assert!(queue.go(1));
    assert_eq!(queue.enter(1), Some(100), "in the middle");
    assert_eq!(queue.enter(1), None);
    assert!(queue.go(2));
    assert_eq!(queue.enter(1), Some(200), "at the end");
    assert_eq!(queue.enter(1), None);
}

#[test]
fn what_is_too_long_for_a_place_goes_to_the_end_and_leaves_the_place_free() {
    let mut queue = Queue::empty(10.0, 2_000.0);
    for _ in 0..3 {
        queue.enter(1);
    }
    assert!(queue.go(1));
    assert_eq!(queue.enter(2), Some(300));
    assert_eq!(queue.enter(1), Some(100));
    assert_eq!(queue.enter(1), Some(500));
}

#[test]
fn a_place_whose_time_has_come_is_given_back_no_more() {
    let mut queue = Queue::empty(10.0, 2_000.0);
    queue.enter(1);
    queue.enter(2);
    queue.enter(1);
    queue.now = queue.now.plus(200);
    // Of the second's two units the first has left, and there is room for one until 300.
    assert!(queue.go(1));
    assert_eq!(queue.enter(1), Some(0));
    queue.now = queue.now.plus(200);
    assert!(!queue.go(0));
    assert!(!queue.go(2));
}

#[test]
fn a_changed_rate_keeps_no_place_that_it_would_measure_otherwise() {
    let shaper = LeakyBucket::new(Decimal(10.0), Decimal(2_000.0)).unwrap();
    let now = EpochMs(START_MS);
    let mut state = shaper.reserve(None, 1, now).next.unwrap();
    let mut receipts = Vec::new();
    for _ in 0..3 {
        state = shaper.reserve(Some(&state), 1, now).next.unwrap();
        receipts.push(shaper.receipt(&state).unwrap());
    }
    let left = shaper.refund(&state, &receipts[0], 1, now).unwrap();
    let slower = LeakyBucket::new(Decimal(7.3), Decimal(2_000.0)).unwrap();
    assert_eq!(slower.refund(&left, &receipts[1], 1, now), None);
    assert_eq!(slower.reserve(Some(&left), 1, now).outcome.delay_ms, 400);
}

#[test]
fn a_queue_decides_as_any_limit_does() {
    let shaper = LeakyBucket::new(Decimal(10.0), Decimal(250.0)).unwrap();
    let machine = Scaled::whole(Algorithm::LeakyBucket(shaper));
    assert_eq!(machine.queue(), Some(&shaper));
    assert_eq!(
        (
            machine.quota_policy().quota,
            machine.quota_policy().window_ms
        ),
        (3, 300)
    );
    let now = EpochMs(START_MS);
    let two = machine.check(None, 2, now).next.unwrap();
    let third = machine.check(Some(&two), 1, now);
    let state = third.next.unwrap();
    let receipt: ScaledReceipt = machine.receipt(&state);
    assert_eq!(receipt.delay_ms(), 200);
    assert!(matches!(receipt.receipt, Receipt::LeakyBucket(_)));
    assert_eq!(machine.spendable_until(&state, now), now);
    assert!(!machine.check(Some(&state), 1, now).decision.admitted());
    let left = machine.refund(&state, &receipt, 1, now).unwrap();
    assert!(machine.check(Some(&left), 1, now).decision.admitted());
    let full = machine.exhausted(now);
    assert_eq!(
        machine.check(Some(&full), 1, now).decision.retry,
        Retry::AfterMs(100)
    );
    // The state of another rule counts as a queue in which what was used waits.
    assert_eq!(Scaled::new(&Algorithm::LeakyBucket(shaper), 2), None);
}
