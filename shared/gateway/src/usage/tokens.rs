//! Tokens by kind, and what they cost.

use weir_core::limits::{COST_MAX, TEXT_BYTES_PER_TOKEN};
use weir_policy::route::Usage;

/// What a request has used, in tokens by kind, none in two; or in units where the answer says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Of the prompt.
    pub input: u64,
    /// Of the prompt, cached by the provider.
    pub cached_input: u64,
    /// Of the answer.
    pub output: u64,
    /// Of the answer, but read by nobody.
    pub reasoning: u64,
    /// Units.
    pub total: u64,
}

/// Micro-units of one.
const ONE: u128 = 1_000_000;

impl Tokens {
    /// These and others.
    ///
    /// ```
    /// use weir_gateway::usage::tokens::Tokens;
    /// let one = Tokens { input: 3, output: 2, ..Tokens::default() };
    /// let other = Tokens { input: 4, reasoning: 1, ..Tokens::default() };
    /// assert_eq!(one.plus(&other), Tokens { input: 7, output: 2, reasoning: 1, ..Tokens::default() });
    /// ```
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            total: self.total.saturating_add(other.total),
        }
    }

    /// What they cost, in units, rounded up once: the sum of each kind by its weight, by the model's multiplier.
    ///
    /// ```
    /// use weir_gateway::usage::tokens::Tokens;
    /// use weir_policy::route::Usage;
    /// use weir_wire::decimal::Decimal;
    /// use weir_wire::token_usage::UsageBody;
    /// let body: UsageBody = serde_json::from_str(
    ///     r#"{"format":"openai","reserve":500,"weights":{"cached_input":0.1,"output":4},"models":{"gpt-4o*":10}}"#,
    /// ).unwrap();
    /// let usage = Usage::read(&body).unwrap();
    /// let tokens = Tokens { input: 90, cached_input: 15, output: 20, ..Tokens::default() };
    /// // 90 * 1 + 15 * 0.1 + 20 * 4 = 171.5; ten times as much for that model.
    /// assert_eq!(tokens.cost(&usage, Some("gpt-3.5")), 172);
    /// assert_eq!(tokens.cost(&usage, Some("gpt-4o-mini")), 1_715);
    /// ```
    #[must_use]
    pub fn cost(&self, usage: &Usage, model: Option<&str>) -> u64 {
        let weights = &usage.weights;
        let kinds = [
            (self.input, weights.input),
            (self.cached_input, weights.cached_input),
            (self.output, weights.output),
            (self.reasoning, weights.reasoning),
            (self.total, 1_000_000),
        ];
        // A kind is at most 2^53 tokens by 10^12 micro-units, or 2^93; the sum of five at most 2^96.
        let sum: u128 = kinds
            .into_iter()
            .map(|(tokens, micros)| u128::from(tokens.min(COST_MAX)) * u128::from(micros))
            .sum();
        let multiplier = u128::from(usage.multiplier(model).micros());
        let units = match sum.checked_mul(multiplier) {
            Some(parts) => parts.div_ceil(ONE * ONE),
            None => u128::MAX,
        };
        u64::try_from(units).unwrap_or(u64::MAX).min(COST_MAX)
    }
}

/// Tokens that so many bytes of text are taken for: a token of English is some four characters (OpenAI, "What are tokens
/// and how to count them").
///
/// ```
/// use weir_gateway::usage::tokens::estimate;
/// assert_eq!((estimate(0), estimate(1), estimate(400)), (0, 1, 100));
/// ```
#[must_use]
pub fn estimate(text_bytes: u64) -> u64 {
    text_bytes.div_ceil(TEXT_BYTES_PER_TOKEN)
}
