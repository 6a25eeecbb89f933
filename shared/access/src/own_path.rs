//! Which paths are Weir's own, in whatever spelling. A server behind the gateway may read a path more leniently than
//! Weir does, and a client may misspell one with a token of Weir's in its hand: what any reading would take for a path
//! of Weir's is served by Weir or by nobody.

use super::endpoint::ROUTES;

/// The first segment that Weir shares with others: many APIs have their paths below it.
const SHARED: &str = "v1";

/// How often encoding is taken off: once by the platform of a lenient server, once by what runs on it, and some more.
const DECODINGS_MAX: usize = 4;

/// Whether a path, as it was sent and without its query, is one of Weir's by some reading: it begins as a path of
/// [`ROUTES`] does, by its first segment, or below `/v1` by its first two. Case, slashes that are empty or turned around,
/// encodings, dot segments, parameters and what a file system would drop from the end of a name make no difference.
///
/// ```
/// use weir_access::own_path::is_own;
/// assert!(is_own("/V1/check/") && is_own("//operator/v1/tokens") && is_own("/x/..%2fMetrics;a=b"));
/// assert!(!is_own("/v1/chat/completions") && !is_own("/v1/checks") && !is_own("/operators"));
/// ```
#[must_use]
pub fn is_own(path: &str) -> bool {
    let segments = lenient(path);
    let Some(first) = segments.first() else {
        return false;
    };
    ROUTES.iter().any(|route| {
        let mut due = route.path.split('/').skip(1);
        if due.next() != Some(first) {
            return false;
        }
        first != SHARED || segments.get(1).map(String::as_str) == due.next()
    })
}

/// The segments as the most lenient of servers would read them.
fn lenient(path: &str) -> Vec<String> {
    let mut text = path.as_bytes().to_vec();
    for _ in 0..DECODINGS_MAX {
        let decoded = decoded(&text);
        if decoded == text {
            break;
        }
        text = decoded;
    }
    let text = String::from_utf8_lossy(&text);
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let mut segments: Vec<String> = Vec::new();
    for part in path.split(['/', '\\']) {
        let name = part.split(';').next().unwrap_or_default();
        let name = name.trim_matches(|c: char| c.is_whitespace() || c.is_control());
        match name.trim_end_matches(['.', ' ']) {
            "" if name == ".." => {
                segments.pop();
            }
            "" => {}
            name => segments.push(name.chars().map(lower).collect()),
        }
    }
    segments
}

/// A letter without its case. Of the letters beyond ASCII, two have one of ASCII as their other case.
fn lower(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => c.to_ascii_lowercase(),
    }
}

/// Takes encoding off, once; what is no encoding stays.
pub(super) fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| {
        let digit = char::from(*text.get(at)?).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match (digit(at + 1), digit(at + 2)) {
            (Some(high), Some(low)) if *byte == b'%' => {
                bytes.push(high * 16 + low);
                at += 3;
            }
            _ => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    bytes
}
