//! Sessions and whatever else the deployment seals: what opens them, when they end, and how they are kept.

use proptest::prelude::*;
use weir_shared::access::ended::EndedSessions;
use weir_shared::access::seal::{Opened, SealKey, SealKeys};
use weir_shared::access::session::{Judged, Session};
use weir_shared::access::stored::StoredAccess;
use weir_shared::access::table::AccessTable;
use weir_shared::access::token::TokenKey;
use weir_shared::limits::{
    SEALS_AHEAD_MAX, SEALS_MAX, SESSION_EARLY_MS_MAX, SESSION_MS, SESSIONS_ENDED_MAX, TOKENS_MAX,
};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{EndedSession, SavedAccess, SealRow};
use weir_shared::wire::stored::read_row;

const NOW: EpochMs = EpochMs(1_700_000_000_000);

fn seal(version: u64, until: Option<EpochMs>) -> SealRow {
    let byte = u8::try_from(version % 251).unwrap();
    SealRow {
        version,
        key: SealKey::new([byte; 32]).text(),
        until,
    }
}

fn keys(rows: &[SealRow]) -> SealKeys {
    SealKeys::try_from(rows).unwrap()
}

fn session(id: &str) -> Session {
    Session::new("AQEBAQEBAQEBAQEB".to_owned(), id.to_owned(), NOW)
}

fn judged(text: &str, keys: &SealKeys, now: EpochMs) -> Judged {
    Session::judge(text, keys, &EndedSessions::default(), now)
}

#[test]
fn a_session_lasts_as_long_as_it_says_and_no_longer_than_a_session_may() {
    let keys = keys(&[seal(1, None)]);
    let session = session("one");
    let text = session.seal(&keys).unwrap();
    for (at, open) in [
        (NOW, true),
        (EpochMs(NOW.0 + SESSION_MS - 1), true),
        (EpochMs(NOW.0 + SESSION_MS), false),
        (EpochMs(NOW.0 - SESSION_EARLY_MS_MAX), true),
        (EpochMs(NOW.0 - SESSION_EARLY_MS_MAX - 1), false),
        (EpochMs(0), false),
    ] {
        let due = if open {
            Judged::Open(session.clone())
        } else {
            Judged::Nothing
        };
        assert_eq!(judged(&text, &keys, at), due, "{at:?}");
    }
}

#[test]
fn a_newer_key_ends_sessions_and_leaves_what_else_was_sealed() {
    let before = keys(&[seal(1, None)]);
    let text = session("one").seal(&before).unwrap();
    let slot = before.seal("slots", "body").unwrap();
    let until = EpochMs(NOW.0 + 1_000);
    let after = keys(&[seal(1, Some(until)), seal(2, None)]);
    assert_eq!(judged(&text, &after, NOW), Judged::Nothing);
    let body = Opened::Body {
        body: "body",
        newest: false,
    };
    assert_eq!(after.open("slots", &slot, NOW), body);
    assert_eq!(after.open("slots", &slot, until), Opened::Nothing);
    assert_eq!(
        keys(&[seal(2, None)]).open("slots", &slot, NOW),
        Opened::Nothing
    );
    // An isolate that has not heard of the newer key can tell that it has not.
    let newer = session("two").seal(&after).unwrap();
    assert_eq!(judged(&newer, &before, NOW), Judged::Newer { version: 2 });
    assert_eq!(
        judged(&newer, &SealKeys::default(), NOW),
        Judged::Newer { version: 2 }
    );
    assert!(matches!(judged(&newer, &after, NOW), Judged::Open(_)));
}

#[test]
fn versions_that_are_too_far_ahead_are_made_up() {
    let keys = keys(&[seal(3, None)]);
    for (ahead, due) in [
        (1, Judged::Newer { version: 4 }),
        (
            SEALS_AHEAD_MAX,
            Judged::Newer {
                version: 3 + SEALS_AHEAD_MAX,
            },
        ),
        (SEALS_AHEAD_MAX + 1, Judged::Nothing),
        (u64::MAX - 3, Judged::Nothing),
    ] {
        let text = format!("{}.1.a.b.AAAA", 3 + ahead);
        assert_eq!(judged(&text, &keys, NOW), due);
    }
    for text in ["+4.1.a.b.AAAA", "04.1.a.b.AAAA", "4", "", ".", "x.y.z"] {
        assert_eq!(judged(text, &keys, NOW), Judged::Nothing, "{text}");
    }
}

#[test]
fn keys_that_cannot_be_are_refused() {
    let many: Vec<SealRow> = (1..=SEALS_MAX as u64 + 1)
        .map(|version| seal(version, None))
        .collect();
    let refused = SealKeys::try_from(many.as_slice()).err().unwrap();
    assert_eq!(refused.field, "/seals");
    let short = SealRow {
        key: "AAAA".to_owned(),
        ..seal(1, None)
    };
    let refused = SealKeys::try_from([short].as_slice()).err().unwrap();
    assert_eq!(refused.field, "/seals/0/key");
}

proptest! {
    #[test]
    fn no_other_text_is_a_session(at in 0_usize..200, byte in 0x20_u8..0x7f, cut in 0_usize..200) {
        let keys = keys(&[seal(1, None)]);
        let text = session("one").seal(&keys).unwrap();
        let mut changed = text.clone().into_bytes();
        let at = at % changed.len();
        changed[at] = byte;
        let changed = String::from_utf8(changed).unwrap();
        if changed != text {
            prop_assert!(!matches!(judged(&changed, &keys, NOW), Judged::Open(_)), "{changed}");
        }
        let cut = &text[..cut % text.len()];
        prop_assert!(!matches!(judged(cut, &keys, NOW), Judged::Open(_)));
    }
}

#[test]
fn an_ended_session_stays_ended_and_others_go_on() {
    let mut ended = EndedSessions::default();
    let ending = ended.end(&session("one"), NOW).unwrap();
    assert_eq!(ending.all, None);
    assert_eq!(ended.end(&session("one"), NOW), None);
    let kept: EndedSessions = [ending.one].iter().collect();
    for ended in [&ended, &kept] {
        assert!(ended.has(&session("one")) && !ended.has(&session("two")));
    }
    let keys = keys(&[seal(1, None)]);
    let text = session("one").seal(&keys).unwrap();
    assert_eq!(Session::judge(&text, &keys, &ended, NOW), Judged::Nothing);
}

/// However many sessions are ended, the entries are bounded, and none of the ended is open again.
#[test]
fn no_number_of_logouts_fills_the_memory_or_is_forgotten() {
    let mut ended = EndedSessions::default();
    let mut rows: Vec<EndedSession> = Vec::new();
    let of = |token: usize, number: usize| {
        let at = EpochMs(NOW.0 + number as u64);
        Session::new(format!("token-{token}"), format!("{number}"), at)
    };
    let rounds = SESSIONS_ENDED_MAX + 500;
    let sessions: Vec<Session> = (0..rounds)
        .map(|number| of(number % (TOKENS_MAX + 1), number))
        .collect();
    let innocent = of(TOKENS_MAX + 1, 0);
    for (number, one) in sessions.iter().enumerate() {
        let now = EpochMs(NOW.0 + number as u64);
        let Some(ending) = ended.end(one, now) else {
            continue;
        };
        rows.push(ending.one);
        if let Some(all) = ending.all {
            assert_eq!(all.id, None);
            rows.retain(|row| row.token != all.token);
            rows.push(all);
        }
        assert!(rows.len() <= SESSIONS_ENDED_MAX, "{}", rows.len());
    }
    let kept: EndedSessions = rows.iter().collect();
    for one in &sessions {
        assert!(ended.has(one) && kept.has(one), "{one:?}");
    }
    assert!(!ended.has(&innocent));
    // Whoever logs in after all that has a session again, once those that were ended would be over.
    let later = EpochMs(NOW.0 + rounds as u64 + SESSION_EARLY_MS_MAX + 1);
    assert!(!ended.has(&Session::new("token-1".to_owned(), "new".to_owned(), later)));
}

fn saved(seals: Vec<SealRow>, ended: Vec<EndedSession>) -> SavedAccess {
    SavedAccess {
        revision: Revision(4),
        key: TokenKey::new([1; 32]).text(),
        tokens: Vec::new(),
        bootstrap: true,
        seals,
        ended,
    }
}

#[test]
fn keys_and_ended_sessions_travel_and_are_kept_with_the_tokens() {
    let key = SealKey::new([2; 32]).text();
    let one = EndedSession {
        token: "t".to_owned(),
        id: Some("s".to_owned()),
        expires_at: EpochMs(5),
    };
    let all = EndedSession {
        id: None,
        ..one.clone()
    };
    let rows = vec![
        SealRow {
            version: 2,
            key: key.clone(),
            until: None,
        },
        SealRow {
            version: 1,
            key: key.clone(),
            until: Some(EpochMs(9)),
        },
    ];
    let saved = saved(rows, vec![one, all]);
    let text = serde_json::to_string(&saved).unwrap();
    let token_key = TokenKey::new([1; 32]).text();
    let due = format!(
        r#"{{"revision":4,"key":"{token_key}","tokens":[],"bootstrap":true,"seals":[{{"version":2,"key":"{key}"}},{{"version":1,"key":"{key}","until":9}}],"ended":[{{"token":"t","id":"s","expires_at":5}},{{"token":"t","expires_at":5}}]}}"#
    );
    assert_eq!(text, due);
    assert!(!format!("{saved:?}").contains(&key), "a key is printed");
    let stored = StoredAccess::new(saved.clone());
    let row = serde_json::to_string(&stored).unwrap();
    assert_eq!(read_row::<StoredAccess>(&row).unwrap().access, saved);
}

/// An earlier version leaves the keys out: what it hands on is completed by the same revision with them.
#[test]
fn tokens_without_keys_are_asked_for_again() {
    let old = r#"{"revision":4,"key":"K","tokens":[],"bootstrap":true}"#;
    let old: SavedAccess = serde_json::from_str(old).unwrap();
    let new = saved(vec![seal(1, None)], Vec::new());
    assert_eq!((old.told(), new.told()), (Revision(0), Revision(4)));
    assert!(new.is_news(Revision(4), false) && new.is_news(Revision(3), true));
    assert!(!new.is_news(Revision(4), true) && !new.is_news(Revision(5), false));
    assert!(!old.is_news(Revision(4), false) && old.is_news(Revision(3), true));
    let table = AccessTable::try_from(&new).unwrap();
    assert_eq!(table.seals().newest(), 1);
}
