//! What holders of overloaded resources and their parents say to each other, and the report of an outcome, as written.

use crate::wire::pinned::is_written_as;
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::overload::config::Config;
use weir_shared::units::{HolderId, Incarnation, Revision, Sequence};
use weir_shared::wire::overload::{MergedBody, ShareBody, ShareReply};
use weir_shared::wire::report::{ReportReply, ReportRequest, ReportedOutcome};
use weir_shared::wire::shares::{SharesBody, SharesReply};

fn shares() -> SharesBody {
    SharesBody {
        holder: HolderId(77),
        shares: Vec::new(),
    }
}

#[test]
fn several_resources_travel_in_one_message() {
    is_written_as(&shares(), r#"{"holder":77,"shares":[]}"#);
    is_written_as(&SharesReply::default(), r#"{"replies":[]}"#);
}

#[test]
fn a_contact_tells_of_resources_where_there_is_something_to_tell() {
    let contact = ContactBody {
        accounts: weir_shared::ordered::OrderedMap::new(),
        region: "weur".to_owned(),
        revision: Revision(7),
        exchanges: Vec::new(),
        frame: None,
        access_revision: Revision(3),
        tokens_used: Vec::new(),
        token_wanted: None,
        overload: Some(shares()),
        speaker: None,
    };
    is_written_as(
        &contact,
        r#"{"region":"weur","revision":7,"exchanges":[],"frame":null,"access_revision":3,"overload":{"holder":77,"shares":[]}}"#,
    );
    let reply = ContactReply {
        policy: None,
        exchanges: Vec::new(),
        frame: None,
        next_contact_ms: 500,
        access: None,
        overload: Some(SharesReply::default()),
        branches: None,
    };
    is_written_as(
        &reply,
        r#"{"policy":null,"exchanges":[],"frame":null,"next_contact_ms":500,"overload":{"replies":[]}}"#,
    );
}

/// A message of the next version may say more.
#[test]
fn fields_that_are_not_known_are_passed_over() {
    let text = r#"{"holder":77,"shares":[],"more":{"a":1}}"#;
    assert_eq!(serde_json::from_str::<SharesBody>(text).unwrap(), shares());
    let text = r#"{"replies":[],"more":1}"#;
    let read: SharesReply = serde_json::from_str(text).unwrap();
    assert_eq!(read, SharesReply::default());
}

/// One resource with its defaults, told and answered: the whole of both messages reads back as it was.
#[test]
fn a_share_and_its_answer_read_back_as_they_were() {
    let terms = Config::default().terms(Revision(7));
    let share = ShareBody {
        resource: "origin".to_owned(),
        incarnation: Incarnation(1_700_000_000_000),
        sequence: Sequence(3),
        terms,
        period: 5_666_666,
        live: "AAEC".to_owned(),
        shadow: String::new(),
        succeeded: 4,
        failed: 0,
        denied: 9,
        rate: 12.5,
        told_milli: Some(2_500),
    };
    let reply = ShareReply {
        resource: "origin".to_owned(),
        incarnation: share.incarnation,
        sequence: share.sequence,
        merged: MergedBody {
            terms,
            period: share.period,
            live: share.live.clone(),
            shadow: String::new(),
            rate: 12.5,
            contended: true,
        },
    };
    let told = SharesBody {
        holder: HolderId(u64::MAX),
        shares: vec![share],
    };
    let text = serde_json::to_string(&told).unwrap();
    // A holder of the version before tells nothing of it, and passes it over.
    let before = text.replace(r#","told_milli":2500"#, "");
    assert!(before.ends_with(r#""denied":9,"rate":12.5}]}"#), "{before}");
    let before: SharesBody = serde_json::from_str(&before).unwrap();
    assert_eq!(before.shares[0].told_milli, None);
    assert_eq!(serde_json::from_str::<SharesBody>(&text).unwrap(), told);
    let answered = SharesReply {
        replies: vec![reply],
    };
    let text = serde_json::to_string(&answered).unwrap();
    assert_eq!(
        serde_json::from_str::<SharesReply>(&text).unwrap(),
        answered
    );
}

#[test]
fn an_outcome() {
    let report = ReportRequest {
        resource: Some("origin".to_owned()),
        tenant: Some("acme".to_owned()),
        outcome: Some(ReportedOutcome::Failure),
    };
    is_written_as(
        &report,
        r#"{"resource":"origin","tenant":"acme","outcome":"failure"}"#,
    );
    is_written_as(&ReportReply { reported: true }, r#"{"reported":true}"#);
}
