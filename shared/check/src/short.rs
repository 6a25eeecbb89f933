//! The commonest question, read without a copy: one budget, one cost, and mostly a tenant.

use weir_core::limits::{BATCH_REQUESTS_MAX, JSON_INTEGER_MAX};

/// A check of one budget, in the short form: `{"tenant":"acme","budget":"tokens","cost":3}`.
///
/// Whatever is written in another way (an escape, a fraction, another field, a field twice) is not read here, though it
/// may be a good question. What is read here is one, but for its names, which are still to be checked.
///
/// ```
/// use weir_check::short::Short;
/// let short = Short::read(br#"{"tenant":"acme","budget":"tokens"}"#).unwrap();
/// assert_eq!((short.tenant, short.budget, short.cost), (Some("acme"), "tokens", 1));
/// assert!(Short::read(br#"{"tenant":"acme","meter":"tokens"}"#).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short<'a> {
    /// Who asks; `None` where the token says it.
    pub tenant: Option<&'a str>,
    /// The budget.
    pub budget: &'a str,
    /// Units; 0 looks.
    pub cost: u64,
}

impl<'a> Short<'a> {
    /// The question of a body.
    #[must_use]
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader { rest: body };
        let short = reader.short()?;
        reader.end().then_some(short)
    }

    /// The questions of a batch, 1 to [`BATCH_REQUESTS_MAX`].
    ///
    /// ```
    /// use weir_check::short::Short;
    /// let body = br#"{"requests":[{"tenant":"a","budget":"b","cost":2},{"tenant":"c","budget":"b"}]}"#;
    /// let costs: Vec<u64> = Short::read_batch(body).unwrap().iter().map(|short| short.cost).collect();
    /// assert_eq!(costs, [2, 1]);
    /// ```
    #[must_use]
    pub fn read_batch(body: &'a [u8]) -> Option<Vec<Self>> {
        let mut reader = Reader { rest: body };
        reader.token(b'{')?;
        (reader.text()? == "requests").then_some(())?;
        reader.token(b':')?;
        reader.token(b'[')?;
        let mut shorts = Vec::new();
        loop {
            if shorts.len() == BATCH_REQUESTS_MAX {
                return None;
            }
            shorts.push(reader.short()?);
            if reader.token(b',').is_none() {
                break;
            }
        }
        reader.token(b']')?;
        reader.token(b'}')?;
        reader.end().then_some(shorts)
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn short(&mut self) -> Option<Short<'a>> {
        let (mut tenant, mut budget, mut cost) = (None, None, None);
        self.token(b'{')?;
        loop {
            let name = self.text()?;
            self.token(b':')?;
            let again = match name {
                "tenant" => tenant.replace(self.text()?).is_some(),
                "budget" => budget.replace(self.text()?).is_some(),
                "cost" => cost.replace(self.integer()?).is_some(),
                _ => return None,
            };
            if again {
                return None;
            }
            if self.token(b',').is_none() {
                break;
            }
        }
        self.token(b'}')?;
        Some(Short {
            tenant,
            budget: budget?,
            cost: cost.unwrap_or(1),
        })
    }

    fn space(&mut self) {
        let blank = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let start = self.rest.iter().position(blank).unwrap_or(self.rest.len());
        self.rest = &self.rest[start..];
    }

    /// Steps over one byte, if it comes next.
    fn token(&mut self, due: u8) -> Option<()> {
        self.space();
        let (first, rest) = self.rest.split_first()?;
        (*first == due).then(|| self.rest = rest)
    }

    /// A text without escapes.
    fn text(&mut self) -> Option<&'a str> {
        self.token(b'"')?;
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        let end = self.rest.iter().position(special)?;
        let text = std::str::from_utf8(&self.rest[..end]).ok()?;
        (self.rest[end] == b'"').then_some(())?;
        self.rest = &self.rest[end + 1..];
        Some(text)
    }

    /// A whole number as a machine writes it, up to the largest that JSON carries exactly.
    fn integer(&mut self) -> Option<u64> {
        self.space();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
        let digits = digits.count();
        // More digits than that are above the bound anyway.
        if digits == 0 || digits > 16 || (digits > 1 && self.rest[0] == b'0') {
            return None;
        }
        let (number, rest) = self.rest.split_at(digits);
        let fold = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
        let value = number.iter().fold(0, fold);
        self.rest = rest;
        (value <= JSON_INTEGER_MAX).then_some(value)
    }

    fn end(&mut self) -> bool {
        self.space();
        self.rest.is_empty()
    }
}
