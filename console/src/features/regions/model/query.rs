//! What is asked of the page of the regions. It lives in the query string.

use form_urlencoded::{Serializer, parse};

/// Which budget is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegionsQuery {
    /// One budget; all when absent.
    pub budget: Option<String>,
}

impl RegionsQuery {
    /// Reads a query string; what it does not know is passed over.
    ///
    /// ```
    /// use weir_console::features::regions::model::query::RegionsQuery;
    /// assert_eq!(RegionsQuery::parse("?budget=tokens").budget.as_deref(), Some("tokens"));
    /// assert_eq!(RegionsQuery::parse("?budget="), RegionsQuery::default());
    /// ```
    pub fn parse(query_string: &str) -> Self {
        let budget = parse(query_string.trim_start_matches('?').as_bytes())
            .find(|(name, value)| name == "budget" && !value.is_empty())
            .map(|(_, value)| value.into_owned());
        Self { budget }
    }

    /// The query string with its `?`; empty for all budgets.
    pub fn to_query_string(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        let Some(budget) = &self.budget else {
            return String::new();
        };
        pairs.append_pair("budget", budget);
        format!("?{}", pairs.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_another_operator_the_same() {
        for name in [None, Some("tokens"), Some("a&b=c d+é")] {
            let query = RegionsQuery {
                budget: name.map(str::to_owned),
            };
            assert_eq!(RegionsQuery::parse(&query.to_query_string()), query);
        }
        assert_eq!(RegionsQuery::default().to_query_string(), "");
    }
}
