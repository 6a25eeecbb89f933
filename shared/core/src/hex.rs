//! Bytes as text.

/// Bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = bytes.iter().flat_map(|byte| {
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied();
        [digit(byte >> 4), digit(byte & 15)]
    });
    digits.flatten().collect()
}
