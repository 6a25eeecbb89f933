//! The cost of a request by what its answer says was used.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_core::ordered::OrderedMap;

use super::decimal::Decimal;
use super::either::{self, Either};
use super::section::section;
use super::unique_map;

section! {
/// A cost by the usage that an answer reports, in its body or in its last event.
pub struct UsageBody {
    /// Where the answer reports it.
    pub format: Option<UsageFormatBody> = required "UsageFormat?";
    /// Units that are reserved if the request does not say what it may use.
    pub reserve: Option<u64> = required "integer?";
    /// The most units that are reserved for a request that says so; `reserve` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_max: Option<u64> = "integer";
    /// Units of a token, by its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<TokenWeightsBody> = "TokenWeights";
    /// Multipliers of the cost, by patterns of the model's name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub models: OrderedMap<String, Decimal> = "{number}";
}
}

section! {
/// Units of a token, by its kind; at most six decimals, 0 if it costs nothing.
#[derive(Copy)]
pub struct TokenWeightsBody {
    /// Of the prompt; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Decimal> = "number";
    /// Of the prompt, cached by the provider; as `input` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Decimal> = "number";
    /// Of the answer; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Decimal> = "number";
    /// Of the answer's hidden reasoning; as `output` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Decimal> = "number";
}
}

/// Where an answer tells what was used: a provider's form by its name, or a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageFormatBody {
    /// OpenAI's, and of those who speak its language.
    OpenAi,
    /// Anthropic's.
    Anthropic,
    /// Gemini's.
    Gemini,
    /// A number of units somewhere in the answer.
    Pointer(UsagePointerBody),
}

section! {
/// A place in an answer.
#[derive(Eq)]
pub struct UsagePointerBody {
    /// The place, as a JSON pointer (RFC 6901).
    pub pointer: Option<String> = required "string?";
}
}

const OPENAI: &str = "openai";
const ANTHROPIC: &str = "anthropic";
const GEMINI: &str = "gemini";

impl Either<UsagePointerBody> for UsageFormatBody {
    const EXPECTED: &'static str = "\"openai\", \"anthropic\", \"gemini\" or an object";

    fn word(word: &str) -> Option<Self> {
        match word {
            OPENAI => Some(Self::OpenAi),
            ANTHROPIC => Some(Self::Anthropic),
            GEMINI => Some(Self::Gemini),
            _ => None,
        }
    }

    fn object(object: UsagePointerBody) -> Self {
        Self::Pointer(object)
    }
}

impl Serialize for UsageFormatBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::OpenAi => serializer.serialize_str(OPENAI),
            Self::Anthropic => serializer.serialize_str(ANTHROPIC),
            Self::Gemini => serializer.serialize_str(GEMINI),
            Self::Pointer(body) => body.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for UsageFormatBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        either::deserialize(deserializer)
    }
}
