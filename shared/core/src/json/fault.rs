//! Why a text was not read.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use super::pointer::step;

/// What is wrong with a text, and where: the place in the text, and the pointer of the value.
#[derive(PartialEq, Eq)]
pub struct Fault(Box<Inner>);

#[derive(PartialEq, Eq)]
struct Inner {
    message: String,
    /// Whether a value is not of the form that is expected there: its pointer says where.
    of_form: bool,
    /// Line and column, both counted from 1.
    place: Option<(usize, usize)>,
    /// The steps of the pointer, the last one first.
    steps: Vec<String>,
}

impl Fault {
    #[cold]
    pub(super) fn new(message: String) -> Self {
        Self(Box::new(Inner {
            message,
            of_form: false,
            place: None,
            steps: Vec::new(),
        }))
    }

    #[cold]
    fn of_form(message: String) -> Self {
        let mut fault = Self::new(message);
        fault.0.of_form = true;
        fault
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The JSON pointer (RFC 6901) of the value at fault; empty for the whole text.
    #[must_use]
    pub fn pointer(&self) -> String {
        self.0.steps.iter().rev().map(|name| step(name)).collect()
    }

    /// The same fault, of a value within another: it stands there by this name, or number.
    #[cold]
    pub(super) fn within(mut self, name: String) -> Self {
        self.0.steps.push(name);
        self
    }

    /// The same fault, found before byte `at`.
    #[cold]
    pub(super) fn at(mut self, text: &str, at: usize) -> Self {
        let before = &text.as_bytes()[..at.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n');
        self.0.place = Some((line, column.count()));
        self
    }
}

/// The fault of bytes that are no UTF-8, by what was found before them.
#[cold]
pub(super) fn of_cut(found: Option<Fault>) -> Fault {
    let message = "invalid unicode code point".to_owned();
    match found {
        Some(mut fault) if fault.0.message.starts_with("EOF") => {
            fault.0.message = message;
            fault
        }
        Some(fault) => fault,
        None => Fault::new(message),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.0.place.filter(|_| !self.0.of_form) {
            Some((line, column)) => write!(f, " at line {line} column {column}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.pointer())
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_form(not_of_form(unexpected, expected))
    }

    #[cold]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_form(not_of_form(unexpected, expected))
    }

    #[cold]
    fn invalid_length(len: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("invalid length {len}, expected {expected}"))
    }

    #[cold]
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::of_form(unknown("variant", variant, expected))
    }

    #[cold]
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::of_form(unknown("field", field, expected))
    }

    #[cold]
    fn missing_field(field: &'static str) -> Self {
        Self::of_form(format!("missing field `{field}`"))
    }

    #[cold]
    fn duplicate_field(field: &'static str) -> Self {
        Self::of_form(format!("duplicate field `{field}`"))
    }
}

/// What a value must be, and what it is, in words: whoever reads this knows JSON, and no type of Rust.
fn not_of_form(unexpected: Unexpected<'_>, expected: &dyn Expected) -> String {
    let is = match unexpected {
        Unexpected::Unit => "null".to_owned(),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        // With its point: a text of JSON that has one is no whole number.
        Unexpected::Float(number) => format!("{number:?}"),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => other.to_string(),
    };
    let expected = expected.to_string();
    format!("must be {}, not {is}", in_words(&expected))
}

/// What `serde` calls an expected form, in words.
fn in_words(expected: &str) -> &str {
    match expected {
        "u64" | "u128" | "usize" => "a whole number of at least 0",
        "u32" => "a whole number from 0 to 4294967295",
        "u16" => "a whole number from 0 to 65535",
        "u8" => "a whole number from 0 to 255",
        "i8" | "i16" | "i32" | "i64" | "i128" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "an object",
        form if form.starts_with("struct ") => "an object",
        other => other,
    }
}

fn unknown(what: &str, name: &str, expected: &[&str]) -> String {
    let quoted = |names: &[&str], between: &str| {
        let quoted = names.iter().map(|name| format!("`{name}`"));
        quoted.collect::<Vec<_>>().join(between)
    };
    let known = match expected {
        [] => format!("there are no {what}s"),
        [one] => format!("expected `{one}`"),
        [_, _] => format!("expected {}", quoted(expected, " or ")),
        _ => format!("expected one of {}", quoted(expected, ", ")),
    };
    format!("unknown {what} `{name}`, {known}")
}
