//! Where providers tell in their answers what a request has used.
//!
//! | format | sources |
//! | --- | --- |
//! | `openai` | chat and legacy completions, embeddings: `usage.prompt_tokens`, `usage.completion_tokens`; responses, images and transcriptions: `usage.input_tokens`, `usage.output_tokens`; in the events of a response under `response`, of a realtime session with `input_token_details` and `session.model` (OpenAI API reference, "usage", "Realtime") |
//! | `anthropic` | `usage` of a message; in events under `message` at its start, then `usage.output_tokens` in all so far (Anthropic API reference, "Streaming messages") |
//! | `gemini` | `usageMetadata` of an answer, or of each part of one, in all so far (Gemini API reference, "UsageMetadata") |

use weir_policy::route::UsageFormat;

use super::json_scanner::Paths;

/// What a place in an answer tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// Tokens of the prompt.
    Input,
    /// Tokens of the prompt that were cached.
    Cached,
    /// Tokens of the prompt that `Input` leaves out.
    InputBeside,
    /// Tokens of the answer.
    Output,
    /// Tokens of the answer when it began: those after them are told later, or not at all.
    OutputBegun,
    /// Tokens of the answer that nobody reads.
    Reasoning,
    /// What was used, in units.
    Total,
    /// The model.
    Model,
    /// The choices of an event: an event without one is there for its usage.
    Choices,
}

const SLOTS: usize = 9;

/// A format: the places of its values, and how they add up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    places: &'static [(&'static [&'static str], Slot)],
    /// Whether the tokens of the prompt count the cached ones.
    pub(super) input_has_cached: bool,
    /// Whether the tokens of the answer count those of reasoning.
    pub(super) output_has_reasoning: bool,
}

const OPENAI: Layout = Layout {
    places: &[
        (&["usage", "prompt_tokens"], Slot::Input),
        (&["usage", "input_tokens"], Slot::Input),
        (
            &["usage", "prompt_tokens_details", "cached_tokens"],
            Slot::Cached,
        ),
        (
            &["usage", "input_tokens_details", "cached_tokens"],
            Slot::Cached,
        ),
        (&["usage", "completion_tokens"], Slot::Output),
        (&["usage", "output_tokens"], Slot::Output),
        (
            &["usage", "completion_tokens_details", "reasoning_tokens"],
            Slot::Reasoning,
        ),
        (
            &["usage", "output_tokens_details", "reasoning_tokens"],
            Slot::Reasoning,
        ),
        (&["response", "usage", "input_tokens"], Slot::Input),
        (
            &["response", "usage", "input_tokens_details", "cached_tokens"],
            Slot::Cached,
        ),
        (&["response", "usage", "output_tokens"], Slot::Output),
        (
            &[
                "response",
                "usage",
                "output_tokens_details",
                "reasoning_tokens",
            ],
            Slot::Reasoning,
        ),
        (
            &["response", "usage", "input_token_details", "cached_tokens"],
            Slot::Cached,
        ),
        (&["model"], Slot::Model),
        (&["response", "model"], Slot::Model),
        (&["session", "model"], Slot::Model),
        (&["choices"], Slot::Choices),
    ],
    input_has_cached: true,
    output_has_reasoning: true,
};

const ANTHROPIC: Layout = Layout {
    places: &[
        (&["usage", "input_tokens"], Slot::Input),
        (&["usage", "cache_read_input_tokens"], Slot::Cached),
        (&["usage", "cache_creation_input_tokens"], Slot::InputBeside),
        (&["usage", "output_tokens"], Slot::Output),
        (&["message", "usage", "input_tokens"], Slot::Input),
        (
            &["message", "usage", "cache_read_input_tokens"],
            Slot::Cached,
        ),
        (
            &["message", "usage", "cache_creation_input_tokens"],
            Slot::InputBeside,
        ),
        (&["message", "usage", "output_tokens"], Slot::OutputBegun),
        (&["model"], Slot::Model),
        (&["message", "model"], Slot::Model),
    ],
    input_has_cached: false,
    output_has_reasoning: true,
};

const GEMINI: Layout = Layout {
    places: &[
        (&["usageMetadata", "promptTokenCount"], Slot::Input),
        (&["usageMetadata", "cachedContentTokenCount"], Slot::Cached),
        (
            &["usageMetadata", "toolUsePromptTokenCount"],
            Slot::InputBeside,
        ),
        (&["usageMetadata", "candidatesTokenCount"], Slot::Output),
        (&["usageMetadata", "thoughtsTokenCount"], Slot::Reasoning),
        (&["modelVersion"], Slot::Model),
    ],
    input_has_cached: true,
    output_has_reasoning: false,
};

/// A number of units, wherever a policy says.
const POINTER: Layout = Layout {
    places: &[(&[], Slot::Total)],
    input_has_cached: true,
    output_has_reasoning: true,
};

impl Layout {
    pub(super) fn of(format: &UsageFormat) -> Self {
        match format {
            UsageFormat::OpenAi => OPENAI,
            UsageFormat::Anthropic => ANTHROPIC,
            UsageFormat::Gemini => GEMINI,
            UsageFormat::Pointer(_) => POINTER,
        }
    }

    pub(super) fn paths(&self, format: &UsageFormat) -> Paths {
        match format {
            UsageFormat::Pointer(parts) => Paths::Pointer(parts.clone()),
            _ => Paths::Named(self.places.iter().map(|(path, _)| *path).collect()),
        }
    }

    pub(super) fn slot(&self, path: usize) -> Slot {
        self.places[path].1
    }
}

/// What an answer has told, a value a slot: of several the last, as providers tell what was used in all so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UsageReport([Option<u64>; SLOTS]);

impl UsageReport {
    pub(super) fn get(&self, slot: Slot) -> Option<u64> {
        self.0[slot as usize]
    }

    pub(super) fn set(&mut self, slot: Slot, value: u64) {
        self.0[slot as usize] = Some(value);
    }
}
