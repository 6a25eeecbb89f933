//! A conversation over a WebSocket as it passes by: each message of the origin that tells usage tells that of one answer, and
//! what was used is the sum (OpenAI API reference, "Realtime server events", `response.done`).

use weir_policy::route::UsageFormat;

use super::format::Slot;
use super::reader::{AnswerForm, UsageReader};
use super::tokens::{Tokens, estimate};

/// What stands in a message that brings a part of what is spoken: its text is a sound, of which no one can tell the tokens.
const SOUND: &str = "audio.delta\"";

/// Reads the messages of one conversation.
///
/// ```
/// use weir_gateway::usage::session::Session;
/// use weir_policy::route::UsageFormat;
/// let mut session = Session::new(&UsageFormat::OpenAi);
/// assert_eq!(session.tokens(), None, "nothing was told or written");
/// for output in [5, 7] {
///     session.receive(&format!(
///         r#"{{"type":"response.done","response":{{"usage":{{"input_tokens":10,"output_tokens":{output},
///             "input_token_details":{{"cached_tokens":4}}}}}}}}"#
///     ));
/// }
/// session.receive(r#"{"type":"response.output_text.delta","delta":"twelve bytes"}"#);
/// let tokens = session.tokens().unwrap();
/// // Two answers, and three tokens of one that did not end.
/// assert_eq!((tokens.input, tokens.cached_input, tokens.output), (12, 8, 15));
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    format: UsageFormat,
    told: Option<Tokens>,
    /// Bytes of text since an answer was last told.
    written: u64,
    model: Option<String>,
}

impl Session {
    /// Before the first message.
    #[must_use]
    pub fn new(format: &UsageFormat) -> Self {
        Self {
            format: format.clone(),
            told: None,
            written: 0,
            model: None,
        }
    }

    /// Takes a message of the origin.
    pub fn receive(&mut self, message: &str) {
        let mut reader = UsageReader::new(&self.format, AnswerForm::Json, false);
        let _as_it_is = reader.feed(message.as_bytes());
        if let Some(model) = reader.model() {
            self.model = Some(model.to_owned());
        }
        match reader.tokens(0).filter(|_| reader.tells()) {
            Some(tokens) => {
                self.told = Some(self.told.unwrap_or_default().plus(&tokens));
                self.written = 0;
            }
            None if message.contains(SOUND) || reader.counts(Slot::Total) => {}
            None => self.written = self.written.saturating_add(reader.text_bytes()),
        }
    }

    /// What was used: all that was told, and an estimate of the text of an answer that has not ended. `None` where nothing
    /// was told or written.
    #[must_use]
    pub fn tokens(&self) -> Option<Tokens> {
        let begun = Tokens {
            output: estimate(self.written),
            ..Tokens::default()
        };
        match self.told {
            Some(told) => Some(told.plus(&begun)),
            None => (self.written > 0).then_some(begun),
        }
    }

    /// The model that answers, where it is told.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}
