//! Percent-encoding (RFC 3986, section 2.1).

/// Why a text is not what something was encoded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miswritten {
    /// A `%` without two hexadecimal digits.
    Digits,
    /// What is encoded is not UTF-8.
    Utf8,
}

/// A text as a header field may hold it: what is no visible character of ASCII, and `%`, is encoded.
///
/// ```
/// use weir_core::percent::{decoded, in_header};
/// assert_eq!(in_header("acme/web:1"), "acme/web:1");
/// assert_eq!(in_header("50% von Jürgen"), "50%25%20von%20J%C3%BCrgen");
/// assert_eq!(decoded(&in_header("50% von Jürgen")).as_deref(), Ok("50% von Jürgen"));
/// ```
#[must_use]
pub fn in_header(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => {
                encoded.push('%');
                let digit = |nibble: u8| char::from(b"0123456789ABCDEF"[usize::from(nibble)]);
                encoded.extend([digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    encoded
}

/// Takes the encoding off, once.
///
/// # Errors
/// What is wrong with it.
///
/// ```
/// use weir_core::percent::{Miswritten, decoded};
/// assert_eq!(decoded("a%2Fb%2525").as_deref(), Ok("a/b%25"));
/// assert_eq!(decoded("100%"), Err(Miswritten::Digits));
/// assert_eq!(decoded("%ff"), Err(Miswritten::Utf8));
/// ```
pub fn decoded(text: &str) -> Result<String, Miswritten> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(Miswritten::Digits);
        };
        bytes.extend(u8::try_from(high * 16 + low));
    }
    String::from_utf8(bytes).map_err(|_| Miswritten::Utf8)
}
