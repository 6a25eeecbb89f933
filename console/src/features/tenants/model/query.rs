//! What is asked of the list of tenants. It lives in the query string, so that an address shows another operator the
//! same.

use form_urlencoded::{Serializer, parse};

use super::column::Column;

use crate::api::ask::TenantsAsk;
use crate::visible::visible;

/// Characters of a search that are looked at: a tenant's name is no longer.
pub const SEARCH_CHARS_MAX: usize = 128;

/// Search, filters and sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantsQuery {
    /// What the name must contain, whatever the case.
    pub search: String,
    /// The tier that it must have.
    pub tier: Option<String>,
    /// Whether the policy must name it, or must not.
    pub named: Option<bool>,
    /// The budget that the figures are of; the first of the policy when absent.
    pub budget: Option<String>,
    /// The column to sort by.
    pub sort: Column,
    /// Whether the largest comes first.
    pub descending: bool,
}

impl Default for TenantsQuery {
    fn default() -> Self {
        Self {
            search: String::new(),
            tier: None,
            named: None,
            budget: None,
            sort: Column::Used,
            descending: true,
        }
    }
}

impl TenantsQuery {
    /// Reads a query string; what it does not know is passed over.
    pub fn parse(query_string: &str) -> Self {
        let mut query = Self::default();
        let mut descending = None;
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            let value: &str = &value;
            match (&*name, value) {
                ("q", text) => query.search_for(text),
                ("tier", text) => query.tier = said(text),
                ("named", "yes") => query.named = Some(true),
                ("named", "no") => query.named = Some(false),
                ("budget", text) => query.budget = said(text),
                ("sort", key) => query.sort = Column::of_key(key).unwrap_or(query.sort),
                ("order", "asc") => descending = Some(false),
                ("order", "desc") => descending = Some(true),
                _ => {}
            }
        }
        query.descending = descending.unwrap_or(query.sort.descends_first());
        query
    }

    /// The query string, without `?`; empty for the default.
    pub fn to_query_string(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        if !self.search.is_empty() {
            pairs.append_pair("q", &self.search);
        }
        if let Some(tier) = &self.tier {
            pairs.append_pair("tier", tier);
        }
        if let Some(named) = self.named {
            pairs.append_pair("named", if named { "yes" } else { "no" });
        }
        if let Some(budget) = &self.budget {
            pairs.append_pair("budget", budget);
        }
        let default = Self::default();
        if (self.sort, self.descending) != (default.sort, default.descending)
            && let Some(key) = self.sort.key()
        {
            pairs.append_pair("sort", key);
            if self.descending != self.sort.descends_first() {
                pairs.append_pair("order", if self.descending { "desc" } else { "asc" });
            }
        }
        pairs.finish()
    }

    /// What the server is asked for, its pages apart.
    pub fn ask(&self) -> TenantsAsk {
        let search = self.search.trim();
        TenantsAsk {
            sort: Some(self.server_sort()),
            search: (!search.is_empty()).then(|| search.to_owned()),
            named: self.named,
            tier: self.tier.clone(),
            budget: self.budget.clone(),
            ..TenantsAsk::default()
        }
    }

    /// What the server is asked to sort by.
    pub fn server_sort(&self) -> String {
        let key = self.sort.key().unwrap_or("tenant");
        format!("{}{key}", if self.descending { "-" } else { "" })
    }

    /// Sorts by `column`; once more turns it round. A column that the server does not sort by stays as it is.
    pub fn press(&mut self, column: Column) {
        if column.key().is_none() {
            return;
        }
        self.descending = if self.sort == column {
            !self.descending
        } else {
            column.descends_first()
        };
        self.sort = column;
    }

    /// Sets the search, as far as it is looked at. The server takes no control characters.
    pub fn search_for(&mut self, text: &str) {
        let kept = text.chars().filter(|c| !c.is_control());
        self.search = kept.take(SEARCH_CHARS_MAX).collect();
        while self.search.len() > SEARCH_CHARS_MAX {
            self.search.pop();
        }
    }

    /// What a heading says of its column: the value of `aria-sort`.
    pub fn aria_sort(&self, column: Column) -> &'static str {
        match (self.sort == column, self.descending) {
            (false, _) => "none",
            (true, true) => "descending",
            (true, false) => "ascending",
        }
    }

    /// Whether anything is left out of the list.
    pub fn filters(&self) -> bool {
        !self.search.trim().is_empty() || self.tier.is_some() || self.named.is_some()
    }

    /// Without what leaves anything out.
    pub fn clear_filters(&mut self) {
        self.search.clear();
        self.tier = None;
        self.named = None;
    }

    /// What is asked for, in words, for an empty list.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        if !self.search.trim().is_empty() {
            words.push(format!("name contains “{}”", visible(self.search.trim())));
        }
        if let Some(tier) = &self.tier {
            words.push(format!("tier is {tier}"));
        }
        match self.named {
            Some(true) => words.push("the policy names it".to_owned()),
            Some(false) => words.push("the policy does not name it".to_owned()),
            None => {}
        }
        words.join(" and ")
    }
}

/// What a change of the query says aloud, once it was answered.
pub fn change_said(before: &TenantsQuery, after: &TenantsQuery, total: usize) -> Option<String> {
    let list = |query: &TenantsQuery| (query.sort, query.descending);
    let mut said = Vec::new();
    if list(before) != list(after) {
        let direction = after.aria_sort(after.sort);
        said.push(format!(
            "Sorted by {}, {direction}.",
            after.sort.heading().to_lowercase()
        ));
    }
    let narrowed = |query: &TenantsQuery| {
        (
            query.search.trim().to_owned(),
            query.tier.clone(),
            query.named,
        )
    };
    if narrowed(before) != narrowed(after) {
        said.push(format!(
            "{} found.",
            crate::format::counted(total, "tenant")
        ));
    }
    (!said.is_empty()).then(|| said.join(" "))
}

fn said(text: &str) -> Option<String> {
    let cut: String = text.chars().take(SEARCH_CHARS_MAX).collect();
    (!cut.is_empty()).then_some(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(search: &str, sort: Column, descending: bool) -> TenantsQuery {
        TenantsQuery {
            search: search.to_owned(),
            sort,
            descending,
            ..TenantsQuery::default()
        }
    }

    #[test]
    fn addresses_come_back() {
        let filtered = TenantsQuery {
            tier: Some("pro plus".to_owned()),
            named: Some(false),
            budget: Some("tokens".to_owned()),
            ..TenantsQuery::default()
        };
        for (query, text) in [
            (TenantsQuery::default(), ""),
            (query("acme", Column::Used, true), "q=acme"),
            (
                query("a&b=c d", Column::Tenant, false),
                "q=a%26b%3Dc+d&sort=tenant",
            ),
            (
                query("", Column::Used, false),
                "sort=admitted_units&order=asc",
            ),
            (query("", Column::Denied, true), "sort=denied_calls"),
            (query("", Column::Tier, true), "sort=tier&order=desc"),
            (filtered, "tier=pro+plus&named=no&budget=tokens"),
        ] {
            assert_eq!(query.to_query_string(), text);
            assert_eq!(TenantsQuery::parse(text), query, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        for text in [
            "sort=price&order=up&colour=red",
            "%%%=&&&",
            "?named=maybe&tier=&budget=",
        ] {
            let parsed = TenantsQuery::parse(text);
            assert_eq!(parsed, TenantsQuery::default(), "{text}");
        }
        assert_eq!(TenantsQuery::parse("sort=weight").server_sort(), "-weight");
    }

    #[test]
    fn what_the_server_would_refuse_is_not_asked_for() {
        let mut query = TenantsQuery::default();
        query.search_for(&"é".repeat(500));
        assert!(query.search.len() <= SEARCH_CHARS_MAX);
        query.search_for("a\u{7}b\n");
        assert_eq!(query.search, "ab");
    }

    #[test]
    fn a_second_press_turns_the_order_round() {
        let mut query = TenantsQuery::default();
        for (press, sort, server) in [
            (Column::Used, "ascending", "admitted_units"),
            (Column::Denied, "descending", "-denied_calls"),
            (Column::Denied, "ascending", "denied_calls"),
            (Column::Tenant, "ascending", "tenant"),
            (Column::Tenant, "descending", "-tenant"),
        ] {
            query.press(press);
            assert_eq!(
                (query.aria_sort(press), &*query.server_sort()),
                (sort, server)
            );
        }
        let before = query.clone();
        query.press(Column::Trend);
        assert_eq!(query, before);
    }

    #[test]
    fn filters_are_said_in_words_and_cleared_together() {
        let mut query = TenantsQuery::parse("q=x&tier=pro&named=yes&sort=weight");
        assert_eq!(
            query.in_words(),
            "name contains “x” and tier is pro and the policy names it"
        );
        assert!(query.filters());
        query.clear_filters();
        assert!(!query.filters());
        assert_eq!(query.sort, Column::Weight);
    }

    #[test]
    fn search_filter_and_sort_are_said_aloud_and_nothing_else() {
        let before = TenantsQuery::default();
        for (text, said) in [
            ("", None),
            ("q=%20", None),
            ("budget=tokens", None),
            ("q=acme", Some("1 tenant found.")),
            ("named=no", Some("1 tenant found.")),
            ("sort=weight", Some("Sorted by weight, descending.")),
            (
                "sort=tier&tier=pro",
                Some("Sorted by tier, ascending. 1 tenant found."),
            ),
        ] {
            let after = TenantsQuery::parse(text);
            assert_eq!(change_said(&before, &after, 1).as_deref(), said, "{text}");
        }
    }
}
