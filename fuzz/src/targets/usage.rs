//! Answers of models, which are read while they pass by, and the requests for them.

use serde_json::Value;
use weir_shared::gateway::provider_limits::{ProviderLimits, TokensLately};
use weir_shared::gateway::usage::reader::{AnswerForm, UsageReader};
use weir_shared::gateway::usage::request::ModelRequest;
use weir_shared::gateway::usage::tokens::Tokens;
use weir_shared::limits::{COST_MAX, JSON_INTEGER_MAX};
use weir_shared::policy::route::{Usage, UsageFormat};
use weir_shared::units::EpochMs;
use weir_shared::wire::route::LimitsFormat;
use weir_shared::wire::token_usage::{UsageBody, UsageFormatBody};

use super::{lanes, requests};
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "whole" => whole,
    "events" => events,
    "request" => request,
    "limits" => limits,
};

const FORMATS: [UsageFormat; 3] = [
    UsageFormat::OpenAi,
    UsageFormat::Anthropic,
    UsageFormat::Gemini,
];

/// What a provider tells of its limits is a rate or nothing.
fn limits(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let fields = requests::fields(text.lines());
    let header = |name: &str| requests::value(&fields, name);
    let mut lately = TokensLately::default();
    lately.record(&Tokens {
        input: 100,
        ..Tokens::default()
    });
    let formats = [LimitsFormat::OpenAi, LimitsFormat::Anthropic];
    let rates = formats.map(|format| {
        let told = ProviderLimits::read(format, 429, &header, EpochMs(1_795_608_000_000));
        told.milli_per_s(&lately)
    });
    let mut any = false;
    for milli in rates.into_iter().flatten() {
        assert!((1..=JSON_INTEGER_MAX).contains(&milli));
        any = true;
    }
    any
}

fn whole(input: &[u8]) -> bool {
    told(AnswerForm::Json, input)
}

fn events(input: &[u8]) -> bool {
    told(AnswerForm::Events, input)
}

/// What is told does not depend on the pieces that it comes in, nothing that passes is changed, and every cost is one.
fn told(form: AnswerForm, input: &[u8]) -> bool {
    let usage = Usage::read(&UsageBody {
        format: Some(UsageFormatBody::OpenAi),
        reserve: Some(1),
        ..UsageBody::default()
    });
    let usage = usage.expect("a usage");
    let mut any = false;
    for format in FORMATS {
        let read = |bytes: usize| {
            let mut reader = UsageReader::new(&format, form, false);
            for piece in input.chunks(bytes) {
                assert!(reader.feed(piece).is_none(), "it passes as it is");
            }
            assert!(reader.end().is_empty(), "nothing is held back");
            let tokens = reader.tokens(1).expect("a form that is read");
            assert!(tokens.cost(&usage, reader.model()) <= COST_MAX);
            (tokens, reader.tells(), reader.model().map(str::to_owned))
        };
        let at_once = read(input.len().max(1));
        assert_eq!(at_once, read(1));
        assert_eq!(at_once, read(7));
        any |= at_once.1;
    }
    any
}

/// A request that is asked for its usage says so, and else what it said.
fn request(input: &[u8]) -> bool {
    let said = ModelRequest::read(input, 0);
    let Some(asking) = said.with_usage(input) else {
        return said.output_max.is_some();
    };
    let Ok(before) = serde_json::from_slice::<Value>(input) else {
        return true;
    };
    let mut after: Value = serde_json::from_slice(&asking).expect("it was JSON before");
    let asks = after["stream_options"]["include_usage"].take();
    assert_eq!(asks, Value::Bool(true));
    for (name, value) in before.as_object().into_iter().flatten() {
        assert!(name == "stream_options" || after[name] == *value, "{name}");
    }
    true
}
