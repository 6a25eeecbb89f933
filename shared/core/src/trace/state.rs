//! `tracestate`: what others on the way keep of a trace. Weir adds nothing, and hands it on as it came.

use crate::limits::TRACE_STATE_BYTES_MAX;

/// The header.
pub const HEADER: &str = "tracestate";

/// Entries of one field (section 3.3.1.1).
const ENTRIES_MAX: usize = 32;

/// The field where it is valid and is handed on.
///
/// ```
/// use weir_core::trace::state::valid;
/// assert_eq!(valid("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"), Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
/// assert_eq!(valid("Rojo=1"), None);
/// ```
#[must_use]
pub fn valid(text: &str) -> Option<&str> {
    let entries = || {
        let entries = text.split(',').map(|entry| entry.trim_matches([' ', '\t']));
        entries.filter(|entry| !entry.is_empty())
    };
    let good = |(index, entry): (usize, &str)| {
        let (key, value) = entry.split_once('=').unwrap_or_default();
        let known = |other: &str| other.split_once('=').is_some_and(|(other, _)| other == key);
        let known = entries().take(index).any(known);
        index < ENTRIES_MAX && is_key(key) && is_value(value) && !known
    };
    let fits = text.len() <= TRACE_STATE_BYTES_MAX && entries().next().is_some();
    (fits && entries().enumerate().all(good)).then_some(text)
}

fn is_key(key: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase();
    let further = |byte: u8| letter(byte) || byte.is_ascii_digit() || b"_-*/".contains(&byte);
    let of = |text: &str, first: fn(u8) -> bool, bytes_max: usize| {
        let bytes = text.as_bytes();
        bytes.first().is_some_and(|byte| first(*byte))
            && bytes.len() <= bytes_max
            && bytes.iter().all(|byte| further(*byte))
    };
    match key.split_once('@') {
        None => of(key, |byte| byte.is_ascii_lowercase(), 256),
        Some((tenant, system)) => {
            let first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            of(tenant, first, 241) && of(system, |byte| byte.is_ascii_lowercase(), 14)
        }
    }
}

fn is_value(value: &str) -> bool {
    let good = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(good) && !value.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_recommendation() {
        let many = |count: usize| {
            let entries = (0..count).map(|index| format!("k{index}=1"));
            entries.collect::<Vec<_>>().join(",")
        };
        for good in [
            "foo=1",
            "foo=1,bar=2",
            "foo=1 \t , \t bar=2",
            "foo=1,,bar=2",
            "foo=1,",
            "foo@bar=1",
            "0foo@bar=1",
            "a_-*/=!\"#$%&'()*+-./0",
            "foo= 1",
            &many(32),
            &format!("{}=1", "z".repeat(256)),
            &format!("{}@{}=1", "t".repeat(241), "v".repeat(14)),
            &format!("foo={}", "1".repeat(256)),
        ] {
            assert_eq!(valid(good), Some(good));
        }
        for bad in [
            "",
            ",",
            "foo",
            "foo=",
            "=1",
            "foo=1,foo=2",
            "foo =1",
            "FOO=1",
            "foo.bar=1",
            "0foo=1",
            "foo@=1",
            "@bar=1",
            "foo@@bar=1",
            "foo@bar@baz=1",
            "foo@0bar=1",
            "foo=1=2",
            "foo=é",
            "foo=a\u{7f}",
            "foo=1;bar=2,x",
            &many(33),
            &format!("{}=1", "z".repeat(257)),
            &format!("{}@v=1", "t".repeat(242)),
            &format!("t@{}=1", "v".repeat(15)),
            &format!("foo={}", "1".repeat(257)),
            &format!("foo={0},bar={0}", "1".repeat(254)),
        ] {
            assert_eq!(valid(bad), None, "{bad}");
        }
    }
}
