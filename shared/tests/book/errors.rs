//! The page of reasons and errors.

use weir_shared::decision::Reason;
use weir_shared::gateway::problem::Refusal;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::wire::check::DecisionBody;

use crate::book::source::{snake, variants};

const REASONS: &str = include_str!("../../wire/src/check.rs");
const FAILURES: &str = include_str!("../../../edge/src/http/failure.rs");

const HEAD: &str = "\
# Errors

A denied check is an answer, not an error: its status is 200, and it says why. An error is a problem (RFC 9457,
`application/problem+json`) with `type`, `title`, `status` and `detail`, with `field` (a JSON pointer) if one place of the
request is at fault, and with `retry_after_ms` and `Retry-After` if waiting helps. Every denial by a rule has an id, in
`decision` and `weir-decision`: it [leads to the explanation](../guides/incident.md#a-customer-says-i-was-denied).

## Reasons of a decision

| `reason` | why |
| --- | --- |
";

const API: &str = "
## Problems of the API

| status | `type` | `title` | when |
| --- | --- | --- | --- |
";

const GATEWAY: &str = "
## Problems of the gateway

A route answers these instead of its origin. [The gateway's page](gateway.md#what-is-answered-instead) says when.

| status | `type` | `title` |
| --- | --- | --- |
";

pub(super) fn page() -> String {
    let mut text = HEAD.to_owned();
    let (_, reasons) = variants(REASONS, "Reason").expect("the reasons are there");
    assert_eq!(reasons.len(), Reason::ALL.len(), "every reason is told");
    for reason in reasons {
        let name = snake(&reason.name);
        assert!(Reason::named(&name).is_some(), "{name}");
        text.push_str(&format!("| `{name}` | {} |\n", reason.says));
    }
    text.push_str(API);
    let (_, failures) = variants(FAILURES, "Failure").expect("the failures are there");
    // A denial is told as the failure that it is.
    let failures = failures.into_iter().filter(|one| one.name != "Denied");
    let mut failures: Vec<_> = failures.map(|one| (kind(&one.name), one.says)).collect();
    failures.sort_unstable();
    for ((status, kind, title), when) in failures {
        text.push_str(&format!(
            "| {status} | `/problems/{kind}` | {title} | {when} |\n"
        ));
    }
    text.push_str(GATEWAY);
    for refusal in refusals() {
        let (uri, title) = (refusal.kind.uri, refusal.kind.title);
        text.push_str(&format!("| {} | `{uri}` | {title} |\n", refusal.status));
    }
    text
}

/// The status, kind and title of a failure, as its source says: `Self::Framing => (400, "framing", "..")`.
fn kind(name: &str) -> (&'static str, &'static str, &'static str) {
    let (_, kinds) = FAILURES
        .split_once("fn kind(&self)")
        .expect("the kinds are there");
    let arms = kinds.split("Self::").skip(1);
    let mut arm = arms.filter(|arm| {
        let rest = arm.strip_prefix(name).unwrap_or_default();
        rest.starts_with(|c: char| !c.is_ascii_alphanumeric())
    });
    let arm = arm.next().expect("every failure has a kind");
    let (_, told) = arm
        .split_once("=> (")
        .unwrap_or_else(|| panic!("{name}: {arm}"));
    let mut parts = told.split('"');
    let status = parts
        .next()
        .expect("a status")
        .trim_end_matches([',', ' ', '\n'])
        .trim();
    let kind = parts.next().expect("a kind");
    (status, kind, parts.nth(1).expect("a title"))
}

/// One of each kind and status.
fn refusals() -> Vec<Refusal> {
    let denied = |reason| DecisionBody {
        allowed: false,
        limit: 0,
        remaining: 0,
        reset_at: 0,
        retry_after_ms: None,
        binding: String::new(),
        reason,
        region: String::new(),
        window: None,
        policy_revision: 0,
        decision: None,
        reservation: None,
        slot: None,
        expires_at: None,
    };
    vec![
        Refusal::path(""),
        Refusal::invalid(&Invalid::new("/headers/x-cost", Fault::Missing)),
        Refusal::no_tenant(),
        Refusal::unknown_tenant(),
        Refusal::no_route(),
        Refusal::body_timed_out(0),
        Refusal::denied(&denied(Reason::LimitExceeded)),
        Refusal::queue_full(&denied(Reason::LimitExceeded)),
        Refusal::origin_unreachable(),
        Refusal::denied(&denied(Reason::Overloaded)),
        Refusal::origin_timed_out(0),
        Refusal::loops(),
    ]
}
