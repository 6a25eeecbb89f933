//! The short way of asking says what the long way says.

use proptest::prelude::*;
use weir_shared::check::batch::Batch;
use weir_shared::check::decision_text::DecisionText;
use weir_shared::check::short::Short;
use weir_shared::check::template::{Numbers, Template};
use weir_shared::check::{Check, Target};
use weir_shared::decision::id::Denial;
use weir_shared::decision::{Decision, Retry};
use weir_shared::invalid::read_json;
use weir_shared::units::{EpochMs, Revision, WindowLabel};
use weir_shared::wire::batch::BatchRequest;
use weir_shared::wire::check::{CheckRequest, DecisionBody, Reason};
use weir_shared::wire::rule_kind::RuleKind;

/// The same question as all other questions are read.
fn long(body: &[u8]) -> Option<Check> {
    let request: CheckRequest = read_json(body).ok()?;
    Check::try_from(request).ok()
}

fn same(short: &Short<'_>, check: &Check) {
    let [item] = check.items.as_slice() else {
        panic!("{check:?}");
    };
    assert_eq!(check.tenant.as_deref(), short.tenant);
    assert_eq!(item.target, Target::Budget(short.budget.to_owned()));
    assert_eq!((item.cost, check.reserve), (short.cost, false));
}

#[test]
fn the_tenant_may_be_left_to_the_token() {
    let short = Short::read(br#"{"budget":"b","cost":2}"#).unwrap();
    assert_eq!((short.tenant, short.budget, short.cost), (None, "b", 2));
}

#[test]
fn what_is_not_plain_is_not_read() {
    for body in [
        "",
        "{}",
        "[]",
        r#"{"tenant":"a"}"#,
        r#"{"tenant":"a","budget":"b","cost":-1}"#,
        r#"{"tenant":"a","budget":"b","cost":1.0}"#,
        r#"{"tenant":"a","budget":"b","cost":1e3}"#,
        r#"{"tenant":"a","budget":"b","cost":01}"#,
        r#"{"tenant":"a","budget":"b","cost":"1"}"#,
        r#"{"tenant":"a","budget":"b","cost":null}"#,
        r#"{"tenant":"a","budget":"b","cost":9007199254740992}"#,
        r#"{"tenant":"a","budget":"b","cost":99999999999999999999}"#,
        r#"{"tenant":"a","budget":"b","tenant":"a"}"#,
        r#"{"tenant":"a","budget":"b","reserve":true}"#,
        r#"{"tenant":"a","budget":"b",}"#,
        r#"{"tenant":"a","budget":"b"}x"#,
        r#"{"tenant":"a","budget":"b""#,
        r#"{"tenant":"a\u0062","budget":"b"}"#,
        "{\"tenant\":\"a\nb\",\"budget\":\"b\"}",
        "\u{feff}{\"tenant\":\"a\",\"budget\":\"b\"}",
    ] {
        assert_eq!(Short::read(body.as_bytes()), None, "{body}");
    }
    assert_eq!(Short::read(b"{\"tenant\":\"\xff\",\"budget\":\"b\"}"), None);
    for body in [
        r#"{"requests":[]}"#,
        r#"{"requests":[{"tenant":"a","budget":"b"},]}"#,
        r#"{"requests":[{"tenant":"a","budget":"b"}],"x":1}"#,
        r#"{"requests":{"tenant":"a","budget":"b"}}"#,
        r#"{"request":[{"tenant":"a","budget":"b"}]}"#,
    ] {
        assert_eq!(Short::read_batch(body.as_bytes()), None, "{body}");
    }
    let many = vec![r#"{"tenant":"a","budget":"b"}"#; 1_001].join(",");
    assert_eq!(
        Short::read_batch(format!(r#"{{"requests":[{many}]}}"#).as_bytes()),
        None
    );
}

proptest! {
    #[test]
    fn a_question_that_is_read_is_the_question_that_was_asked(
        tenant in "[a-z:/é🔑 ]{1,12}", budget in "[a-z_]{1,8}", cost in proptest::option::of(0_u64..1 << 53),
        space in "[ \t\r\n]{0,2}", first in 0_usize..3,
    ) {
        let mut fields = vec![format!("\"tenant\"{space}:{space}\"{tenant}\""), format!("\"budget\":\"{budget}\"")];
        fields.extend(cost.map(|cost| format!("{space}\"cost\":{space}{cost}{space}")));
        let first = first % fields.len();
        fields.rotate_left(first);
        let body = format!("{space}{{{}{space}}}{space}", fields.join(","));
        let short = Short::read(body.as_bytes()).expect("it is plain");
        same(&short, &long(body.as_bytes()).expect("it is good"));
        let batch = format!("{{\"requests\":[{body},{space}{body}]}}");
        let shorts = Short::read_batch(batch.as_bytes()).expect("it is plain");
        let request: BatchRequest = read_json(batch.as_bytes()).unwrap();
        let checks = Batch::try_from(request).unwrap().checks;
        prop_assert_eq!(shorts.len(), checks.len());
        for (short, check) in shorts.iter().zip(&checks) {
            same(short, check);
        }
    }

    #[test]
    fn whatever_is_read_of_any_bytes_is_a_good_question_but_for_its_names(
        body in "[{}\\[\\]:,\"a01 .e-]{0,24}|\\{\"tenant\":\"[^\"]{0,4}\",\"budget\":\"[^\"]{0,4}\"(,\"cost\":[0-9.e]{0,4})?\\}",
    ) {
        if let Some(short) = Short::read(body.as_bytes()) {
            let request: Result<CheckRequest, _> = read_json(body.as_bytes());
            let request = request.expect("it is of the form");
            prop_assert_eq!(request.tenant.as_deref(), short.tenant);
            prop_assert_eq!(request.budget.as_deref(), Some(short.budget));
            prop_assert_eq!(request.cost.unwrap_or(1), short.cost);
        }
    }

    #[test]
    fn a_decision_is_written_as_its_form_is(
        reason in 0_usize..8, numbers in proptest::array::uniform5(0_u64..1 << 53), retry in 0_u8..3,
    ) {
        let reasons = [
            Reason::Admitted, Reason::OverShare, Reason::CapReached, Reason::LimitExceeded,
            Reason::Concurrency, Reason::Overloaded, Reason::Unavailable, Reason::Never,
        ];
        let [limit, remaining, reset_at, window, revision] = numbers;
        let decision = Decision {
            reason: reasons[reason], limit, remaining, reset_at: EpochMs(reset_at),
            retry: [Retry::Now, Retry::AfterMs(limit), Retry::Never][usize::from(retry)],
        };
        let mut text = String::new();
        DecisionText {
            decision, at: EpochMs(reset_at), tenant: "a\u{1}é", binding: "tokens", region: "weur",
            window: WindowLabel(window), revision: Revision(revision),
        }.write(&mut text);
        let denial = Denial {
            at: EpochMs(reset_at), tenant: "a\u{1}é", region: "weur", reason: decision.reason,
            kind: RuleKind::Budget, rule: "tokens",
        };
        let body = DecisionBody {
            allowed: decision.admitted(), limit, remaining, reset_at,
            retry_after_ms: decision.retry.after_ms(),
            binding: "tokens".to_owned(), reason: decision.reason, region: "weur".to_owned(),
            window: Some(window), policy_revision: revision,
            decision: (!decision.admitted()).then(|| denial.to_string()),
            reservation: None, slot: None, expires_at: None,
        };
        prop_assert_eq!(text, serde_json::to_string(&body).unwrap());
    }
}

/// What differs between two answers of one budget, region and revision.
fn numbered(
    reason: Reason,
    [limit, remaining, reset_at, window]: [u64; 4],
    retry: Retry,
) -> DecisionText<'static> {
    DecisionText {
        decision: Decision {
            reason,
            limit,
            remaining,
            reset_at: EpochMs(reset_at),
            retry,
        },
        at: EpochMs(limit ^ window),
        tenant: "acme",
        binding: "tokens",
        region: "weur",
        window: WindowLabel(window),
        revision: Revision(7),
    }
}

proptest! {
    #[test]
    fn the_template_of_any_answer_serves_every_answer_of_its_reason(
        reason in proptest::sample::select(&Reason::ALL[..]),
        first in any::<[u64; 4]>(),
        second in any::<[u64; 4]>(),
        retries in proptest::option::of(any::<(u64, u64)>()),
    ) {
        let retry = |ms: Option<u64>| ms.map_or(Retry::Never, Retry::AfterMs);
        let one = numbered(reason, first, retry(retries.map(|(ms, _)| ms)));
        let other = numbered(reason, second, retry(retries.map(|(_, ms)| ms)));
        let (mut template, mut numbers, mut written) = (Template::default(), Numbers::default(), String::new());
        one.tell(&mut template);
        other.tell(&mut numbers);
        other.write(&mut written);
        prop_assert_eq!(template.filled(&numbers), written);
    }
}
