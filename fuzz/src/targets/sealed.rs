//! Texts that callers keep: sessions, reservations, slots, cookies, tokens.

use std::sync::LazyLock;

use weir_shared::access::ended::EndedSessions;
use weir_shared::access::seal::{Opened, SealKey, SealKeys};
use weir_shared::access::session::{Judged, Session};
use weir_shared::access::token::{Token, TokenKey};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::SealRow;

use super::lanes;
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "raw" => raw,
    "body" => body,
    "tampered" => tampered,
    "session" => session,
    "token" => token,
};

const NOW: EpochMs = EpochMs(1_700_000_000_000);

static KEYS: LazyLock<SealKeys> = LazyLock::new(|| {
    let row = SealRow {
        version: 3,
        key: SealKey::new([7; 32]).text(),
        until: None,
    };
    SealKeys::try_from([row].as_slice()).unwrap_or_default()
});

fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}

/// What nobody sealed is nothing.
fn raw(input: &[u8]) -> bool {
    let Some(text) = text(input) else {
        return false;
    };
    let opened = KEYS.open("slots", text, NOW);
    assert!(
        !matches!(opened, Opened::Body { .. }),
        "{text} was sealed by nobody"
    );
    assert!(!matches!(
        Session::judge(text, &KEYS, &EndedSessions::default(), NOW),
        Judged::Open(_)
    ));
    matches!(opened, Opened::Newer { .. })
}

/// What was sealed opens for its purpose alone, and says the same.
fn body(input: &[u8]) -> bool {
    let Some(body) = text(input) else {
        return false;
    };
    let sealed = KEYS.seal("slots", body).expect("there is a key");
    assert_eq!(
        KEYS.open("slots", &sealed, NOW),
        Opened::Body { body, newest: true }
    );
    assert_eq!(KEYS.open("reservations", &sealed, NOW), Opened::Nothing);
    true
}

/// Puts bytes of the input somewhere into a text: each pair of bytes is a place and what stands there then.
fn bent(text: &str, input: &[u8]) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    for pair in input.chunks_exact(2).take(4) {
        let place = usize::from(pair[0]) % bytes.len();
        bytes[place] = pair[1];
    }
    String::from_utf8(bytes).ok()
}

/// A sealed text with any byte changed is nothing: each has one form.
fn tampered(input: &[u8]) -> bool {
    let sealed = KEYS.seal("slots", "acme.12.x").expect("there is a key");
    let Some(other) = bent(&sealed, input) else {
        return false;
    };
    let opened = KEYS.open("slots", &other, NOW);
    assert!(
        other == sealed || !matches!(opened, Opened::Body { .. }),
        "{other}"
    );
    other != sealed
}

/// A session says whose it is, and ends.
fn session(input: &[u8]) -> bool {
    let Some(token) = text(input) else {
        return false;
    };
    let session = Session::new(token.to_owned(), "id".to_owned(), NOW);
    let sealed = session.seal(&KEYS).expect("there is a key");
    let ended = EndedSessions::default();
    assert_eq!(
        Session::judge(&sealed, &KEYS, &ended, NOW),
        Judged::Open(session.clone())
    );
    assert_eq!(
        Session::judge(&sealed, &KEYS, &ended, session.expires_at),
        Judged::Nothing
    );
    true
}

/// A token with any byte changed is none.
fn token(input: &[u8]) -> bool {
    let key = TokenKey::new([9; 32]);
    let made = Token::make(&key, [1; 12], [2; 24]).expect("every key gives a MAC");
    let raw = text(input).is_some_and(|text| Token::open(&key, text).is_ok());
    assert!(!raw, "a token that nobody made");
    let Some(other) = bent(made.text(), input) else {
        return false;
    };
    assert!(
        other == made.text() || Token::open(&key, &other).is_err(),
        "{other}"
    );
    other != made.text()
}
