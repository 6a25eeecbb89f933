//! What a request to a model says of what it may use: the head of its body, read before it is decided.

use weir_core::limits::COST_MAX;

use super::json_scanner::{Found, JsonScanner, Paths, Value};
use super::tokens::estimate;

const PATHS: &[&[&str]] = &[
    &[],
    &["model"],
    &["max_tokens"],
    &["max_completion_tokens"],
    &["max_output_tokens"],
    &["generationConfig", "maxOutputTokens"],
    &["stream"],
    &["stream_options"],
    &["stream_options", "include_usage"],
    &["messages"],
    &["prompt"],
    &["n"],
];

/// Members whose texts are the prompt, in the requests of all formats.
const PROMPT: &[&str] = &[
    "content",
    "text",
    "prompt",
    "input",
    "system",
    "instructions",
    "arguments",
    "description",
];

/// What the body of a request says. Where readers could differ (a name with a backslash, two values of one name, what is
/// nested too deeply or stands behind the head), it says nothing of the model: the answer does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRequest {
    /// The model that is asked for.
    pub model: Option<String>,
    /// Tokens that all answers together may have, where it says so.
    pub output_max: Option<u64>,
    /// Tokens that its texts are taken for.
    pub input: u64,
    /// Where `stream_options.include_usage` is to be put, where it is a stream without.
    insertion: Option<Insertion>,
}

/// What takes the place of which bytes of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Insertion {
    start: usize,
    end: usize,
    text: &'static str,
}

impl ModelRequest {
    /// Reads the head of a body, of which `rest` more bytes follow that nobody has read: they count as text.
    ///
    /// ```
    /// use weir_gateway::usage::request::ModelRequest;
    /// let body = br#"{"model":"gpt-4o","max_tokens":100,"messages":[{"role":"user","content":"12345678"}]}"#;
    /// let request = ModelRequest::read(body, 0);
    /// assert_eq!((request.model.as_deref(), request.output_max, request.input), (Some("gpt-4o"), Some(100), 2));
    /// ```
    #[must_use]
    pub fn read(head: &[u8], rest: u64) -> Self {
        let mut scanner = JsonScanner::new(Paths::Named(PATHS.to_vec()), PROMPT);
        let mut said = Said::default();
        scanner.feed(head, &mut |found| said.take(found));
        let answers = said.answers.unwrap_or(1).max(1);
        let is_clear = scanner.is_whole() && !scanner.has_odd_names() && !said.is_twofold;
        Self {
            output_max: said
                .output_max
                .map(|max| max.saturating_mul(answers).min(COST_MAX)),
            input: estimate(scanner.text_bytes().saturating_add(rest)),
            insertion: said.insertion().filter(|_| is_clear && rest == 0),
            model: said.model.filter(|_| is_clear && rest == 0),
        }
    }

    /// Whether the answer tells what was used only if it is asked to.
    #[must_use]
    pub fn wants_usage(&self) -> bool {
        self.insertion.is_some()
    }

    /// The body that asks for usage, too; `None` where it does already, or need not.
    ///
    /// ```
    /// use weir_gateway::usage::request::ModelRequest;
    /// let body = br#"{"stream":true,"messages":[]}"#;
    /// let asking = ModelRequest::read(body, 0).with_usage(body).unwrap();
    /// let asked = br#"{"stream_options":{"include_usage":true},"stream":true,"messages":[]}"#;
    /// assert_eq!(asking, asked);
    /// ```
    #[must_use]
    pub fn with_usage(&self, body: &[u8]) -> Option<Vec<u8>> {
        let Insertion { start, end, text } = self.insertion?;
        Some([body.get(..start)?, text.as_bytes(), body.get(end..)?].concat())
    }
}

#[derive(Default)]
struct Said {
    model: Option<String>,
    /// Whether the model stands there twice, or is no text.
    is_twofold: bool,
    output_max: Option<u64>,
    answers: Option<u64>,
    streams: bool,
    /// Whether it is one of the questions whose streams can be asked for usage.
    can_ask: bool,
    begins: Option<usize>,
    options: Options,
}

/// What stands at `stream_options`.
#[derive(Default)]
enum Options {
    #[default]
    Nothing,
    Null(usize, usize),
    /// An object, and where its members begin.
    Object(usize),
    Empty(usize),
    /// `include_usage` that is not `true`.
    Without(usize, usize),
    Asking,
    /// Something that no provider takes, or one of them twice.
    Odd,
}

impl Options {
    /// Whether a value may follow at a path of so many parts, after what was there.
    fn permit(&self, parts: usize, value: Value<'_>) -> bool {
        matches!(
            (self, parts, value),
            (Self::Nothing, 1, Value::Null | Value::Object)
                | (Self::Object(_), 1, Value::EmptyObject)
                | (Self::Object(_), 2, Value::Bool(_) | Value::Null)
        )
    }
}

impl Said {
    fn take(
        &mut self,
        Found {
            path,
            value,
            start,
            end,
        }: Found<'_>,
    ) {
        let (start, end) = (start as usize, end as usize);
        match (PATHS[path], value) {
            ([], Value::Object) => self.begins = Some(end),
            (["model"], Value::Text(text)) => {
                self.is_twofold |= self.model.replace(text.to_owned()).is_some();
            }
            (["model"], _) => self.is_twofold = true,
            (["n"], Value::Number(number)) => self.answers = Some(number),
            (["stream"], Value::Bool(streams)) => self.streams = streams,
            (["messages"], Value::Array)
            | (["prompt"], Value::Array | Value::Text(_) | Value::LongText) => {
                self.can_ask = true;
            }
            (["stream_options", ..], _) if !self.options.permit(PATHS[path].len(), value) => {
                self.options = Options::Odd;
            }
            (["stream_options"], Value::Null) => self.options = Options::Null(start, end),
            (["stream_options"], Value::Object) => self.options = Options::Object(end),
            (["stream_options"], Value::EmptyObject) => self.options = Options::Empty(start + 1),
            (["stream_options", _], Value::Bool(true)) => self.options = Options::Asking,
            (["stream_options", _], Value::Bool(false) | Value::Null) => {
                self.options = Options::Without(start, end);
            }
            (
                ["max_tokens" | "max_completion_tokens" | "max_output_tokens"]
                | ["generationConfig", _],
                Value::Number(number),
            ) => self.output_max = Some(number),
            _ => {}
        }
    }

    fn insertion(&self) -> Option<Insertion> {
        if !self.streams || !self.can_ask {
            return None;
        }
        let put = |start, end, text| Some(Insertion { start, end, text });
        match self.options {
            Options::Nothing => {
                let at = self.begins?;
                put(at, at, r#""stream_options":{"include_usage":true},"#)
            }
            Options::Null(start, end) => put(start, end, r#"{"include_usage":true}"#),
            Options::Object(at) => put(at, at, r#""include_usage":true,"#),
            Options::Empty(at) => put(at, at, r#""include_usage":true"#),
            Options::Without(start, end) => put(start, end, "true"),
            Options::Asking | Options::Odd => None,
        }
    }
}
