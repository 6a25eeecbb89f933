//! What a provider of models tells in the head of an answer of its own limits, and how many requests a second that leaves.
//!
//! | format | fields | source |
//! | --- | --- | --- |
//! | `openai` | `x-ratelimit-remaining-requests`, `x-ratelimit-reset-requests` (`6m0s`, `120ms`), the same of `tokens` | OpenAI, "Rate limits in headers" |
//! | `anthropic` | `anthropic-ratelimit-requests-remaining`, `anthropic-ratelimit-requests-reset` (RFC 3339), the same of `tokens`, `input-tokens`, `output-tokens` | Anthropic, "Rate limits", "Response headers" |
//! | both | of a 429 without them: `retry-after-ms`, `retry-after` in seconds | |
//!
//! What is left, spread evenly until the reset, is what may be used a second. Of a window that is its even pace to its end. Of a
//! bucket, whose reset is when it would be full again, it is more than the bucket is filled with while more than half is left
//! and less below: what follows it comes to rest with half a bucket in hand.

use weir_algorithms::calendar::days_from_civil;
use weir_core::limits::{COST_MAX, JSON_INTEGER_MAX, PROVIDER_RESET_MS_MAX};
use weir_core::units::EpochMs;
use weir_wire::route::LimitsFormat;

use super::usage::tokens::Tokens;

/// What is left of a limit, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Requests or tokens.
    pub left: u64,
    /// Milliseconds until there are all again: at least 1, at most a day.
    pub reset_ms: u64,
}

/// What an answer's head tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Of requests.
    pub requests: Option<Left>,
    /// Of tokens.
    pub tokens: Option<Left>,
    /// Of those of prompts.
    pub input: Option<Left>,
    /// Of those of answers.
    pub output: Option<Left>,
}

/// Tokens that a request takes, by those of late: each counts for an eighth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokensLately {
    input: f64,
    output: f64,
}

impl ProviderLimits {
    /// Reads the head of an answer of that status.
    ///
    /// ```
    /// use weir_gateway::provider_limits::{Left, ProviderLimits};
    /// use weir_core::units::EpochMs;
    /// use weir_wire::route::LimitsFormat;
    /// let header = |name: &str| match name {
    ///     "x-ratelimit-remaining-requests" => Some("59".to_owned()),
    ///     "x-ratelimit-reset-requests" => Some("1m0.5s".to_owned()),
    ///     _ => None,
    /// };
    /// let told = ProviderLimits::read(LimitsFormat::OpenAi, 200, &header, EpochMs(0));
    /// assert_eq!(told.requests, Some(Left { left: 59, reset_ms: 60_500 }));
    /// ```
    #[must_use]
    pub fn read(
        format: LimitsFormat,
        status: u16,
        header: &dyn Fn(&str) -> Option<String>,
        now: EpochMs,
    ) -> Self {
        let of = |what: &str| {
            let (left, reset) = match format {
                LimitsFormat::OpenAi => (
                    format!("x-ratelimit-remaining-{what}"),
                    format!("x-ratelimit-reset-{what}"),
                ),
                LimitsFormat::Anthropic => (
                    format!("anthropic-ratelimit-{what}-remaining"),
                    format!("anthropic-ratelimit-{what}-reset"),
                ),
            };
            let (left, reset) = (header(&left)?, header(&reset)?);
            let reset_ms = match format {
                LimitsFormat::OpenAi => duration_ms(reset.trim())?,
                LimitsFormat::Anthropic => instant(reset.trim())?.since(now),
            };
            let left = left.trim().parse().ok()?;
            let known = (1..=PROVIDER_RESET_MS_MAX).contains(&reset_ms);
            known.then_some(Left { left, reset_ms })
        };
        let told = Self {
            requests: of("requests"),
            tokens: of("tokens"),
            input: of("input-tokens"),
            output: of("output-tokens"),
        };
        match status == 429 && told == Self::default() {
            true => Self {
                requests: retry_after(header),
                ..told
            },
            false => told,
        }
    }

    /// Requests a second that all of it leaves, in thousandths, by what a request takes: at least 1, and one until the
    /// reset where nothing is left. `None` where nothing is told, or how many tokens a request takes is not known.
    ///
    /// ```
    /// use weir_gateway::provider_limits::{Left, ProviderLimits, TokensLately};
    /// use weir_gateway::usage::tokens::Tokens;
    /// let told = ProviderLimits {
    ///     requests: Some(Left { left: 90, reset_ms: 30_000 }),
    ///     tokens: Some(Left { left: 6_000, reset_ms: 12_000 }),
    ///     ..ProviderLimits::default()
    /// };
    /// let mut lately = TokensLately::default();
    /// assert_eq!(told.milli_per_s(&lately), Some(3_000), "90 in 30 s");
    /// lately.record(&Tokens { input: 200, output: 50, ..Tokens::default() });
    /// assert_eq!(told.milli_per_s(&lately), Some(2_000), "500 tokens a second, of 250 a request");
    /// ```
    #[must_use]
    pub fn milli_per_s(&self, lately: &TokensLately) -> Option<u64> {
        let all = [
            (self.requests, 1.0),
            (self.tokens, lately.input + lately.output),
            (self.input, lately.input),
            (self.output, lately.output),
        ];
        let paces = all.into_iter().filter_map(|(told, each)| {
            let Left { left, reset_ms } = told.filter(|_| each >= 1.0)?;
            let requests = (left as f64 / each).max(1.0);
            let milli = requests * 1_000.0 * 1_000.0 / reset_ms as f64;
            Some((milli as u64).clamp(1, JSON_INTEGER_MAX))
        });
        paces.min()
    }
}

impl TokensLately {
    /// An answer has told what its request took.
    pub fn record(&mut self, tokens: &Tokens) {
        let sum = |one: u64, other: u64| one.saturating_add(other).min(COST_MAX) as f64;
        let input = sum(tokens.input, tokens.cached_input);
        let output = sum(tokens.output, tokens.reasoning);
        let part = if self.input + self.output == 0.0 {
            1.0
        } else {
            0.125
        };
        self.input += part * (input - self.input);
        self.output += part * (output - self.output);
    }
}

/// Of a refusal that says no more than when to come back: nothing is left until then.
fn retry_after(header: &dyn Fn(&str) -> Option<String>) -> Option<Left> {
    let number = |name: &str| thousandths(header(name)?.trim());
    let ms = number("retry-after-ms").map(|micros| micros / 1_000);
    let reset_ms = ms.or_else(|| number("retry-after"))?;
    let known = (1..=PROVIDER_RESET_MS_MAX).contains(&reset_ms);
    known.then_some(Left { left: 0, reset_ms })
}

/// A length of time such as `1h2m3s`, `8.64s` or `120ms`; a number alone is one of seconds.
fn duration_ms(text: &str) -> Option<u64> {
    let (mut rest, mut micros) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, after) = rest.split_at(digits.unwrap_or(rest.len()));
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let each_ms = match unit {
            "ms" => 1,
            "" | "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        micros = micros.saturating_add(thousandths(number)?.saturating_mul(each_ms));
        rest = after;
    }
    (!text.is_empty()).then_some(micros / 1_000)
}

/// A number of at least 0 in decimal digits, in thousandths; what is finer is left out.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    whole.checked_mul(1_000)?.checked_add(part.parse().ok()?)
}

/// An instant as RFC 3339 has it, to the second.
fn instant(text: &str) -> Option<EpochMs> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
    let separated = |at: usize, by: &str| text.get(at..=at).filter(|one| by.contains(*one));
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    for (at, by) in [(4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")] {
        separated(at, by)?;
    }
    let zone = text
        .get(19..)?
        .trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let east_s = match zone {
        "Z" | "z" => 0,
        _ => {
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
            let seconds = |text: &str, each: i64| Some(i64::from(text.parse::<u8>().ok()?) * each);
            sign * (seconds(hours, 3_600)? + seconds(minutes, 60)?)
        }
    };
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = is_date.then(|| days_from_civil(i64::from(year), month, day))?;
    let of_day = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let seconds = days * 86_400 + of_day - east_s;
    Some(EpochMs(u64::try_from(seconds).ok()?.saturating_mul(1_000)))
}
