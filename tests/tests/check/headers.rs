//! The headers of a decision.

use weir_shared::wire::check::DecisionBody;
use weir_tests::clock::epoch_ms;
use weir_tests::ratelimit;
use weir_tests::reply::Reply;

/// `Retry-After` is in whole seconds and never too early.
#[track_caller]
pub(crate) fn assert_retry_after(reply: &Reply, retry_after_ms: u64) {
    assert!(retry_after_ms > 0);
    assert_eq!(
        reply.header("retry-after"),
        Some(retry_after_ms.div_ceil(1_000).to_string().as_str())
    );
}

/// The headers of a decision that was asked for at an instant. The seconds left are those of some moment from then on.
#[track_caller]
pub(crate) fn assert_rate_limit(
    reply: &Reply,
    decision: &DecisionBody,
    asked: u64,
    (quota, window_s): (u64, u64),
) {
    let limit =
        ratelimit::parse_one(reply.header("ratelimit").expect("a RateLimit header")).unwrap();
    assert_eq!(
        (limit.name.as_str(), limit.parameter("r").unwrap()),
        (decision.binding.as_str(), decision.remaining)
    );
    let reset_s = limit.parameter("t").unwrap();
    let left_s = |at: u64| decision.reset_at.saturating_sub(at).div_ceil(1_000);
    let expected = left_s(epoch_ms()).saturating_sub(1)..=left_s(asked) + 1;
    assert!(
        expected.contains(&reset_s),
        "t={reset_s}, expected {expected:?}"
    );
    let policy = ratelimit::parse_one(
        reply
            .header("ratelimit-policy")
            .expect("a RateLimit-Policy header"),
    )
    .unwrap();
    assert_eq!(policy.name, decision.binding);
    assert_eq!(
        (
            policy.parameter("q").unwrap(),
            policy.parameter("w").unwrap()
        ),
        (quota, window_s)
    );
}
