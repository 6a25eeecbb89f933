//! The tokens of identity providers, and their keys.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_shared::access::jwt::{Algorithm, Assertion, Expected, KeySet};
use weir_shared::json;
use weir_shared::units::EpochMs;

use super::lanes;
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "text" => text,
    "claims" => claims,
    "keys" => keys,
};

const NOW: EpochMs = EpochMs(1_700_000_000_000);

fn text(input: &[u8]) -> bool {
    std::str::from_utf8(input).is_ok_and(judged)
}

/// A head and claims, a line each, as they would be sent.
fn claims(input: &[u8]) -> bool {
    let Some(at) = input.iter().position(|byte| *byte == b'\n') else {
        return false;
    };
    let (head, claims) = (
        URL_SAFE_NO_PAD.encode(&input[..at]),
        URL_SAFE_NO_PAD.encode(&input[at + 1..]),
    );
    judged(&format!("{head}.{claims}.AAAA"))
}

/// Nobody is told of a token that is meant for others, is over, or is over within the past.
fn judged(text: &str) -> bool {
    let Some(assertion) = Assertion::read(text) else {
        return false;
    };
    assert!(text.starts_with(&assertion.signed));
    let expected = Expected {
        issuer: "https://issuer.example.com",
        audience: "weir",
    };
    let stranger = Expected {
        issuer: "https://other.example.com",
        audience: "weir",
    };
    assert!(
        !(assertion.identity(&expected, NOW).is_some()
            && assertion.identity(&stranger, NOW).is_some())
    );
    for name in ["iss", "aud", "exp", "nbf"] {
        assert!(
            assertion.claim(&expected, name, NOW).is_none(),
            "{name} names somebody"
        );
    }
    if let Some(identity) = assertion.identity(&expected, NOW) {
        assert!(identity.expires_at > NOW);
        assert!(assertion.identity(&expected, identity.expires_at).is_none());
    }
    assertion.claim(&expected, "sub", NOW).is_some()
}

/// A key of the wrong kind verifies nothing.
fn keys(input: &[u8]) -> bool {
    let Ok(set) = json::from_slice::<KeySet>(input) else {
        return false;
    };
    for key in &set.keys {
        let kinds = Algorithm::ALL;
        let verified = kinds.iter().filter(|kind| key.verifies(**kind)).count();
        let most = if key.kty == "RSA" && key.alg.is_none() {
            6
        } else {
            1
        };
        assert!(
            verified <= most,
            "a key is of one kind, and of one algorithm where it says so"
        );
    }
    true
}
