//! The forms of tokens and of the audit log, on the wire and at rest.

use crate::wire::pinned::is_written_as;
use serde_json::{Value, json};
use weir_shared::access::stored::{Root, StoredAccess, StoredToken};
use weir_shared::audit::chain::append;
use weir_shared::audit::draft::Draft;
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{
    BOOTSTRAP, SavedAccess, TokenReply, TokenRequest, TokenRow, TokenUse, TokenView,
};
use weir_shared::wire::audit::{
    AuditEntry, AuditFault, AuditHead, AuditOutcome, AuditRecord, AuditVerdict, Author,
};
use weir_shared::wire::role::Role;
use weir_shared::wire::stored::{Damaged, read_row};

const ID: &str = "AQEBAQEBAQEBAQEB";
const HASH: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

fn row() -> TokenRow {
    TokenRow {
        id: ID.to_owned(),
        hash: HASH.to_owned(),
        role: Role::Service,
        tenant: None,
        prefix: Some("eu:".to_owned()),
        expires_at: None,
        name: "gateway".to_owned(),
    }
}

fn row_text() -> String {
    format!(r#"{{"id":"{ID}","hash":"{HASH}","role":"service","prefix":"eu:","name":"gateway"}}"#)
}

fn access() -> SavedAccess {
    SavedAccess {
        revision: Revision(4),
        key: "K".to_owned(),
        tokens: vec![row()],
        bootstrap: false,
        seals: Vec::new(),
        ended: Vec::new(),
    }
}

fn access_text() -> String {
    format!(
        r#"{{"revision":4,"key":"K","tokens":[{}],"bootstrap":false}}"#,
        row_text()
    )
}

fn view() -> TokenView {
    TokenView {
        id: ID.to_owned(),
        name: "gateway".to_owned(),
        role: Role::Service,
        tenant: None,
        prefix: Some("eu:".to_owned()),
        expires_at: None,
        created_at: 1_700_000_000_000,
        created_by: "alice".to_owned(),
        last_used: None,
    }
}

const VIEW: &str = r#""id":"AQEBAQEBAQEBAQEB","name":"gateway","role":"service","tenant":null,"prefix":"eu:","expires_at":null,"created_at":1700000000000,"created_by":"alice","last_used":null"#;

#[test]
fn the_tokens_between_objects() {
    is_written_as(&access(), &access_text());
    let told = TokenUse {
        id: ID.to_owned(),
        at: EpochMs(5),
        uses: 3,
    };
    is_written_as(&told, &format!(r#"{{"id":"{ID}","at":5,"uses":3}}"#));
}

#[test]
fn the_tokens_of_the_operator_api() {
    is_written_as(&view(), &format!("{{{VIEW}}}"));
    let reply = TokenReply {
        token: "weir_x".to_owned(),
        view: view(),
    };
    is_written_as(&reply, &format!(r#"{{"token":"weir_x",{VIEW}}}"#));
    let request = TokenRequest {
        name: "acme".to_owned(),
        role: Role::Tenant,
        tenant: Some("acme".to_owned()),
        prefix: None,
        expires_at: None,
    };
    is_written_as(
        &request,
        r#"{"name":"acme","role":"tenant","tenant":"acme"}"#,
    );
    let expires_at = Some(EpochMs(7));
    is_written_as(
        &TokenRequest {
            expires_at,
            ..request
        },
        r#"{"name":"acme","role":"tenant","tenant":"acme","expires_at":7}"#,
    );
    let row = TokenRow {
        expires_at,
        ..row()
    };
    let text = serde_json::to_string(&row).unwrap();
    assert!(text.contains(r#""prefix":"eu:","expires_at":7"#), "{text}");
    let unknown = r#"{"name":"acme","role":"tenant","tenant":"acme","scope":"all"}"#;
    assert!(serde_json::from_str::<TokenRequest>(unknown).is_err());
    let role = r#"{"name":"acme","role":"root"}"#;
    assert!(serde_json::from_str::<TokenRequest>(role).is_err());
}

#[test]
fn the_rows_of_tokens() {
    let stored = StoredToken::new(row(), EpochMs(1_700_000_000_000), "alice".to_owned());
    let text = format!(
        r#"{{"v":2,"row":{},"created_at":1700000000000,"created_by":"alice"}}"#,
        row_text()
    );
    is_written_as(&stored, &text);
    assert_eq!(read_row::<StoredToken>(&text).as_ref(), Ok(&stored));
    assert_eq!(stored.view(None), view());
    let root = Root {
        id: "AAAAAAAAAAAAAAAA".to_owned(),
        name: "ada".to_owned(),
    };
    let rooted = stored.clone().with_root(Some(root.clone()));
    let end = r#","created_by":"alice","root":{"id":"AAAAAAAAAAAAAAAA","name":"ada"}}"#;
    is_written_as(&rooted, &text.replace(r#","created_by":"alice"}"#, end));
    assert_eq!(rooted.root(), Some(root));
    let kept = StoredAccess::new(access());
    let text = format!(r#"{{"v":2,"access":{}}}"#, access_text());
    is_written_as(&kept, &text);
    assert_eq!(read_row::<StoredAccess>(&text), Ok(kept));
}

/// However many admins are in between, and whether or not they are still there.
#[test]
fn all_tokens_that_come_from_one_admin_have_one_root() {
    let by = |name: &str, token: &str| Author {
        token: Some(token.to_owned()),
        ..Author::named(name)
    };
    let made = |author: &Author, maker: Option<&StoredToken>| {
        let root = StoredToken::root_of_made(author, maker);
        StoredToken::new(row(), EpochMs(1), author.actor.clone()).with_root(root)
    };
    let first = made(&by(BOOTSTRAP, BOOTSTRAP), None);
    assert_eq!(first.root(), None);
    let second = made(&by("ada", "k1"), Some(&first));
    let third = made(&by("bob", "k2"), Some(&second));
    let root = third.root().unwrap();
    assert_eq!((root.id.as_str(), root.name.as_str()), ("k1", "ada"));
    assert_eq!(second.root(), third.root());
    // Who comes by an identity provider has no token.
    let root = made(&Author::named("eve@example.com"), None)
        .root()
        .unwrap();
    assert_eq!(root.id, "eve@example.com");
    // A row of an earlier version says who made it.
    let earlier = StoredToken::new(row(), EpochMs(1), "ada".to_owned());
    assert_eq!(
        made(&by("carl", "k3"), Some(&earlier)).root().unwrap().name,
        "ada"
    );
}

#[test]
fn a_row_of_a_token_that_cannot_be_is_damaged() {
    let stored = |row: TokenRow| {
        let stored = StoredToken::new(row, EpochMs(1), "alice".to_owned());
        serde_json::to_string(&stored).unwrap()
    };
    let cut = |text: &str| text[..text.len() - 1].to_owned();
    let hash = TokenRow {
        hash: cut(HASH),
        ..row()
    };
    let id = TokenRow {
        id: cut(ID),
        ..row()
    };
    for row in [hash, id] {
        let damaged = read_row::<StoredToken>(&stored(row));
        assert!(
            matches!(damaged, Err(Damaged::Contradiction { .. })),
            "{damaged:?}"
        );
    }
    let newer = stored(row()).replace(r#""v":2"#, r#""v":9999"#);
    let damaged = read_row::<StoredToken>(&newer);
    assert!(
        matches!(damaged, Err(Damaged::Version { .. })),
        "{damaged:?}"
    );
}

const RECORD: &str = r#"{"sequence":8,"previous":"ab","at":1700000000000,"actor":"alice","role":"editor","action":"tenant.patch","target":"acme","before":{"/weight":1},"after":null,"why":"as agreed","outcome":"refused"}"#;

fn record() -> AuditRecord {
    AuditRecord {
        sequence: 8,
        previous: "ab".to_owned(),
        at: 1_700_000_000_000,
        actor: "alice".to_owned(),
        token: None,
        role: Some(Role::Editor),
        action: "tenant.patch".to_owned(),
        target: "acme".to_owned(),
        before: json!({ "/weight": 1 }),
        after: Value::Null,
        why: Some("as agreed".to_owned()),
        outcome: AuditOutcome::Refused,
    }
}

#[test]
fn the_records_of_the_audit_log() {
    is_written_as(&record(), RECORD);
    let entry = AuditEntry {
        record: record(),
        hash: "cd".to_owned(),
    };
    let text = format!(r#"{},"hash":"cd"}}"#, &RECORD[..RECORD.len() - 1]);
    is_written_as(&entry, &text);
    let head = AuditHead {
        sequence: 8,
        hash: "cd".to_owned(),
        pruned: 2,
        pruned_hash: "ef".to_owned(),
    };
    let head_text = r#"{"sequence":8,"hash":"cd","pruned":2,"pruned_hash":"ef"}"#;
    is_written_as(&head, head_text);
    let verdict = AuditVerdict {
        intact: false,
        checked: 3,
        through: 5,
        hash: "aa".to_owned(),
        fault: Some(AuditFault {
            sequence: 6,
            what: "it is missing".to_owned(),
        }),
        more: false,
        head,
    };
    let text = format!(
        r#"{{"intact":false,"checked":3,"through":5,"hash":"aa","fault":{{"sequence":6,"what":"it is missing"}},"more":false,"head":{head_text}}}"#
    );
    is_written_as(&verdict, &text);
}

/// The hash is over the text, so the text of a record must stay as it is for as long as there are records of it.
#[test]
fn the_hash_of_a_record() {
    let author = Author {
        actor: "alice".to_owned(),
        token: None,
        role: Some(Role::Editor),
        why: Some("as agreed".to_owned()),
    };
    let head = AuditHead {
        sequence: 7,
        hash: "ab".to_owned(),
        ..AuditHead::default()
    };
    let at = EpochMs(1_700_000_000_000);
    let draft = Draft::new(author, "tenant.patch", "acme", AuditOutcome::Refused, at)
        .with_change(json!({ "/weight": 1 }), Value::Null);
    let (link, next) = append(&head, draft).unwrap();
    assert_eq!(link.text, RECORD);
    assert_eq!(link.record, record());
    assert_eq!(next.hash, HASH_OF_RECORD);
}

/// By `printf '%s' RECORD | sha256sum`.
const HASH_OF_RECORD: &str = "0b4fcbd7dbb4315a22c16b06682cd72e3d5f3a53be05577822af3bd84e0916c1";

#[test]
fn the_tokens_beside_a_contact() {
    let contact = ContactBody {
        accounts: weir_shared::ordered::OrderedMap::new(),
        region: "weur".to_owned(),
        revision: Revision(7),
        exchanges: Vec::new(),
        frame: None,
        access_revision: Revision(3),
        tokens_used: vec![TokenUse {
            id: ID.to_owned(),
            at: EpochMs(5),
            uses: 3,
        }],
        token_wanted: Some(ID.to_owned()),
        overload: None,
        speaker: None,
    };
    let text = format!(
        r#"{{"region":"weur","revision":7,"exchanges":[],"frame":null,"access_revision":3,"tokens_used":[{{"id":"{ID}","at":5,"uses":3}}],"token_wanted":"{ID}"}}"#
    );
    is_written_as(&contact, &text);
    let reply = ContactReply {
        policy: None,
        exchanges: Vec::new(),
        frame: None,
        next_contact_ms: 500,
        access: Some(serde_json::to_value(access()).unwrap()),
        overload: None,
        branches: None,
    };
    let text = serde_json::to_string(&reply).unwrap();
    let start = r#"{"policy":null,"exchanges":[],"frame":null,"next_contact_ms":500,"access":"#;
    assert!(text.starts_with(start), "{text}");
    let read: ContactReply = serde_json::from_str(&text).unwrap();
    let tokens: SavedAccess = serde_json::from_value(read.access.unwrap()).unwrap();
    assert_eq!(tokens, access());
}

/// During a deploy an isolate and a region of the version before meet those of this one.
#[test]
fn a_contact_of_the_version_before_is_read() {
    let body = r#"{"region":"weur","revision":7,"exchanges":[],"frame":null}"#;
    let contact: ContactBody = serde_json::from_str(body).unwrap();
    assert_eq!(contact.access_revision, Revision(0));
    assert!(contact.tokens_used.is_empty() && contact.token_wanted.is_none());
    let reply = r#"{"policy":null,"exchanges":[],"frame":null,"next_contact_ms":500}"#;
    let reply: ContactReply = serde_json::from_str(reply).unwrap();
    assert_eq!(reply.access, None);
}
