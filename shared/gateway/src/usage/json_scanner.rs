//! Reads a JSON text (RFC 8259) as it passes by, and tells what stands at a few places of it. It keeps the way to where it
//! is and a few bytes, whatever the text has: libraries that are fed piece by piece collect each string whole, and a
//! provider's answer may have an image in one.

use weir_core::limits::{SCAN_DEPTH_MAX, SCAN_WORD_BYTES_MAX};

/// Where values are looked for: the names of the members on the way, from the outermost value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    /// Ways of names. Arrays on them are looked through: what is in an array counts as if it stood in its place.
    Named(Vec<&'static [&'static str]>),
    /// One JSON pointer (RFC 6901): its parts, unescaped.
    Pointer(Vec<String>),
}

/// What stands at one of the [`Paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number of at least 0; a part of one counts as one, and what is too large is the largest.
    Number(u64),
    /// A number below 0.
    Negative,
    /// A text of at most 128 bytes, as it is written, without a backslash.
    Text(&'a str),
    /// A longer text, or one with a backslash.
    LongText,
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// An object begins, of which this is the first byte.
    Object,
    /// The object that ends here has no member.
    EmptyObject,
    /// An array begins.
    Array,
    /// The array that ends here has no element.
    EmptyArray,
}

/// A value at one of the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// Which of the paths, by its place.
    pub path: usize,
    /// The value.
    pub value: Value<'a>,
    /// Bytes of the text before its first byte.
    pub start: u64,
    /// Bytes of the text up to its last byte, which of an object or array that begins is its first.
    pub end: u64,
}

/// The paths that lead on from here, a bit each.
type Mask = u32;

/// An object or an array that is open.
#[derive(Debug, Clone, Copy)]
struct Level {
    is_array: bool,
    /// Paths that have led here.
    mask: Mask,
    /// How many of their parts have.
    parts: usize,
    /// Members or elements so far.
    members: u32,
    /// Where it begins.
    start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value, or the end of an array that has none.
    Value,
    /// A name, or the end of an object that has none.
    Name,
    Colon,
    AfterValue,
    /// Within a string; whether a backslash stands before.
    String {
        escaped: bool,
    },
    /// Within a number, `true`, `false` or `null`.
    Word,
    /// The outermost value has ended: nothing more is read.
    Whole,
    /// What came is no JSON, or is nested too deeply: nothing more is read.
    Broken,
}

/// A few bytes of a name or value; of a longer one, that it was longer.
#[derive(Debug, Clone, Default)]
struct Word {
    bytes: Vec<u8>,
    is_cut: bool,
    is_escaped: bool,
}

impl Word {
    fn clear(&mut self) {
        self.bytes.clear();
        (self.is_cut, self.is_escaped) = (false, false);
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = SCAN_WORD_BYTES_MAX - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn text(&self) -> Option<&str> {
        let whole = std::str::from_utf8(&self.bytes).ok();
        whole.filter(|_| !self.is_cut && !self.is_escaped)
    }
}

/// A JSON text on its way.
///
/// ```
/// use weir_gateway::usage::json_scanner::{JsonScanner, Paths, Value};
/// let mut scanner = JsonScanner::new(Paths::Named(vec![&["usage", "total_tokens"]]), &["content"]);
/// let mut told = Vec::new();
/// for piece in [r#"{"content":"hello","usage":{"tot"#, r#"al_tokens":12}}"#] {
///     scanner.feed(piece.as_bytes(), &mut |found| {
///         if let Value::Number(number) = found.value { told.push(number); }
///     });
/// }
/// assert_eq!((told, scanner.text_bytes()), (vec![12], 5));
/// ```
#[derive(Debug, Clone)]
pub struct JsonScanner {
    paths: Paths,
    /// Names of members whose texts are counted.
    text_names: &'static [&'static str],
    text_bytes: u64,
    state: State,
    levels: Vec<Level>,
    /// The paths that lead to the value that is due, and how many of their parts have.
    due: (Mask, usize),
    word: Word,
    /// Whether the string is a member's name.
    is_name: bool,
    /// Whether the text of the value is counted.
    is_text: bool,
    /// Whether a name on a path was written with a backslash.
    has_odd_names: bool,
    offset: u64,
    start: u64,
}

impl JsonScanner {
    /// Before the first byte. `text_names` are those of the members whose texts are [counted](Self::text_bytes).
    #[must_use]
    pub fn new(paths: Paths, text_names: &'static [&'static str]) -> Self {
        let mut scanner = Self {
            paths,
            text_names,
            text_bytes: 0,
            state: State::Value,
            levels: Vec::new(),
            due: (0, 0),
            word: Word::default(),
            is_name: false,
            is_text: false,
            has_odd_names: false,
            offset: 0,
            start: 0,
        };
        scanner.reset();
        scanner
    }

    /// Begins with another text. The bytes of texts go on being counted.
    pub fn reset(&mut self) {
        self.state = State::Value;
        self.levels.clear();
        self.due = (self.paths.all(), 0);
        self.word.clear();
        self.is_text = false;
        self.has_odd_names = false;
        (self.offset, self.start) = (0, 0);
    }

    /// Whether a name that a path could lead through was written with a backslash, which nobody needs to write a name of
    /// these: other readers may find there what this one does not.
    #[must_use]
    pub fn has_odd_names(&self) -> bool {
        self.has_odd_names
    }

    /// Whether the text was read to the end of its outermost value: neither broken off nor nested too deeply.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// Bytes of the texts of the counted members so far, in all texts, without what only JSON needs.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Takes the next bytes, and tells what they complete. Of what is no JSON, only what stands before the fault is told.
    pub fn feed(&mut self, bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        let mut at = 0;
        while at < bytes.len() && !self.is_over() {
            let taken = match self.state {
                State::String { .. } => self.string(&bytes[at..], found),
                State::Word => self.within_word(&bytes[at..], found),
                _ => {
                    self.structure(bytes[at], found);
                    1
                }
            };
            at += taken;
            self.offset += taken as u64;
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Whole | State::Broken)
    }

    /// The bytes of a string up to its end, an escape, or the end of the piece.
    fn string(&mut self, bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) -> usize {
        if self.state == (State::String { escaped: true }) {
            // A character that is written as `u` and four digits counts as these.
            self.text_bytes += u64::from(self.is_text && bytes[0] != b'u');
            self.state = State::String { escaped: false };
            return 1;
        }
        let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        let plain = &bytes[..end.unwrap_or(bytes.len())];
        self.text_bytes += if self.is_text { plain.len() as u64 } else { 0 };
        self.word.push(plain);
        match end {
            None => plain.len(),
            Some(end) if bytes[end] == b'\\' => {
                self.word.is_escaped = true;
                self.state = State::String { escaped: true };
                end + 1
            }
            Some(end) => {
                self.string_ends(self.offset + end as u64 + 1, found);
                end + 1
            }
        }
    }

    fn string_ends(&mut self, end: u64, found: &mut dyn FnMut(Found<'_>)) {
        if self.is_name {
            self.name_ends();
            return;
        }
        self.is_text = false;
        let value = self.word.text().map_or(Value::LongText, Value::Text);
        self.tell(value, end, found);
        self.value_ends();
    }

    /// A member's name is whole: which paths lead to its value, and whether its text is counted.
    fn name_ends(&mut self) {
        self.state = State::Colon;
        let name = self.word.text();
        self.is_text = name.is_some_and(|name| self.text_names.contains(&name));
        let Some(level) = self.levels.last() else {
            return;
        };
        let mut open = self.paths.of(level.mask);
        let leads_on = open.any(|path| self.paths.len(path) > level.parts);
        self.has_odd_names |= self.word.is_escaped && leads_on;
        let leads = |path: &usize| name.is_some() && self.paths.part(*path, level.parts) == name;
        let mask = self.paths.of(level.mask).filter(leads);
        self.due = (mask.fold(0, |mask, path| mask | 1 << path), level.parts + 1);
    }

    /// The bytes of a number or a literal, which the byte after it ends.
    fn within_word(&mut self, bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) -> usize {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let end = bytes.iter().position(|byte| !is_of_word(byte));
        self.word.push(&bytes[..end.unwrap_or(bytes.len())]);
        let Some(end) = end else {
            return bytes.len();
        };
        self.word_ends(self.offset + end as u64, found);
        end
    }

    fn word_ends(&mut self, end: u64, found: &mut dyn FnMut(Found<'_>)) {
        let value = match self.word.text() {
            Some("true") => Value::Bool(true),
            Some("false") => Value::Bool(false),
            Some("null") => Value::Null,
            _ => {
                let Some(number) = number(&self.word) else {
                    self.state = State::Broken;
                    return;
                };
                number
            }
        };
        self.tell(value, end, found);
        self.value_ends();
    }

    /// A byte between values.
    fn structure(&mut self, byte: u8, found: &mut dyn FnMut(Found<'_>)) {
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return;
        }
        self.state = match (self.state, byte) {
            (State::Value, b'{' | b'[') => return self.open(byte == b'[', found),
            (State::Value, b']') if self.is_empty(true) => return self.close(found),
            (State::Name, b'}') if self.is_empty(false) => return self.close(found),
            (State::AfterValue, b'}') if self.is_in(false) => return self.close(found),
            (State::AfterValue, b']') if self.is_in(true) => return self.close(found),
            (State::Value, b'"') => self.begin(false, State::String { escaped: false }),
            (State::Name, b'"') => self.begin(true, State::String { escaped: false }),
            (State::Value, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                let state = self.begin(false, State::Word);
                self.word.push(&[byte]);
                state
            }
            (State::Colon, b':') => State::Value,
            (State::AfterValue, b',') => self.next(),
            _ => State::Broken,
        };
    }

    fn begin(&mut self, is_name: bool, state: State) -> State {
        self.is_name = is_name;
        self.is_text &= !is_name;
        self.word.clear();
        self.start = self.offset;
        state
    }

    /// What is due after a comma.
    fn next(&mut self) -> State {
        let Some(level) = self.levels.last_mut() else {
            return State::Broken;
        };
        level.members = level.members.saturating_add(1);
        if !level.is_array {
            return State::Name;
        }
        let level = *level;
        self.due = self.element(&level);
        State::Value
    }

    /// The paths that lead to the next element of an array.
    fn element(&self, level: &Level) -> (Mask, usize) {
        match &self.paths {
            Paths::Named(_) => (level.mask, level.parts),
            Paths::Pointer(parts) => {
                let index = parts.get(level.parts).and_then(|part| index(part));
                let leads = index == Some(level.members);
                (if leads { level.mask } else { 0 }, level.parts + 1)
            }
        }
    }

    fn open(&mut self, is_array: bool, found: &mut dyn FnMut(Found<'_>)) {
        if self.levels.len() == SCAN_DEPTH_MAX {
            self.state = State::Broken;
            return;
        }
        self.start = self.offset;
        let begins = if is_array {
            Value::Array
        } else {
            Value::Object
        };
        self.tell(begins, self.offset + 1, found);
        let (mask, parts) = self.due;
        let level = Level {
            is_array,
            mask,
            parts,
            members: 0,
            start: self.offset,
        };
        self.is_text = false;
        self.levels.push(level);
        self.state = State::Name;
        if is_array {
            self.due = self.element(&level);
            self.state = State::Value;
        }
    }

    fn close(&mut self, found: &mut dyn FnMut(Found<'_>)) {
        let Some(level) = self.levels.pop() else {
            self.state = State::Broken;
            return;
        };
        if self.state != State::AfterValue {
            self.due = (level.mask, level.parts);
            self.start = level.start;
            let empty = if level.is_array {
                Value::EmptyArray
            } else {
                Value::EmptyObject
            };
            self.tell(empty, self.offset + 1, found);
        }
        self.value_ends();
    }

    fn value_ends(&mut self) {
        self.state = if self.levels.is_empty() {
            State::Whole
        } else {
            State::AfterValue
        };
    }

    fn is_in(&self, is_array: bool) -> bool {
        self.levels
            .last()
            .is_some_and(|level| level.is_array == is_array)
    }

    fn is_empty(&self, is_array: bool) -> bool {
        self.is_in(is_array) && self.levels.last().is_some_and(|level| level.members == 0)
    }

    /// Tells a value at the end of a path.
    fn tell(&self, value: Value<'_>, end: u64, found: &mut dyn FnMut(Found<'_>)) {
        let (mask, parts) = self.due;
        for path in self.paths.of(mask) {
            if self.paths.len(path) == parts {
                found(Found {
                    path,
                    value,
                    start: self.start,
                    end,
                });
            }
        }
    }
}

impl Paths {
    fn count(&self) -> usize {
        match self {
            Self::Named(paths) => paths.len(),
            Self::Pointer(_) => 1,
        }
    }

    fn all(&self) -> Mask {
        self.of(Mask::MAX).fold(0, |mask, path| mask | 1 << path)
    }

    /// The paths of a mask, by their places.
    fn of(&self, mask: Mask) -> impl Iterator<Item = usize> + use<> {
        (0..self.count()).filter(move |path| mask & 1 << path != 0)
    }

    fn len(&self, path: usize) -> usize {
        match self {
            Self::Named(paths) => paths[path].len(),
            Self::Pointer(parts) => parts.len(),
        }
    }

    fn part(&self, path: usize, at: usize) -> Option<&str> {
        match self {
            Self::Named(paths) => paths[path].get(at).copied(),
            Self::Pointer(parts) => parts.get(at).map(String::as_str),
        }
    }
}

/// The index that a part of a pointer means in an array: digits without a 0 in front.
fn index(part: &str) -> Option<u32> {
    let canonical = part == "0" || !part.starts_with('0');
    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
    part.parse().ok().filter(|_| canonical && digits)
}

/// The number that a word is; `None` for one that is none.
fn number(word: &Word) -> Option<Value<'static>> {
    let text = std::str::from_utf8(&word.bytes).ok()?;
    if word.bytes.iter().all(u8::is_ascii_digit) {
        return Some(Value::Number(text.parse().unwrap_or(u64::MAX)));
    }
    let number: f64 = text.parse().ok()?;
    Some(if number >= 0.0 {
        Value::Number(number.ceil() as u64)
    } else {
        Value::Negative
    })
}
