//! What the overview looks at, as its address says it: a range of time, and one thing alone or everything.

use form_urlencoded::{Serializer, parse};

use crate::time_range::TimeRange;
use crate::what::What;

/// The query of the overview.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SituationQuery {
    /// The range of time.
    pub range: TimeRange,
    /// The one thing whose units are drawn; calls of everything without it.
    pub what: Option<What>,
}

impl SituationQuery {
    /// Reads a query string. What makes no sense is as if it were not there.
    pub fn parse(query_string: &str) -> Self {
        let what = parse(query_string.trim_start_matches('?').as_bytes())
            .find(|(name, _)| name == "what")
            .and_then(|(_, value)| What::parse(&value));
        Self {
            range: TimeRange::of_query(query_string),
            what,
        }
    }

    /// The query string, without `?`; empty for what is looked at by default.
    ///
    /// ```
    /// use weir_console::situation::query::SituationQuery;
    /// let query = SituationQuery::parse("?range=6h&what=budget:tokens");
    /// assert_eq!(query.to_query_string(), "range=6h&what=budget%3Atokens");
    /// ```
    pub fn to_query_string(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        if !self.range.is_default() {
            pairs.append_pair("range", &self.range.name());
        }
        if let Some(what) = &self.what {
            pairs.append_pair("what", &what.to_string());
        }
        pairs.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_and_what_makes_no_sense_is_passed_over() {
        for text in [
            "",
            "what=guard%3Aqueries",
            "range=7d",
            "range=15m&what=limit%3Aa%26b",
        ] {
            assert_eq!(SituationQuery::parse(text).to_query_string(), text);
        }
        let odd = SituationQuery::parse("?range=2h&what=price&x=1");
        assert_eq!(odd, SituationQuery::default());
    }
}
