//! The exact text of what the registry is asked and answers, and of what it tells regions.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use weir_shared::node::registry::Reply;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{TokenRequest, TokenUse};
use weir_shared::wire::audit::{AuditHead, AuditOutcome, Author};
use weir_shared::wire::registry::{
    AppendAudit, Appended, AuditLines, AuditPage, CreateToken, Created, DeleteTenant, Done,
    EndSession, EndSessions, ExportAudit, ListTokens, PatchTenant, PushRules, Pushed, ReadAudit,
    ReadPolicy, RevokeToken, Revoked, Rules, SavePolicy, Saved, VerifyAudit,
};
use weir_shared::wire::role::Role;

use crate::wire::pinned::is_written_as;

const POLICY: &str =
    r#"{"regions":["weur"],"tiers":{"free":{"weight":1.0}},"default_tier":"free","budgets":{}}"#;
const ADA: &str = r#"{"actor":"ada","token":"k1","role":"admin"}"#;
const HEAD: &str = r#"{"sequence":9,"hash":"h","pruned":1,"pruned_hash":"p"}"#;

fn ada() -> Author {
    Author {
        token: Some("k1".to_owned()),
        role: Some(Role::Admin),
        ..Author::named("ada")
    }
}

fn head() -> AuditHead {
    serde_json::from_str(HEAD).unwrap()
}

/// What the registry answers is written as what it holds.
fn answers<T>(value: &T, reply: &Reply, text: &str)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    is_written_as(value, text);
    assert_eq!(serde_json::to_string(reply).unwrap(), text);
}

#[test]
fn what_is_in_force() {
    is_written_as(
        &ReadPolicy::default(),
        r#"{"policy_revision":0,"access_revision":0}"#,
    );
    assert_eq!(
        serde_json::from_str::<ReadPolicy>("{}").unwrap(),
        ReadPolicy::default()
    );
    let ask = ReadPolicy {
        policy_revision: Revision(4),
        access_revision: Revision(5),
        region: "weur".to_owned(),
        tokens_used: vec![TokenUse {
            id: "k1".to_owned(),
            at: EpochMs(7),
            uses: 3,
        }],
    };
    is_written_as(
        &ask,
        r#"{"policy_revision":4,"access_revision":5,"region":"weur","tokens_used":[{"id":"k1","at":7,"uses":3}]}"#,
    );
    let rules = Rules::default();
    answers(&rules, &Reply::Rules(Box::default()), "{}");
    let push = PushRules {
        region: "weur".to_owned(),
        rules,
        look: vec!["tokens".to_owned()],
    };
    is_written_as(&push, r#"{"region":"weur","rules":{},"look":["tokens"]}"#);
    let pushed = Pushed {
        policy: Revision(4),
        access: Revision(5),
        holdings: None,
    };
    is_written_as(&pushed, r#"{"policy":4,"access":5}"#);
}

#[test]
fn changes_of_the_policy() {
    let save = SavePolicy {
        expected: Some(Revision(4)),
        document: serde_json::from_str(POLICY).unwrap(),
        author: ada(),
    };
    let document = serde_json::to_string(&save.document).unwrap();
    is_written_as(
        &save,
        &format!(r#"{{"expected":4,"document":{document},"author":{ADA}}}"#),
    );
    let patch = PatchTenant {
        tenant: "acme".to_owned(),
        patch: serde_json::from_value(json!({ "weight": 2.0 })).unwrap(),
        expected: Some("t".to_owned()),
        author: ada(),
    };
    let body = serde_json::to_string(&patch.patch).unwrap();
    is_written_as(
        &patch,
        &format!(r#"{{"tenant":"acme","patch":{body},"expected":"t","author":{ADA}}}"#),
    );
    let delete = DeleteTenant {
        tenant: "acme".to_owned(),
        expected: None,
        author: ada(),
    };
    is_written_as(
        &delete,
        &format!(r#"{{"tenant":"acme","expected":null,"author":{ADA}}}"#),
    );
    let moved = Saved::Moved {
        revision: Revision(4),
        tag: None,
    };
    let refusals = [
        (moved, r#"{"Moved":{"revision":4,"tag":null}}"#),
        (Saved::Unknown, r#""Unknown""#),
        (
            Saved::TooOften { after_ms: 7 },
            r#"{"TooOften":{"after_ms":7}}"#,
        ),
        (
            Saved::Invalid {
                field: "/a".to_owned(),
                message: "m".to_owned(),
            },
            r#"{"Invalid":{"field":"/a","message":"m"}}"#,
        ),
    ];
    for (saved, text) in refusals {
        answers(&saved, &Reply::Saved(saved.clone()), text);
    }
    let done = format!(r#"{{"Done":{{"revision":4,"document":{document}}}}}"#);
    let saved: Saved = serde_json::from_str(&done).unwrap();
    answers(&saved, &Reply::Saved(saved.clone()), &done);
}

#[test]
fn changes_of_tokens_and_sessions() {
    let create = CreateToken {
        token: TokenRequest {
            name: "service".to_owned(),
            role: Role::Viewer,
            tenant: None,
            prefix: None,
            expires_at: None,
        },
        author: ada(),
    };
    is_written_as(
        &create,
        &format!(r#"{{"token":{{"name":"service","role":"viewer"}},"author":{ADA}}}"#),
    );
    let refusals = [
        (
            Created::Taken {
                name: "service".to_owned(),
            },
            r#"{"Taken":{"name":"service"}}"#,
        ),
        (Created::Full { max: 7 }, r#"{"Full":{"max":7}}"#),
        (
            Created::TooOften { after_ms: 7 },
            r#"{"TooOften":{"after_ms":7}}"#,
        ),
        (
            Created::Invalid {
                field: "/name".to_owned(),
                message: "m".to_owned(),
            },
            r#"{"Invalid":{"field":"/name","message":"m"}}"#,
        ),
    ];
    for (created, text) in refusals {
        answers(&created, &Reply::Created(created.clone()), text);
    }
    let view = r#""id":"AQEBAQEBAQEBAQEB","name":"a","role":"viewer","tenant":null,"prefix":null,"expires_at":null,"created_at":5,"created_by":"ada","last_used":null"#;
    let done = format!(r#"{{"Done":{{"token":"weir_x",{view}}}}}"#);
    let created: Created = serde_json::from_str(&done).unwrap();
    answers(&created, &Reply::Created(created.clone()), &done);
    let listed = format!("[{{{view}}}]");
    let tokens: Vec<_> = serde_json::from_str(&listed).unwrap();
    answers(&tokens, &Reply::Tokens(tokens.clone()), &listed);
    let revoke = RevokeToken {
        id: "k2".to_owned(),
        author: ada(),
    };
    is_written_as(&revoke, &format!(r#"{{"id":"k2","author":{ADA}}}"#));
    for (revoked, text) in [
        (Revoked::Done, r#""Done""#),
        (Revoked::Unknown, r#""Unknown""#),
    ] {
        answers(&revoked, &Reply::Revoked(revoked.clone()), text);
    }
    is_written_as(&ListTokens {}, "{}");
    let end = EndSession {
        token: "k1".to_owned(),
        id: "s1".to_owned(),
        expires_at: EpochMs(7),
        author: ada(),
    };
    is_written_as(
        &end,
        &format!(r#"{{"token":"k1","id":"s1","expires_at":7,"author":{ADA}}}"#),
    );
    let end_all = EndSessions { author: ada() };
    is_written_as(&end_all, &format!(r#"{{"author":{ADA}}}"#));
    answers(&Done {}, &Reply::Done(Done {}), "{}");
}

#[test]
fn the_audit_log() {
    is_written_as(
        &ReadAudit {
            limit: 5,
            actor: Some("ada".to_owned()),
            outcome: Some(AuditOutcome::Refused),
            from: Some(7),
            ..ReadAudit::default()
        },
        r#"{"after":0,"before":0,"limit":5,"newest_first":false,"actor":"ada","action":null,"target":null,"outcome":"refused","from":7,"to":null}"#,
    );
    assert_eq!(
        serde_json::from_str::<ReadAudit>("{}").unwrap(),
        ReadAudit::default()
    );
    let page = AuditPage {
        entries: vec![],
        damaged: vec![3],
        more: true,
        head: head(),
    };
    answers(
        &page,
        &Reply::Page(page.clone()),
        &format!(r#"{{"entries":[],"damaged":[3],"more":true,"head":{HEAD}}}"#),
    );
    is_written_as(
        &ExportAudit { after: 4, limit: 5 },
        r#"{"after":4,"limit":5}"#,
    );
    let lines = AuditLines {
        lines: vec!["l".to_owned()],
        through: 4,
        more: false,
        head: head(),
    };
    answers(
        &lines,
        &Reply::Lines(lines.clone()),
        &format!(r#"{{"lines":["l"],"through":4,"more":false,"head":{HEAD}}}"#),
    );
    let verify = VerifyAudit {
        after: 4,
        previous: "h".to_owned(),
        limit: 5,
    };
    is_written_as(&verify, r#"{"after":4,"previous":"h","limit":5}"#);
    let append = AppendAudit {
        author: ada(),
        action: "state.reset".to_owned(),
        target: "acme".to_owned(),
        before: Value::Null,
        after: json!({ "keys": 1 }),
        outcome: AuditOutcome::Done,
    };
    is_written_as(
        &append,
        &format!(
            r#"{{"author":{ADA},"action":"state.reset","target":"acme","before":null,"after":{{"keys":1}},"outcome":"done"}}"#
        ),
    );
    let appended = Appended { sequence: 9 };
    answers(
        &appended,
        &Reply::Appended(appended.clone()),
        r#"{"sequence":9}"#,
    );
}
