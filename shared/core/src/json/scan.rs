//! The tokens of JSON (RFC 8259).

use std::borrow::Cow;

use serde::de::{Error, Expected, Unexpected};

use super::fault::Fault;
use super::reader::Reader;

/// How deep values may lie within one another.
const DEPTH_MAX: u8 = 128;

/// A number as it is written: without a sign, with one, or with a fraction or an exponent.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Positive(u64),
    Negative(i64),
    Fraction(f64),
}

impl<'de> Reader<'de> {
    /// The next byte that is not white space, which stays; 0 at the end.
    #[inline(never)]
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.byte() {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return byte,
            }
        }
    }

    /// The next byte, which stays; 0 at the end.
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn is_over(&self) -> bool {
        self.at >= self.text.len()
    }

    /// One level further in, past a bracket.
    #[inline(never)]
    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        self.at += 1;
        self.depth += 1;
        if self.depth >= DEPTH_MAX {
            return Err(fault("recursion limit exceeded"));
        }
        Ok(())
    }

    /// One level further out, past `close`.
    #[inline(never)]
    pub(super) fn leave(&mut self, close: u8) -> Result<(), Fault> {
        if self.peek() != close {
            return Err(match self.is_over() {
                true => self.ended_within(close),
                false => fault("trailing characters"),
            });
        }
        self.at += 1;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn ended_within(&self, close: u8) -> Fault {
        match close {
            b'}' => fault("EOF while parsing an object"),
            _ => fault("EOF while parsing a list"),
        }
    }

    /// Goes to the next entry of what `close` ends; whether there is one.
    #[inline(never)]
    pub(super) fn next_entry(&mut self, is_first: bool, close: u8) -> Result<bool, Fault> {
        let byte = self.peek();
        if byte == close {
            return Ok(false);
        }
        if self.is_over() {
            return Err(self.ended_within(close));
        }
        if !is_first {
            if byte != b',' {
                return Err(match close {
                    b'}' => fault("expected `,` or `}`"),
                    _ => fault("expected `,` or `]`"),
                });
            }
            self.at += 1;
            if self.peek() == close {
                return Err(fault("trailing comma"));
            }
        }
        if close == b'}' && self.peek() != b'"' {
            return Err(fault("key must be a string"));
        }
        Ok(true)
    }

    /// Past the colon between a name and its value.
    #[inline(never)]
    pub(super) fn colon(&mut self) -> Result<(), Fault> {
        if self.peek() != b':' {
            return Err(fault("expected `:`"));
        }
        self.at += 1;
        Ok(())
    }

    /// A text, from its opening quotation mark.
    #[inline(never)]
    pub(super) fn string(&mut self) -> Result<Cow<'de, str>, Fault> {
        self.at += 1;
        let plain = self.plain();
        if self.byte() == b'"' {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut owned = plain.to_owned();
        loop {
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(Cow::Owned(owned));
                }
                b'\\' => owned.push(self.escaped()?),
                _ if self.is_over() => return Err(fault("EOF while parsing a string")),
                _ => {
                    return Err(fault(
                        "control character (\\u0000-\\u001F) found while parsing a string",
                    ));
                }
            }
            owned.push_str(self.plain());
        }
    }

    /// What follows up to a quotation mark, a backslash or a control character. All of these are ASCII, so that no
    /// character is cut.
    fn plain(&mut self) -> &'de str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest
            .bytes()
            .position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')
            .unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn escaped(&mut self) -> Result<char, Fault> {
        self.at += 1;
        let byte = self.byte();
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code_point(),
            _ => return Err(fault("invalid escape")),
        })
    }

    /// One code point, of one unit or of a pair of surrogates.
    fn code_point(&mut self) -> Result<char, Fault> {
        let first = self.unit()?;
        let mut units = [first, 0];
        let is_pair = (0xD800..0xDC00).contains(&first);
        if is_pair {
            if !self.rest().starts_with("\\u") {
                return Err(fault("unexpected end of hex escape"));
            }
            self.at += 2;
            units[1] = self.unit()?;
        }
        let used = if is_pair { &units[..] } else { &units[..1] };
        match char::decode_utf16(used.iter().copied()).next() {
            Some(Ok(found)) => Ok(found),
            _ => Err(fault("lone leading surrogate in hex escape")),
        }
    }

    fn unit(&mut self) -> Result<u16, Fault> {
        let digits = self.rest().get(..4).unwrap_or_default();
        if digits.len() < 4 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(fault("invalid escape"));
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| fault("invalid escape"))
    }

    fn rest(&self) -> &'de str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// A number, or `None` where none begins.
    #[inline(never)]
    pub(super) fn number(&mut self) -> Result<Option<Number>, Fault> {
        let first = self.peek();
        if first != b'-' && !first.is_ascii_digit() {
            return Ok(None);
        }
        let start = self.at;
        let is_negative = first == b'-';
        self.at += usize::from(is_negative);
        let leads_with_zero = self.byte() == b'0';
        let whole = self.digits()?;
        if leads_with_zero && whole > 1 {
            return Err(fault("invalid number"));
        }
        let mut is_whole = true;
        if self.byte() == b'.' {
            self.at += 1;
            self.digits()?;
            is_whole = false;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            self.digits()?;
            is_whole = false;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if is_whole
            && !is_negative
            && let Ok(number) = text.parse()
        {
            return Ok(Some(Number::Positive(number)));
        }
        // Minus zero is no integer.
        if is_whole
            && is_negative
            && let Ok(number) = text.parse()
            && number != 0
        {
            return Ok(Some(Number::Negative(number)));
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(Number::Fraction(number))),
            _ => Err(fault("number out of range")),
        }
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        match self.at - start {
            0 if self.is_over() => Err(fault("EOF while parsing a value")),
            0 => Err(fault("invalid number")),
            count => Ok(count),
        }
    }

    /// Past `true`, `false` or `null`.
    #[inline(never)]
    pub(super) fn word(&mut self, word: &str) -> Result<(), Fault> {
        if !self.rest().starts_with(word) {
            return Err(fault("expected ident"));
        }
        self.at += word.len();
        Ok(())
    }

    /// `true` or `false`, or `None` where neither begins.
    #[inline(never)]
    pub(super) fn boolean(&mut self) -> Result<Option<bool>, Fault> {
        match self.peek() {
            b't' => self.word("true").map(|()| Some(true)),
            b'f' => self.word("false").map(|()| Some(false)),
            _ => Ok(None),
        }
    }

    /// Past one value of whatever kind.
    #[inline(never)]
    pub(super) fn skip(&mut self) -> Result<(), Fault> {
        let close = match self.peek() {
            b'{' => b'}',
            b'[' => b']',
            b'"' => return self.string().map(|_| ()),
            b'n' => return self.word("null"),
            b't' | b'f' => return self.boolean().map(|_| ()),
            _ => {
                return match self.number()? {
                    Some(_) => Ok(()),
                    None => Err(self.no_value()),
                };
            }
        };
        self.enter()?;
        let mut is_first = true;
        while self.next_entry(is_first, close)? {
            is_first = false;
            if close == b'}' {
                self.string()?;
                self.colon()?;
            }
            self.skip()?;
        }
        self.leave(close)
    }

    fn no_value(&self) -> Fault {
        match self.is_over() {
            true => fault("EOF while parsing a value"),
            false => fault("expected value"),
        }
    }

    /// The refusal of what stands here, where `expected` should.
    #[cold]
    #[inline(never)]
    pub(super) fn unexpected(&mut self, expected: &dyn Expected) -> Fault {
        let found = match self.peek() {
            b'{' => Unexpected::Map,
            b'[' => Unexpected::Seq,
            b'n' => match self.word("null") {
                Ok(()) => Unexpected::Unit,
                Err(fault) => return fault,
            },
            b't' | b'f' => match self.boolean() {
                Ok(found) => Unexpected::Bool(found.unwrap_or_default()),
                Err(fault) => return fault,
            },
            b'"' => {
                return match self.string() {
                    Ok(text) => Fault::invalid_type(Unexpected::Str(&text), expected),
                    Err(fault) => fault,
                };
            }
            _ => match self.number() {
                Ok(Some(Number::Positive(number))) => Unexpected::Unsigned(number),
                Ok(Some(Number::Negative(number))) => Unexpected::Signed(number),
                Ok(Some(Number::Fraction(number))) => Unexpected::Float(number),
                Ok(None) => return self.no_value(),
                Err(fault) => return fault,
            },
        };
        Fault::invalid_type(found, expected)
    }
}

/// A fault in so many words.
#[cold]
#[inline(never)]
pub(super) fn fault(message: &str) -> Fault {
    Fault::new(message.to_owned())
}
