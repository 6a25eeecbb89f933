//! What the gateway answers by itself, and what the end of a request says of the origin.

use serde_json::{Value, json};
use weir_shared::decision::Reason;
use weir_shared::gateway::outcome::{Ending, Outcome, outcome};
use weir_shared::gateway::problem::Refusal;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::wire::check::DecisionBody;

fn denied(reason: Reason, retry_after_ms: Option<u64>) -> Refusal {
    Refusal::denied(&DecisionBody {
        allowed: false,
        limit: 10,
        remaining: 0,
        reset_at: 5_000,
        retry_after_ms,
        binding: "tokens".to_owned(),
        reason,
        region: "weur".to_owned(),
        window: None,
        policy_revision: 7,
        decision: Some(format!("5.{}", reason.name())),
        reservation: None,
        slot: None,
        expires_at: None,
    })
}

#[test]
fn a_denial_has_the_status_and_the_type_of_its_reason() {
    let quota = "https://iana.org/assignments/http-problem-types#quota-exceeded";
    let reduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    for (reason, status, kind) in [
        (Reason::OverShare, 429, quota),
        (Reason::CapReached, 429, quota),
        (Reason::LimitExceeded, 429, quota),
        (Reason::Concurrency, 429, quota),
        (Reason::Never, 429, quota),
        (Reason::Overloaded, 503, reduced),
        (Reason::Unavailable, 503, reduced),
    ] {
        let refusal = denied(reason, Some(1));
        assert_eq!(
            (refusal.status, refusal.kind.uri),
            (status, kind),
            "{reason:?}"
        );
        let body: Value = serde_json::from_str(&refusal.body()).unwrap();
        assert_eq!(body["violated-policies"], json!(["tokens"]), "{reason:?}");
        assert_eq!(body["status"], status, "{reason:?}");
    }
}

#[test]
fn the_forms_of_problems_stay() {
    let body = |refusal: Refusal| refusal.body();
    assert_eq!(
        body(denied(Reason::OverShare, Some(1_200))),
        r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":"The tenant has used its share of tokens.","retry_after_ms":1200,"decision":"5.over_share","violated-policies":["tokens"]}"#
    );
    assert_eq!(
        body(denied(Reason::Overloaded, Some(40))),
        r#"{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,"detail":"tokens has no capacity left for the tenant now.","retry_after_ms":40,"decision":"5.overloaded","violated-policies":["tokens"]}"#
    );
    assert_eq!(
        body(Refusal::no_route()),
        r#"{"type":"/problems/not-found","title":"There is nothing by that name","status":404,"detail":"No such route."}"#
    );
    assert_eq!(
        body(Refusal::no_tenant()),
        r#"{"type":"/problems/no-tenant","title":"A tenant is required","status":401,"detail":"The request does not say for which tenant it is made."}"#
    );
    assert_eq!(
        body(Refusal::invalid(&Invalid::new(
            "/headers/x-cost",
            Fault::Missing
        ))),
        r#"{"type":"/problems/invalid","title":"The request is not valid","status":400,"detail":"/headers/x-cost: is required","field":"/headers/x-cost"}"#
    );
    assert_eq!(
        body(Refusal::origin_unreachable()),
        r#"{"type":"/problems/origin-unreachable","title":"The origin cannot be reached","status":502,"detail":"It refused the connection, or broke it off."}"#
    );
    assert_eq!(
        body(Refusal::origin_timed_out(50)),
        r#"{"type":"/problems/origin-timeout","title":"The origin did not answer in time","status":504,"detail":"It did not begin its answer within 50 ms."}"#
    );
    assert_eq!(
        body(Refusal::loops()),
        r#"{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","title":"Request not satisfied due to detection of abnormal request pattern","status":508,"detail":"The request goes in a circle."}"#
    );
}

#[test]
fn a_denial_says_when_to_come_back_in_whole_seconds_and_never_where_that_does_not_help() {
    for (retry_after_ms, retry_after_s) in [
        (Some(0), Some(1)),
        (Some(1), Some(1)),
        (Some(1_000), Some(1)),
        (Some(1_001), Some(2)),
        (None, None),
    ] {
        let refusal = denied(Reason::LimitExceeded, retry_after_ms);
        assert_eq!(refusal.retry_after_s(), retry_after_s, "{retry_after_ms:?}");
    }
    assert_eq!(Refusal::no_route().retry_after_s(), None);
    assert_eq!(denied(Reason::OverShare, None).challenge(), None);
}

#[test]
fn the_end_of_a_request_speaks_for_or_against_the_origin_or_not_at_all() {
    let (good, bad) = (Some(Outcome::Success), Some(Outcome::Failure));
    for (statuses, expected) in [
        (&[101, 200, 204, 206, 301, 304][..], good),
        (&[429, 500, 502, 503, 504, 507, 520, 529, 599], bad),
        (
            &[400, 401, 403, 404, 408, 409, 413, 422, 451, 499, 501, 505],
            None,
        ),
        (&[0, 99, 100, 600, u16::MAX], None),
    ] {
        for status in statuses {
            assert_eq!(outcome(Ending::Answered(*status)), expected, "{status}");
        }
    }
    assert_eq!(outcome(Ending::TimedOut), bad);
    assert_eq!(outcome(Ending::Unreachable), bad);
    assert_eq!(outcome(Ending::ClientLeft), None);
}
