//! What a request was that a proxy asks about.

use proptest::prelude::*;
use weir_shared::gateway::described::Described;
use weir_shared::gateway::facts::BodyLength;
use weir_shared::invalid::Fault;

use super::document::{Sent, get};

/// Method, host, path and body, or the field at fault.
fn read(sent: &Sent<'_>) -> Result<(String, String, String, BodyLength), String> {
    sent.facts(|question| {
        let described = Described::read(question).map_err(|refused| refused.field)?;
        let facts = described.facts(question.header);
        assert_eq!(
            (facts.country, facts.asn),
            (None, None),
            "those of the proxy"
        );
        let text = str::to_owned;
        Ok((
            text(facts.method),
            text(facts.host),
            text(facts.path),
            facts.body,
        ))
    })
}

#[test]
fn each_proxy_s_words_say_the_same() {
    let (none, unknown) = (BodyLength::None, BodyLength::Unknown);
    for (method, path, fields, expected) in [
        (
            "GET",
            "/v1/authorize",
            &[("x-forwarded-uri", "/a%20b?q=1")][..],
            ("GET", "api.example.com", "/a%20b", none),
        ),
        (
            "POST",
            "/v1/authorize",
            &[("x-original-uri", "/a#top")],
            ("POST", "api.example.com", "/a", unknown),
        ),
        (
            "GET",
            "/v1/authorize",
            &[
                ("x-forwarded-uri", "/a"),
                ("x-forwarded-method", "PUT"),
                ("x-forwarded-host", "Other.example.com:8443"),
            ],
            ("PUT", "Other.example.com:8443", "/a", unknown),
        ),
        // Both, and they agree.
        (
            "GET",
            "/v1/authorize",
            &[
                ("x-forwarded-uri", "/a"),
                ("x-original-uri", "/a"),
                ("x-original-method", "HEAD"),
            ],
            ("HEAD", "api.example.com", "/a", none),
        ),
        // The path follows, and nothing else is heeded.
        (
            "DELETE",
            "/v1/authorize/a/b",
            &[
                ("x-forwarded-uri", "/c"),
                ("x-forwarded-method", "GET"),
                ("x-forwarded-host", "h"),
            ],
            ("DELETE", "api.example.com", "/a/b", unknown),
        ),
        (
            "GET",
            "/v1/authorize/",
            &[],
            ("GET", "api.example.com", "/", none),
        ),
    ] {
        let sent = Sent {
            method,
            ..get(path, fields)
        };
        let (method, host, path, body) = expected;
        let expected = (method.to_owned(), host.to_owned(), path.to_owned(), body);
        assert_eq!(read(&sent), Ok(expected), "{fields:?}");
    }
}

#[test]
fn what_a_client_may_have_written_beside_the_proxy_is_refused() {
    let long = "A".repeat(33);
    for (fields, field) in [
        (&[][..], "x-forwarded-uri"),
        (&[("x-forwarded-uri", "  ")], "x-forwarded-uri"),
        (
            &[("x-forwarded-uri", "/a"), ("x-original-uri", "/b")],
            "x-original-uri",
        ),
        (
            &[
                ("x-forwarded-uri", "/a"),
                ("x-forwarded-method", "GET"),
                ("x-original-method", "get"),
            ],
            "x-original-method",
        ),
        // Two fields of one name are one, with a comma.
        (
            &[
                ("x-forwarded-uri", "/a"),
                ("x-forwarded-method", "GET"),
                ("x-forwarded-method", "POST"),
            ],
            "x-forwarded-method",
        ),
        (
            &[("x-forwarded-uri", "/a"), ("x-forwarded-method", &long)],
            "x-forwarded-method",
        ),
    ] {
        let sent = get("/v1/authorize", fields);
        assert_eq!(read(&sent), Err(format!("/headers/{field}")), "{fields:?}");
    }
    let sent = get("/v1/authorize", &[]);
    let missing = sent.facts(|question| Described::read(question).unwrap_err().fault);
    assert_eq!(missing, Fault::Missing);
}

proptest! {
    /// Whatever is said, it is read without a fault of our own, and a path has no query.
    #[test]
    fn whatever_a_proxy_says_is_described_or_refused(uri in "\\PC{0,40}", method in "\\PC{0,40}", rest in "\\PC{0,20}") {
        let fields = [("x-forwarded-uri", uri.as_str()), ("x-forwarded-method", method.as_str())];
        if let Ok((method, _, path, _)) = read(&get("/v1/authorize", &fields)) {
            prop_assert!(method.len() <= 32);
            prop_assert!(!path.contains(['?', '#']));
        }
        let carrying = format!("/v1/authorize/{rest}");
        let carried = read(&get(&carrying, &fields)).expect("the path says it all");
        prop_assert_eq!(carried.2, format!("/{rest}"));
    }
}
