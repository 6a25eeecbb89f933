//! What an identity provider's assertion has to be before anybody looks at its signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use weir_shared::access::jwt::{Algorithm, Assertion, Expected, PublicKey};
use weir_shared::limits::{ASSERTION_BYTES_MAX, ASSERTION_EARLY_MS_MAX};
use weir_shared::units::EpochMs;

const NOW_S: u64 = 1_700_000_000;
const EXPECTED: Expected<'static> = Expected {
    issuer: "https://team.example",
    audience: "the-application",
};

fn claims() -> Value {
    json!({
        "iss": EXPECTED.issuer, "aud": [EXPECTED.audience], "exp": NOW_S + 60, "nbf": NOW_S - 60,
        "iat": NOW_S - 60, "email": "ada@example.com", "type": "app", "sub": "7335d417",
    })
}

fn text(head: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.{}",
        part(head),
        part(claims),
        URL_SAFE_NO_PAD.encode("signature")
    )
}

fn rs256(claims: &Value) -> String {
    text(
        &json!({ "alg": "RS256", "kid": "one", "typ": "JWT" }),
        claims,
    )
}

fn actor_at(claims: &Value, now_ms: u64) -> Option<String> {
    let assertion = Assertion::read(&rs256(claims)).expect("it can be read");
    let identity = assertion.identity(&EXPECTED, EpochMs(now_ms))?;
    Some(identity.actor)
}

fn with(field: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[field] = value;
    claims
}

#[test]
fn an_assertion_names_its_key_its_signature_and_whom_it_is_about() {
    let text = rs256(&claims());
    let assertion = Assertion::read(&text).unwrap();
    assert_eq!(assertion.key_id, "one");
    assert_eq!(assertion.signature, b"signature");
    assert_eq!(assertion.signed, text.rsplit_once('.').unwrap().0);
    let identity = assertion
        .identity(&EXPECTED, EpochMs(NOW_S * 1_000))
        .unwrap();
    assert_eq!(identity.actor, "access:ada@example.com");
    assert_eq!(identity.expires_at, EpochMs((NOW_S + 60) * 1_000));
}

#[test]
fn signatures_by_a_public_key_are_read_and_no_others_whatever_the_assertion_says_of_itself() {
    for algorithm in Algorithm::ALL {
        let head = json!({ "alg": algorithm.name(), "kid": "one" });
        let read = Assertion::read(&text(&head, &claims()));
        assert_eq!(read.map(|it| it.algorithm), Some(algorithm));
    }
    for alg in [
        "none", "None", "NONE", "HS256", "HS384", "HS512", "RS1", "RS224", "ES256K", "PS512 ",
        "rs256", "eddsa", "Ed448", "RSA-OAEP", "",
    ] {
        let head = json!({ "alg": alg, "kid": "one" });
        assert_eq!(Assertion::read(&text(&head, &claims())), None, "{alg}");
    }
    for head in [
        json!({ "kid": "one" }),
        json!({ "alg": "RS256" }),
        json!({ "alg": "RS256", "kid": "one", "crit": ["exp"] }),
        json!({ "alg": "RS256", "kid": "one", "crit": [] }),
        json!([]),
        json!(1),
    ] {
        assert_eq!(Assertion::read(&text(&head, &claims())), None, "{head}");
    }
}

#[test]
fn what_is_no_assertion_is_not_read() {
    let whole = rs256(&claims());
    let cut = whole.rsplit_once('.').unwrap().0;
    let padded = format!("{whole}=");
    let long = format!("{whole}{}", "A".repeat(ASSERTION_BYTES_MAX));
    for text in ["", ".", "..", "a.b.c", cut, &whole[1..], &padded, &long] {
        assert_eq!(Assertion::read(text), None, "{text:.80}");
    }
    assert_eq!(Assertion::read(&rs256(&json!({ "iss": "x" }))), None);
    assert_eq!(Assertion::read(&rs256(&with("exp", json!("soon")))), None);
    assert_eq!(Assertion::read(&rs256(&with("exp", json!(-1)))), None);
}

#[test]
fn it_holds_for_this_application_of_this_team_only() {
    let now_ms = NOW_S * 1_000;
    let one = with("aud", json!(EXPECTED.audience));
    let many = with("aud", json!(["another", EXPECTED.audience]));
    assert!(actor_at(&one, now_ms).is_some() && actor_at(&many, now_ms).is_some());
    for claims in [
        with("aud", json!("another")),
        with("aud", json!([])),
        with("aud", json!("the-application-too")),
        with("iss", json!("https://other.example")),
        with("iss", json!("https://team.example/")),
        with("iss", json!("http://team.example")),
    ] {
        assert_eq!(actor_at(&claims, now_ms), None, "{claims}");
    }
}

#[test]
fn it_holds_from_its_begin_to_its_end() {
    let now_ms = NOW_S * 1_000;
    let end_ms = now_ms + 60_000;
    assert!(actor_at(&claims(), end_ms - 1).is_some());
    assert_eq!(actor_at(&claims(), end_ms), None);
    assert_eq!(actor_at(&with("exp", json!(0)), now_ms), None);
    let begin_ms = (NOW_S + 3_600) * 1_000;
    let later = {
        let mut claims = with("nbf", json!(NOW_S + 3_600));
        claims["exp"] = json!(NOW_S + 7_200);
        claims
    };
    assert_eq!(
        actor_at(&later, begin_ms - ASSERTION_EARLY_MS_MAX - 1),
        None
    );
    assert!(actor_at(&later, begin_ms - ASSERTION_EARLY_MS_MAX).is_some());
    assert!(actor_at(&with("exp", json!(u64::MAX)), now_ms).is_some());
}

#[test]
fn it_names_somebody_whom_the_audit_log_can_name() {
    let now_ms = NOW_S * 1_000;
    let mut service = with("email", Value::Null);
    service["common_name"] = json!("robot.access");
    assert_eq!(
        actor_at(&service, now_ms).as_deref(),
        Some("access:robot.access")
    );
    for claims in [
        with("email", Value::Null),
        with("email", json!("ada\n@example.com")),
        with("email", json!("x".repeat(128))),
    ] {
        assert_eq!(actor_at(&claims, now_ms), None, "{claims}");
    }
}

#[test]
fn a_claim_is_a_text_or_a_whole_number_of_a_token_that_holds() {
    let claim = |claims: &Value, name: &str| {
        let assertion = Assertion::read(&rs256(claims)).expect("it can be read");
        assertion.claim(&EXPECTED, name, EpochMs(NOW_S * 1_000))
    };
    for (value, due) in [
        (json!("acme"), Some("acme")),
        (json!(42), Some("42")),
        (json!(-1), Some("-1")),
        (json!(1.5), None),
        (json!(true), None),
        (json!(null), None),
        (json!(["acme"]), None),
        (json!({ "name": "acme" }), None),
    ] {
        let found = claim(&with("org", value.clone()), "org");
        assert_eq!(found.as_deref(), due, "{value}");
    }
    assert_eq!(claim(&claims(), "sub").as_deref(), Some("7335d417"));
    let email = claim(&claims(), "email");
    assert_eq!(email.as_deref(), Some("ada@example.com"));
    for name in ["org", "iss", "aud", "exp", "nbf", ""] {
        assert_eq!(claim(&claims(), name), None, "{name}");
    }
    for (field, value) in [
        ("iss", json!("https://other.example")),
        ("aud", json!("another")),
        ("exp", json!(NOW_S)),
        ("nbf", json!(NOW_S + 3_600)),
    ] {
        assert_eq!(claim(&with(field, value), "sub"), None, "{field}");
    }
}

/// A key of so many bytes a number.
fn key(kty: &str, crv: &str, bytes: usize) -> PublicKey {
    let number = URL_SAFE_NO_PAD.encode(vec![0x80; bytes]);
    PublicKey {
        kid: "one".to_owned(),
        kty: kty.to_owned(),
        crv: crv.to_owned(),
        n: number.clone(),
        x: number.clone(),
        y: number,
        ..PublicKey::default()
    }
}

#[test]
fn a_key_verifies_the_algorithms_of_its_kind_alone() {
    use Algorithm::{EdDsa, Es256, Es384, Es512, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
    let rsa = [Rs256, Rs384, Rs512, Ps256, Ps384, Ps512];
    let kinds: [(PublicKey, &[Algorithm]); 9] = [
        (key("RSA", "", 256), &rsa),
        (key("RSA", "", 255), &[]),
        (key("EC", "P-256", 32), &[Es256]),
        (key("EC", "P-384", 48), &[Es384]),
        (key("EC", "P-521", 66), &[Es512]),
        (key("EC", "P-384", 32), &[]),
        (key("EC", "secp256k1", 32), &[]),
        (key("OKP", "Ed25519", 32), &[EdDsa]),
        (key("oct", "", 256), &[]),
    ];
    for (key, due) in kinds {
        for algorithm in Algorithm::ALL {
            let is_due = due.contains(&algorithm);
            assert_eq!(key.verifies(algorithm), is_due, "{key:?}: {algorithm:?}");
            // A key that says what it is for verifies nothing else.
            for said in Algorithm::ALL {
                let alg = Some(said.name().to_owned());
                let bound = PublicKey { alg, ..key.clone() };
                let may = is_due && said == algorithm;
                assert_eq!(bound.verifies(algorithm), may, "{bound:?}: {algorithm:?}");
            }
        }
        assert_eq!(key.is_of_signatures(), !due.is_empty(), "{key:?}");
    }
}
