//! An answer as it passes by: what it tells of what was used, and an estimate of what it does not tell.

use weir_core::limits::EVENT_BYTES_MAX;
use weir_policy::route::UsageFormat;

use super::event_stream::{EventStream, Part};
use super::format::{Layout, Slot, UsageReport};
use super::json_scanner::{Found, JsonScanner, Value};
use super::tokens::{Tokens, estimate};

/// Members whose texts are what a model has written, in the answers and events of all formats.
const WRITTEN: &[&str] = &[
    "content",
    "text",
    "delta",
    "reasoning_content",
    "thinking",
    "arguments",
    "partial_json",
    "refusal",
];

/// How an answer's body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// One JSON text.
    Json,
    /// Server-sent events, each with a JSON text.
    Events,
    /// Something else, or compressed: nothing is told.
    Opaque,
}

impl AnswerForm {
    /// The form of an answer by its `content-type` and `content-encoding`.
    ///
    /// ```
    /// use weir_gateway::usage::reader::AnswerForm;
    /// assert_eq!(AnswerForm::of(Some("application/json; charset=utf-8"), None), AnswerForm::Json);
    /// assert_eq!(AnswerForm::of(Some("text/event-stream"), Some("identity")), AnswerForm::Events);
    /// assert_eq!(AnswerForm::of(Some("application/json"), Some("gzip")), AnswerForm::Opaque);
    /// assert_eq!(AnswerForm::of(Some("audio/mpeg"), None), AnswerForm::Opaque);
    /// ```
    #[must_use]
    pub fn of(content_type: Option<&str>, content_encoding: Option<&str>) -> Self {
        let packed = content_encoding.is_some_and(|coding| {
            let coding = coding.trim();
            !coding.is_empty() && !coding.eq_ignore_ascii_case("identity")
        });
        let essence = content_type.unwrap_or_default().split(';').next();
        let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            _ if packed => Self::Opaque,
            "text/event-stream" => Self::Events,
            "application/json" => Self::Json,
            other if other.starts_with("application/") && other.ends_with("+json") => Self::Json,
            _ => Self::Opaque,
        }
    }
}

/// Reads one answer.
///
/// ```
/// use weir_gateway::usage::reader::{AnswerForm, UsageReader};
/// use weir_policy::route::UsageFormat;
/// let mut reader = UsageReader::new(&UsageFormat::OpenAi, AnswerForm::Json, false);
/// let answer = br#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,
///     "prompt_tokens_details":{"cached_tokens":4}}}"#;
/// assert_eq!(reader.feed(answer), None, "the answer passes on as it is");
/// let tokens = reader.tokens(0).unwrap();
/// assert_eq!((tokens.input, tokens.cached_input, tokens.output), (5, 4, 3));
/// ```
#[derive(Debug, Clone)]
pub struct UsageReader {
    form: AnswerForm,
    layout: Layout,
    scanner: JsonScanner,
    events: EventStream,
    told: UsageReport,
    model: Option<String>,
    /// Bytes of the event that is under way, where events are held back until they have ended.
    held: Option<Vec<u8>>,
    /// Whether the event under way is too large to be held back.
    is_loose: bool,
    event: Event,
}

/// What the event under way has.
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    tells_usage: bool,
    has_no_choices: bool,
}

impl UsageReader {
    /// Before the first byte. Where the client has not asked for it, `drops_usage` leaves out the event that is there for
    /// usage alone.
    #[must_use]
    pub fn new(format: &UsageFormat, form: AnswerForm, drops_usage: bool) -> Self {
        let layout = Layout::of(format);
        let holds = drops_usage && form == AnswerForm::Events;
        Self {
            form,
            layout,
            scanner: JsonScanner::new(layout.paths(format), WRITTEN),
            events: EventStream::default(),
            told: UsageReport::default(),
            model: None,
            held: holds.then(Vec::new),
            is_loose: false,
            event: Event::default(),
        }
    }

    /// Takes the next piece; what passes on in its place, `None` for the piece as it is.
    pub fn feed(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        match self.form {
            AnswerForm::Opaque => None,
            AnswerForm::Json => {
                self.scan(piece);
                None
            }
            AnswerForm::Events => self.feed_events(piece),
        }
    }

    /// The last bytes, which were held back.
    #[must_use]
    pub fn end(&mut self) -> Vec<u8> {
        self.held.take().unwrap_or_default()
    }

    /// The model that has answered, where it is told.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// What was used: what is told counts; else a prompt of `input` tokens, and the text that has passed. `None` where the
    /// answer cannot be read.
    #[must_use]
    pub fn tokens(&self, input: u64) -> Option<Tokens> {
        if self.form == AnswerForm::Opaque {
            return None;
        }
        if self.counts(Slot::Total) {
            let total = self.told.get(Slot::Total)?;
            return Some(Tokens {
                total,
                ..Tokens::default()
            });
        }
        let told = |slot| self.told.get(slot);
        let cached = told(Slot::Cached).unwrap_or(0);
        let whole = told(Slot::Input).unwrap_or(input);
        let fresh = if self.layout.input_has_cached {
            whole.saturating_sub(cached)
        } else {
            whole
        };
        let reasoning = told(Slot::Reasoning).unwrap_or(0);
        let begun = told(Slot::OutputBegun).unwrap_or(0);
        let written = || begun.max(estimate(self.scanner.text_bytes()));
        let output = told(Slot::Output).unwrap_or_else(written);
        Some(Tokens {
            input: fresh.saturating_add(told(Slot::InputBeside).unwrap_or(0)),
            cached_input: cached,
            output: match self.layout.output_has_reasoning {
                true => output.saturating_sub(reasoning),
                false => output,
            },
            reasoning,
            total: 0,
        })
    }

    /// Whether the answer has told anything of what was used.
    #[must_use]
    pub fn tells(&self) -> bool {
        let slots = [Slot::Input, Slot::Output, Slot::OutputBegun, Slot::Total];
        slots.into_iter().any(|slot| self.told.get(slot).is_some())
    }

    /// Bytes of text that a model has written, as far as it was read.
    pub(super) fn text_bytes(&self) -> u64 {
        self.scanner.text_bytes()
    }

    /// Whether the format tells such a value first of all.
    pub(super) fn counts(&self, slot: Slot) -> bool {
        self.layout.slot(0) == slot
    }

    fn scan(&mut self, data: &[u8]) {
        let Self {
            scanner,
            told,
            model,
            event,
            layout,
            ..
        } = self;
        scanner.feed(
            data,
            &mut |Found { path, value, .. }| match (layout.slot(path), value) {
                (Slot::Model, Value::Text(text)) => *model = Some(text.to_owned()),
                (Slot::Choices, Value::EmptyArray) => event.has_no_choices = true,
                (Slot::Model | Slot::Choices, _) => {}
                (slot, Value::Number(number)) => {
                    told.set(slot, number);
                    event.tells_usage = true;
                }
                _ => {}
            },
        );
    }

    fn feed_events(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let mut events = std::mem::take(&mut self.events);
        let mut passed = self.held.is_some().then(Vec::new);
        let mut from = 0;
        events.feed(piece, &mut |part| match part {
            Part::Data(data) => self.scan(data),
            Part::End(end) => {
                self.event_ends(&piece[from..end], passed.as_mut());
                from = end;
            }
        });
        self.events = events;
        if let (Some(held), Some(passed)) = (&mut self.held, &mut passed) {
            held.extend_from_slice(&piece[from..]);
            if self.is_loose || held.len() > EVENT_BYTES_MAX {
                self.is_loose = true;
                passed.append(held);
            }
        }
        passed
    }

    fn event_ends(&mut self, last: &[u8], passed: Option<&mut Vec<u8>>) {
        let event = std::mem::take(&mut self.event);
        self.scanner.reset();
        let (Some(held), Some(passed)) = (&mut self.held, passed) else {
            return;
        };
        held.extend_from_slice(last);
        if !self.is_loose && event.tells_usage && event.has_no_choices {
            held.clear();
        }
        passed.append(held);
        self.is_loose = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_by_its_suffix_is_json() {
        let of = |essence: &str| AnswerForm::of(Some(essence), None);
        assert_eq!(of("application/vnd.api+json"), AnswerForm::Json);
        assert_eq!(
            of("application/problem+json; charset=utf-8"),
            AnswerForm::Json
        );
        assert_eq!(of("image/svg+json"), AnswerForm::Opaque);
        assert_eq!(of("application/xml"), AnswerForm::Opaque);
    }
}
