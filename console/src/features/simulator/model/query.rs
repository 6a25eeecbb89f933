//! What is simulated, as the address says it.

use form_urlencoded::{Serializer, parse};

use crate::time_range::{Preset, TimeRange};

/// The spans that are offered: a simulation plays at most the longest of them.
pub const PRESETS: [Preset; 3] = [Preset::Minutes15, Preset::Hour, Preset::Hours6];

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// What ledgers recorded.
    Recorded,
    /// A trace out of a file.
    Trace,
}

impl Source {
    /// Both, in the order in which they are offered.
    pub const ALL: [Self; 2] = [Self::Recorded, Self::Trace];

    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Trace => "trace",
        }
    }

    /// What it is called.
    pub fn label(self) -> &'static str {
        match self {
            Self::Recorded => "Recorded demand",
            Self::Trace => "A trace from a file",
        }
    }
}

/// The query of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimulatorQuery {
    /// What is played; nothing at first.
    pub over: Option<Source>,
    /// The span of recorded demand.
    pub range: TimeRange,
    /// The rule whose tenants are listed, such as `budget:tokens`; those of all without one.
    pub rule: Option<String>,
}

impl SimulatorQuery {
    /// Reads a query string. What makes no sense is as if it were not there.
    pub fn parse(query_string: &str) -> Self {
        let mut query = Self {
            range: TimeRange::of_query(query_string),
            ..Self::default()
        };
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            match &*name {
                "over" => query.over = Source::ALL.into_iter().find(|one| one.name() == value),
                "rule" if value.contains(':') => query.rule = Some(value.into_owned()),
                _ => {}
            }
        }
        query
    }

    /// The query string, without its question mark.
    ///
    /// ```
    /// use weir_console::features::simulator::model::query::{SimulatorQuery, Source};
    /// let query = SimulatorQuery { over: Some(Source::Trace), rule: Some("budget:tokens".to_owned()), ..SimulatorQuery::default() };
    /// assert_eq!(query.text(), "over=trace&rule=budget%3Atokens");
    /// assert_eq!(SimulatorQuery::parse(&query.text()), query);
    /// ```
    pub fn text(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        if let Some(over) = self.over {
            pairs.append_pair("over", over.name());
        }
        if !self.range.is_default() {
            pairs.append_pair("range", &self.range.name());
        }
        if let Some(rule) = &self.rule {
            pairs.append_pair("rule", rule);
        }
        pairs.finish()
    }

    /// The name of the budget that is looked at, if the rule is one.
    pub fn budget(&self) -> Option<&str> {
        self.rule.as_deref()?.strip_prefix("budget:")
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::limits::REPLAY_SPAN_MS_MAX;

    use super::*;

    #[test]
    fn an_address_leads_back_to_what_it_was_made_of() {
        let range = TimeRange::between(1_795_336_200_000, 1_795_339_800_000).unwrap();
        let query = SimulatorQuery {
            over: Some(Source::Recorded),
            range,
            rule: Some("limit:per_ip".to_owned()),
        };
        assert_eq!(SimulatorQuery::parse(&query.text()), query);
        assert_eq!(query.budget(), None);
        let budget = SimulatorQuery::parse("?rule=budget%3Atokens");
        assert_eq!(budget.budget(), Some("tokens"));
    }

    #[test]
    fn an_address_that_says_nothing_sensible_plays_nothing() {
        for query in ["", "?", "?over=", "?over=nothing&rule=tokens&range=2h"] {
            let query = SimulatorQuery::parse(query);
            assert_eq!(query, SimulatorQuery::default());
            assert_eq!(query.text(), "");
        }
    }

    #[test]
    fn the_longest_span_that_is_offered_is_the_longest_that_is_played() {
        let longest = PRESETS.into_iter().map(Preset::length_ms).max();
        assert_eq!(longest, Some(REPLAY_SPAN_MS_MAX));
    }
}
