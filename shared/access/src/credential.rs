//! Credentials of Weir's own in header fields that are to be forwarded. A client may write one where it means nothing, under
//! whatever scheme or name: an origin gets to see it nowhere.

use std::fmt;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, encoded_len};
use subtle::{Choice, ConstantTimeEq};

use super::own_path::decoded as decoded_percent;
use super::token::{ID_BYTES, PREFIX};

/// Bytes of either end of the bootstrap secret: it has 32 at the least, so that the two are apart, and nobody comes upon
/// one by trying.
const END_BYTES: usize = 16;

/// Characters that end one part of a field and begin the next, such as a scheme and what follows it.
const BETWEEN: &[u8] = b" \t,;:=\"'";

/// Takes whatever a client may take for base64.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The two ends of the bootstrap secret, by which it is found: also one that was mistyped in one place, or in the wrong case.
#[derive(Clone, Copy)]
pub struct SecretEnds([End; 2]);

/// Bytes in lower case, as two numbers.
#[derive(Clone, Copy)]
struct End(u64, u64);

impl fmt::Debug for SecretEnds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SecretEnds(..)")
    }
}

impl End {
    fn of(window: u128) -> Self {
        Self((window >> 64) as u64, window as u64)
    }

    fn is(self, other: Self) -> Choice {
        self.0.ct_eq(&other.0) & self.1.ct_eq(&other.1)
    }
}

impl SecretEnds {
    /// Of a secret; `None` for one so short that its ends overlap.
    #[must_use]
    pub fn of(secret: &str) -> Option<Self> {
        let bytes = secret.as_bytes();
        if bytes.len() < 2 * END_BYTES {
            return None;
        }
        let last = bytes.get(bytes.len() - END_BYTES..)?;
        let mut ends = [bytes.get(..END_BYTES)?, last].map(windows);
        Some(Self([ends[0].next()?, ends[1].next()?]))
    }

    /// Whether either is somewhere in a text, in a time that depends on the length of the text alone.
    fn are_in(&self, text: &[u8]) -> bool {
        let found = windows(text).fold(Choice::from(0), |found, here| {
            let [first, last] = self.0;
            found | first.is(here) | last.is(here)
        });
        found.into()
    }
}

/// What stands at each place of a text that has as many bytes left as an end.
fn windows(text: &[u8]) -> impl Iterator<Item = End> {
    let rolled = text.iter().scan(0_u128, |window, byte| {
        *window = (*window << 8) | u128::from(byte.to_ascii_lowercase());
        Some(End::of(*window))
    });
    rolled.skip(END_BYTES - 1)
}

/// Whether a header field has a credential of Weir's: as it is written, percent-encoded, or in base64 as in `Basic`. In
/// `authorization` whatever begins as tokens do is one; elsewhere it has to have the form of a token as far as its id.
///
/// ```
/// use weir_access::credential::{SecretEnds, is_in};
/// let secret = SecretEnds::of("9f3a61c07be2d4185ac94e7d02b6f813");
/// assert!(is_in("authorization", "Token 9f3a61c07be2d4185ac94e7d02b6f813", secret.as_ref()));
/// assert!(is_in("authorization", "Basic eDp3ZWlyX3k=", None), "x:weir_y");
/// assert!(is_in("x-api-key", "weir_AAAAAAAAAAAAAAAA.B.C", None));
/// assert!(is_in("x-api-key", "100% weir%5FAAAAAAAAAAAAAAAA.B.C", None));
/// assert!(!is_in("user-agent", "weir_client/1.0", secret.as_ref()));
/// ```
#[must_use]
pub fn is_in(name: &str, value: &str, secret: Option<&SecretEnds>) -> bool {
    let credentials = name.eq_ignore_ascii_case("authorization");
    let bytes_min = if credentials { PREFIX.len() } else { END_BYTES };
    let is_one = |text: &[u8]| {
        secret.is_some_and(|secret| secret.are_in(text))
            || has_token(text)
            || (credentials && begins_as_token(text))
    };
    let unescaped = value
        .contains('%')
        .then(|| decoded_percent(value.as_bytes()));
    let read = [Some(value.as_bytes()), unescaped.as_deref()];
    read.into_iter().flatten().any(|text| {
        let standard: Vec<u8> = text.iter().copied().map(standard).collect();
        let mut runs = standard.split(|byte| !is_base64(*byte));
        is_one(text) || runs.any(|run| decoded(run, bytes_min).any(|text| is_one(&text)))
    })
}

/// Whether a text has what a token is, up to the end of its id.
fn has_token(text: &[u8]) -> bool {
    const ID_CHARS: usize = match encoded_len(ID_BYTES, false) {
        Some(chars) => chars,
        None => 0,
    };
    text.windows(PREFIX.len() + ID_CHARS + 1).any(|window| {
        let (prefix, rest) = window.split_at(PREFIX.len());
        prefix.eq_ignore_ascii_case(PREFIX.as_bytes())
            && rest.last() == Some(&b'.')
            && rest[..ID_CHARS].iter().all(|byte| is_base64(*byte))
    })
}

fn begins_as_token(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| BETWEEN.contains(byte));
    parts.any(|part| {
        let start = part.get(..PREFIX.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX.as_bytes()))
    })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// A character of the alphabet for addresses as that of the standard one (RFC 4648, sections 5 and 4).
fn standard(byte: u8) -> u8 {
    match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }
}

/// What a run of characters of the standard alphabet says, if that is so many bytes or more: from its first character, and
/// from those after it, as something else may stand right before.
fn decoded(run: &[u8], bytes_min: usize) -> impl Iterator<Item = Vec<u8>> {
    const GROUP: usize = 4;
    let starts = (0..GROUP).filter_map(|start| run.get(start..));
    starts.filter_map(move |run| {
        // A last character by itself says nothing.
        let whole = run.len() - usize::from(run.len() % GROUP == 1);
        let run = run
            .get(..whole)
            .filter(|run| run.len() / GROUP * 3 + 2 >= bytes_min)?;
        LENIENT.decode(run).ok()
    })
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD as PADDED, URL_SAFE_NO_PAD};

    use super::*;

    const SECRET: &str = "Zm9/YmFy+Q1x2W3e4R5t6Y7u8I9o0PpA=";
    const TOKEN: &str =
        "weir_AQEBAQEBAQEBAQEB.AgICAgICAgICAgICAgICAgICAgICAgIC.AAAAAAAAAAAAAAAAAAAAAA";

    fn found(name: &str, value: &str) -> bool {
        is_in(name, value, SecretEnds::of(SECRET).as_ref())
    }

    #[test]
    fn whatever_stands_around_a_credential_it_is_found() {
        for own in [SECRET, TOKEN] {
            for around in [
                "{}",
                "Bearer {}",
                "bearer  {}",
                "Token token=\"{}\"",
                "a, b{}c",
                "ApiKey x:{}",
                "a.{}.b",
                "[{}]",
            ] {
                for name in ["authorization", "x-api-key", "sec-websocket-protocol"] {
                    let value = around.replace("{}", own);
                    assert!(found(name, &value), "{name}: {value}");
                    assert!(
                        !found(name, &around.replace("{}", "sk-of-another")),
                        "{name}: {around}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_packed_in_base64_or_percent_encoded_is_read() {
        for own in [SECRET, TOKEN] {
            for packed in [
                format!("{own}:"),
                format!("user:{own}"),
                format!("{own}:{own}"),
                own.to_owned(),
            ] {
                for text in [PADDED.encode(&packed), URL_SAFE_NO_PAD.encode(&packed)] {
                    assert!(found("authorization", &format!("Basic {text}")), "{packed}");
                    assert!(found("x-auth", &format!("v1.{text}.x")), "{packed}");
                    assert!(found("x-auth", &format!("user-{text}")), "{packed}");
                }
            }
            let escaped: String = own.bytes().map(|byte| format!("%{byte:02x}")).collect();
            assert!(found("x-key", &escaped));
        }
        assert!(found("authorization", "Basic d2Vpcl8="), "weir_");
    }

    #[test]
    fn one_mistake_and_another_case_hide_no_secret() {
        for at in 0..SECRET.len() {
            let mistyped = format!("{}*{}", &SECRET[..at], &SECRET[at + 1..]);
            assert!(found("authorization", &mistyped), "{mistyped}");
        }
        assert!(found("authorization", &SECRET.to_ascii_uppercase()));
        assert!(found("authorization", &TOKEN.to_ascii_uppercase()));
        // Its beginning alone says little, and is no oracle.
        assert!(!found("authorization", &SECRET[..END_BYTES - 1]));
    }

    #[test]
    fn what_only_looks_a_little_like_a_token_passes() {
        for (name, value) in [
            ("authorization", "Bearer beweir_x"),
            ("authorization", "Bearer weir"),
            ("user-agent", "weir_client/1.0"),
            ("x-model", "weir_small.v1"),
            ("cookie", "weir_theme=dark"),
            ("referer", "https://weir_x.example.com/AAAAAAAAAAAAAAAA."),
        ] {
            assert!(!found(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn a_secret_that_ends_as_it_begins_is_found() {
        let secret = format!("{0}..{0}", "Zm9/YmFy+Q1x2W3e");
        let ends = SecretEnds::of(&secret);
        for value in [secret.as_str(), &secret[..END_BYTES]] {
            assert!(is_in("x-api-key", value, ends.as_ref()), "{value}");
        }
    }

    #[test]
    fn what_is_too_short_to_say_so_many_bytes_is_not_read_as_base64() {
        // Fewer than 20 characters never say 16 bytes. They may begin at any of the first four.
        let read = |chars| decoded(&vec![b'A'; chars], END_BYTES).count();
        assert_eq!([0, 19, 20, 21, 23].map(read), [0, 0, 1, 2, 4]);
    }
}
