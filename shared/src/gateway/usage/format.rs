//! Where providers tell in their answers what a request has used.
//!
//! | format | sources |
//! | --- | --- |
//! | `openai` | chat and legacy completions, embeddings: `usage.prompt_tokens`, `usage.completion_tokens`; responses, images and transcriptions: `usage.input_tokens`, `usage.output_tokens`; in the events of a response under `response` (OpenAI API reference, "usage") |
//! | `anthropic` | `usage` of a message; in events under `message` at its start, then `usage.output_tokens` in all so far (Anthropic API reference, "Streaming messages") |
//! | `gemini` | `usageMetadata` of an answer, or of each part of one, in all so far (Gemini API reference, "UsageMetadata") |

use super::json_scanner::Paths;
use crate::policy::route::UsageFormat;

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
    paths: &'static [&'static [&'static str]],
    slots: &'static [Slot],
    /// Whether the tokens of the prompt count the cached ones.
    pub(super) input_has_cached: bool,
    /// Whether the tokens of the answer count those of reasoning.
    pub(super) output_has_reasoning: bool,
}

const OPENAI: Layout = Layout {
    paths: &[
        &["usage", "prompt_tokens"],
        &["usage", "input_tokens"],
        &["usage", "prompt_tokens_details", "cached_tokens"],
        &["usage", "input_tokens_details", "cached_tokens"],
        &["usage", "completion_tokens"],
        &["usage", "output_tokens"],
        &["usage", "completion_tokens_details", "reasoning_tokens"],
        &["usage", "output_tokens_details", "reasoning_tokens"],
        &["response", "usage", "input_tokens"],
        &["response", "usage", "input_tokens_details", "cached_tokens"],
        &["response", "usage", "output_tokens"],
        &[
            "response",
            "usage",
            "output_tokens_details",
            "reasoning_tokens",
        ],
        &["model"],
        &["response", "model"],
        &["choices"],
    ],
    slots: &[
        Slot::Input,
        Slot::Input,
        Slot::Cached,
        Slot::Cached,
        Slot::Output,
        Slot::Output,
        Slot::Reasoning,
        Slot::Reasoning,
        Slot::Input,
        Slot::Cached,
        Slot::Output,
        Slot::Reasoning,
        Slot::Model,
        Slot::Model,
        Slot::Choices,
    ],
    input_has_cached: true,
    output_has_reasoning: true,
};

const ANTHROPIC: Layout = Layout {
    paths: &[
        &["usage", "input_tokens"],
        &["usage", "cache_read_input_tokens"],
        &["usage", "cache_creation_input_tokens"],
        &["usage", "output_tokens"],
        &["message", "usage", "input_tokens"],
        &["message", "usage", "cache_read_input_tokens"],
        &["message", "usage", "cache_creation_input_tokens"],
        &["message", "usage", "output_tokens"],
        &["model"],
        &["message", "model"],
    ],
    slots: &[
        Slot::Input,
        Slot::Cached,
        Slot::InputBeside,
        Slot::Output,
        Slot::Input,
        Slot::Cached,
        Slot::InputBeside,
        Slot::OutputBegun,
        Slot::Model,
        Slot::Model,
    ],
    input_has_cached: false,
    output_has_reasoning: true,
};

const GEMINI: Layout = Layout {
    paths: &[
        &["usageMetadata", "promptTokenCount"],
        &["usageMetadata", "cachedContentTokenCount"],
        &["usageMetadata", "toolUsePromptTokenCount"],
        &["usageMetadata", "candidatesTokenCount"],
        &["usageMetadata", "thoughtsTokenCount"],
        &["modelVersion"],
    ],
    slots: &[
        Slot::Input,
        Slot::Cached,
        Slot::InputBeside,
        Slot::Output,
        Slot::Reasoning,
        Slot::Model,
    ],
    input_has_cached: true,
    output_has_reasoning: false,
};

/// A number of units, wherever a policy says.
const POINTER: Layout = Layout {
    paths: &[],
    slots: &[Slot::Total],
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
            _ => Paths::Named(self.paths),
        }
    }

    pub(super) fn slot(&self, path: usize) -> Slot {
        self.slots[path]
    }
}

/// What an answer has told, a value a slot: of several the last, as providers tell what was used in all so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Told([Option<u64>; SLOTS]);

impl Told {
    pub(super) fn get(&self, slot: Slot) -> Option<u64> {
        self.0[slot as usize]
    }

    pub(super) fn set(&mut self, slot: Slot, value: u64) {
        self.0[slot as usize] = Some(value);
    }
}
