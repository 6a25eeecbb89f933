//! How a request's path is read.

use proptest::prelude::*;
use weir_shared::gateway::path::{RequestPath, Unreadable};
use weir_shared::policy::route::{HostPattern, PathPattern};

/// As it was sent, what is forwarded, its segments, and those that a lenient server reads, where they differ.
type Case<'a> = (&'a str, &'a str, &'a [&'a str], Option<&'a [&'a str]>);

#[test]
fn paths_are_read_as_the_table_says() {
    let cases: &[Case<'_>] = &[
        ("/", "/", &[], None),
        ("/a/b", "/a/b", &["a", "b"], None),
        ("/a/b/", "/a/b/", &["a", "b"], None),
        ("//a///b", "//a///b", &["a", "b"], None),
        ("/a/./b", "/a/b", &["a", "b"], None),
        ("/a/../b", "/b", &["b"], None),
        ("/../../b", "/b", &["b"], None),
        ("/a/..", "/", &[], None),
        ("/a/b/..", "/a/", &["a"], None),
        ("/a//../b", "/a/b", &["a", "b"], None),
        ("/a%20b", "/a%20b", &["a b"], None),
        ("/caf%C3%A9", "/caf%C3%A9", &["café"], None),
        ("/%61dmin", "/%61dmin", &["admin"], None),
        // Decoded once.
        ("/a%252e%252e/b", "/a%252e%252e/b", &["a%2e%2e", "b"], None),
        (
            "/a%2Fb/c",
            "/a%2Fb/c",
            &["a/b", "c"],
            Some(&["a", "b", "c"]),
        ),
        ("/a\\b", "/a\\b", &["a\\b"], Some(&["a", "b"])),
        ("/a%5Cb", "/a%5Cb", &["a\\b"], Some(&["a", "b"])),
        ("/a;v=1/b", "/a;v=1/b", &["a;v=1", "b"], Some(&["a", "b"])),
        ("/a%3Bv/b", "/a%3Bv/b", &["a;v", "b"], Some(&["a", "b"])),
        ("/...", "/...", &["..."], None),
        ("/a/..b/.c", "/a/..b/.c", &["a", "..b", ".c"], None),
    ];
    for (raw, forwarded, strict, lenient) in cases {
        let path = RequestPath::read(raw).unwrap();
        assert_eq!(path.forwarded, *forwarded, "{raw}");
        assert_eq!(path.strict, *strict, "{raw}");
        let owned = |segments: &&[&str]| segments.iter().map(|s| (*s).to_owned()).collect();
        assert_eq!(path.lenient, lenient.as_ref().map(owned), "{raw}");
    }
}

#[test]
fn what_servers_would_disagree_on_is_refused() {
    for (raw, why) in [
        ("", Unreadable::NoSlash),
        ("a/b", Unreadable::NoSlash),
        ("*", Unreadable::NoSlash),
        ("/a/%2e%2e/b", Unreadable::HiddenDots),
        ("/a/.%2E/b", Unreadable::HiddenDots),
        ("/a/..%2Fb", Unreadable::HiddenDots),
        ("/a/b%5c..", Unreadable::HiddenDots),
        ("/a/..;x/b", Unreadable::HiddenDots),
        ("/a/%2e", Unreadable::HiddenDots),
        ("/a%00b", Unreadable::Control),
        ("/a%0d%0ab", Unreadable::Control),
        ("/a\u{7f}", Unreadable::Control),
        ("/a%", Unreadable::Encoding),
        ("/a%2", Unreadable::Encoding),
        ("/a%zz", Unreadable::Encoding),
        ("/a%+1", Unreadable::Encoding),
        ("/a%ff", Unreadable::Encoding),
        ("/%c0%af", Unreadable::Encoding),
    ] {
        assert_eq!(RequestPath::read(raw), Err(why), "{raw}");
    }
    let long = format!("/{}", "x".repeat(16 * 1024));
    assert_eq!(RequestPath::read(&long), Err(Unreadable::TooLong));
}

#[test]
fn patterns_take_what_the_table_says() {
    let any = PathPattern::read(None).unwrap();
    for (pattern, path, fits) in [
        ("/", "/", true),
        ("/", "/a", false),
        ("/*", "/", true),
        ("/*", "/a/b", true),
        ("/a", "/a", true),
        ("/a", "/a/", true),
        ("/a/", "/a", true),
        ("/a", "/A", false),
        ("/a", "/ab", false),
        ("/a", "/a/b", false),
        ("/a/*", "/a", true),
        ("/a/*", "/a/b/c", true),
        ("/a/*", "/ab/c", false),
        ("/a/*/c", "/a/b/c", true),
        ("/a/*/c", "/a/c", false),
        ("/a/*/c", "/a//c", false),
        ("/a/*/c", "/a/b/b/c", false),
        ("/*/c/*", "/a/c", true),
        ("/café", "/caf%C3%A9", true),
        ("/a:b@c", "/a%3Ab@c", true),
    ] {
        let segments = RequestPath::read(path).unwrap().strict;
        let read = PathPattern::read(Some(pattern)).unwrap();
        assert_eq!(read.fits(&segments), fits, "{pattern} {path}");
        assert!(any.fits(&segments), "{path}");
    }
}

#[test]
fn hosts_are_taken_whole_or_beneath_a_star() {
    for (pattern, host, fits) in [
        ("api.example.com", "api.example.com", true),
        ("API.Example.COM", "api.example.com", true),
        ("api.example.com", "xapi.example.com", false),
        ("api.example.com", "api.example.com.evil.com", false),
        ("*.example.com", "api.example.com", true),
        ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", ".example.com", false),
        ("*.example.com", "evilexample.com", false),
        ("localhost", "localhost", true),
    ] {
        let read = HostPattern::read(Some(pattern)).unwrap();
        assert_eq!(read.fits(host), fits, "{pattern} {host}");
    }
}

fn rough_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("/".to_owned()),
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just("%2e".to_owned()),
        Just("%2F".to_owned()),
        Just("%5c".to_owned()),
        Just("\\".to_owned()),
        Just(";".to_owned()),
        Just("%".to_owned()),
        Just("%00".to_owned()),
        Just("a".to_owned()),
        Just("llm".to_owned()),
        Just("é".to_owned()),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| format!("/{}", parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_forwarded_reads_as_what_was_routed_and_never_leaves_its_place(raw in rough_path()) {
        let Ok(path) = RequestPath::read(&raw) else {
            return Ok(());
        };
        let again = RequestPath::read(&path.forwarded).unwrap();
        prop_assert_eq!(&again, &path, "reading it twice changes nothing");
        for segments in [Some(&path.strict), path.lenient.as_ref()].into_iter().flatten() {
            for segment in segments {
                prop_assert!(!segment.is_empty());
                prop_assert!(!segment.chars().any(char::is_control));
            }
        }
        let lenient = path.lenient.as_ref().unwrap_or(&path.strict);
        for segment in lenient {
            prop_assert!(segment != "." && segment != "..", "{raw}");
            prop_assert!(!segment.contains(['/', '\\', ';']), "{raw}");
        }
        prop_assert!(path.forwarded.split('/').all(|one| one != "." && one != ".."));
    }

    #[test]
    fn no_text_makes_reading_a_path_or_a_pattern_fail_otherwise_than_by_refusing(raw in "\\PC{0,40}") {
        let _ = RequestPath::read(&raw);
        let _ = PathPattern::read(Some(&raw));
        let _ = HostPattern::read(Some(&raw));
    }
}
