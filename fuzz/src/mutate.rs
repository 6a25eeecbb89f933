//! What becomes of an input: bytes turn, two inputs are spliced, words of the forms and numbers at the edges are put in,
//! ends are cut off, parts repeat and nest.

use crate::random::Random;

/// Bytes of an input, at most: deeper and longer than any bound of the forms, and still quick.
pub const INPUT_BYTES_MAX: usize = 8 * 1_024;

/// Numbers at which something changes, and what is almost a number.
const EDGES: [&str; 20] = [
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "1e3",
    "1e-400",
    "1e999",
    "255",
    "65536",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "null",
    "true",
    "\"unlimited\"",
];

/// What separates and quotes in one of the grammars, and characters that one reader takes for another.
const SIGNS: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\ud83d\\ude00",
    "/",
    "//",
    "/../",
    "%2f",
    "%2e",
    "%00",
    "%",
    ".",
    "..",
    ";",
    "=",
    "\n",
    "\r\n",
    "\u{feff}",
    "\u{202e}",
    "\u{130}",
    "*",
    ":443",
    "weir_",
    "__Host-weir_session=",
    "\0",
];

/// A changed copy of `input`. `words`: those of the corpus. `other`: what it may be spliced with.
pub fn changed(random: &mut Random, input: &[u8], other: &[u8], words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(3) {
        change(random, &mut bytes, other, words);
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8], words: &[Vec<u8>]) {
    let at = random.below(bytes.len() + 1);
    match random.below(10) {
        0 => turn(random, bytes),
        1 => bytes.truncate(at),
        2 => splice(random, bytes, other),
        3 => insert(
            bytes,
            at,
            random.pick(&SIGNS).map_or(&[], |sign| sign.as_bytes()),
        ),
        4 => insert(bytes, at, random.pick(words).map_or(&[], Vec::as_slice)),
        5 => number(random, bytes, at),
        6 => replace_word(random, bytes, words),
        7 => repeat(random, bytes),
        8 => remove(random, bytes),
        _ => nest(random, bytes),
    }
}

fn turn(random: &mut Random, bytes: &mut [u8]) {
    let at = random.below(bytes.len());
    let bits = random.number();
    if let Some(byte) = bytes.get_mut(at) {
        *byte = if bits & 1 == 0 {
            *byte ^ (1 << (bits >> 8 & 7))
        } else {
            (bits >> 16) as u8
        };
    }
}

fn splice(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    bytes.truncate(random.below(bytes.len() + 1));
    bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

/// Puts a number of the edge in the place of the next one that stands there.
fn number(random: &mut Random, bytes: &mut Vec<u8>, from: usize) {
    let Some(start) = bytes[from..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let start = from + start;
    let digits = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let edge = random.pick(&EDGES).map_or(&[][..], |edge| edge.as_bytes());
    bytes.splice(start..start + digits, edge.iter().copied());
}

/// Puts a word of the corpus in the place of what stands between two quotation marks.
fn replace_word(random: &mut Random, bytes: &mut Vec<u8>, words: &[Vec<u8>]) {
    let from = random.below(bytes.len() + 1);
    let quote = |from: usize, bytes: &[u8]| {
        let found = bytes[from..].iter().position(|byte| *byte == b'"')?;
        Some(from + found + 1)
    };
    if let Some(start) = quote(from, bytes)
        && let Some(end) = quote(start, bytes)
        && let Some(word) = random.pick(words)
    {
        bytes.splice(start..end - 1, word.iter().copied());
    }
}

fn part(random: &mut Random, bytes: &[u8]) -> (usize, usize) {
    let start = random.below(bytes.len());
    let length = random.below((bytes.len() - start).min(64) + 1);
    (start, start + length)
}

fn repeat(random: &mut Random, bytes: &mut Vec<u8>) {
    let (start, end) = part(random, bytes);
    let part = bytes[start..end].repeat(1 + random.below(8));
    insert(bytes, end, &part);
}

fn remove(random: &mut Random, bytes: &mut Vec<u8>) {
    let (start, end) = part(random, bytes);
    bytes.drain(start..end);
}

/// Opens many lists or objects at one place, now and then with what closes them.
fn nest(random: &mut Random, bytes: &mut Vec<u8>) {
    let (start, end) = part(random, bytes);
    let depth = 1 << random.below(9);
    let (open, close) = *random
        .pick(&[("[", "]"), ("{\"a\":", "}"), ("(", ")")])
        .unwrap_or(&("[", "]"));
    if random.below(4) > 0 {
        insert(bytes, end, close.repeat(depth).as_bytes());
    }
    insert(bytes, start, open.repeat(depth).as_bytes());
}
