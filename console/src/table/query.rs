//! What the operator asked of the table. It lives in the query string, so that an address shows another operator the same.

use std::collections::BTreeSet;

use form_urlencoded::{Serializer, parse};

use super::column::Column;
use crate::overview::TenantRow;
use crate::tenant_name::TenantName;

/// Characters of a search that are looked at: a tenant's name is no longer.
pub const SEARCH_CHARS_MAX: usize = 128;

/// Rows that an address can open.
pub const OPEN_MAX: usize = 20;

/// Search, sort and the rows that are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableQuery {
    /// What the name or the tier must contain, whatever the case.
    pub search: String,
    /// The column to sort by.
    pub sort: Column,
    /// Whether the largest comes first.
    pub descending: bool,
    /// The tenants whose rows are open.
    pub open: BTreeSet<String>,
}

impl Default for TableQuery {
    fn default() -> Self {
        Self {
            search: String::new(),
            sort: Column::AdmittedUnits,
            descending: true,
            open: BTreeSet::new(),
        }
    }
}

impl TableQuery {
    /// Reads a query string; what it does not know is passed over.
    pub fn parse(query_string: &str) -> Self {
        let mut query = Self::default();
        let mut descending = None;
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            match (&*name, &*value) {
                ("q", text) => query.search = text.chars().take(SEARCH_CHARS_MAX).collect(),
                ("sort", slug) => query.sort = Column::from_slug(slug).unwrap_or(query.sort),
                ("order", "asc") => descending = Some(false),
                ("order", "desc") => descending = Some(true),
                ("open", tenant) if query.open.len() < OPEN_MAX => {
                    query.open.insert(tenant.to_owned());
                }
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
        let default = Self::default();
        if (self.sort, self.descending) != (default.sort, default.descending) {
            pairs.append_pair("sort", self.sort.slug());
            pairs.append_pair("order", if self.descending { "desc" } else { "asc" });
        }
        for tenant in &self.open {
            pairs.append_pair("open", tenant);
        }
        pairs.finish()
    }

    /// Sorts by `column`; once more turns it round.
    pub fn press(&mut self, column: Column) {
        self.descending = if self.sort == column {
            !self.descending
        } else {
            column.descends_first()
        };
        self.sort = column;
    }

    /// Opens a row, or closes it.
    pub fn toggle(&mut self, tenant: &str) {
        if !self.open.remove(tenant) && self.open.len() < OPEN_MAX {
            self.open.insert(tenant.to_owned());
        }
    }

    /// Sets the search, as far as it is looked at.
    pub fn search_for(&mut self, text: &str) {
        self.search = text.chars().take(SEARCH_CHARS_MAX).collect();
    }

    /// What a table heading says of its column: the value of `aria-sort`.
    pub fn aria_sort(&self, column: Column) -> &'static str {
        match (self.sort == column, self.descending) {
            (false, _) => "none",
            (true, true) => "descending",
            (true, false) => "ascending",
        }
    }

    /// Whether a row is asked for.
    pub fn matches(&self, row: &TenantRow) -> bool {
        let wanted = self.search.trim().to_lowercase();
        let contains = |text: &str| text.to_lowercase().contains(&wanted);
        contains(TenantName::of(&row.tenant).label()) || row.tier.as_deref().is_some_and(contains)
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::accounting::{ANONYMOUS, OTHERS};

    use super::*;

    fn query(search: &str, sort: Column, descending: bool, open: &[&str]) -> TableQuery {
        TableQuery {
            search: search.to_owned(),
            sort,
            descending,
            open: open.iter().map(|tenant| (*tenant).to_owned()).collect(),
        }
    }

    #[test]
    fn addresses_come_back() {
        for (query, text) in [
            (TableQuery::default(), ""),
            (query("acme", Column::AdmittedUnits, true, &[]), "q=acme"),
            (
                query("a&b=c d", Column::Tenant, false, &[]),
                "q=a%26b%3Dc+d&sort=tenant&order=asc",
            ),
            (
                query("", Column::DeniedRate, true, &[]),
                "sort=denied_per_s&order=desc",
            ),
            (
                query("", Column::AdmittedUnits, false, &[]),
                "sort=admitted_units&order=asc",
            ),
            (
                query("", Column::AdmittedUnits, true, &["é", OTHERS]),
                "open=%01others&open=%C3%A9",
            ),
        ] {
            assert_eq!(query.to_query_string(), text);
            assert_eq!(TableQuery::parse(text), query, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        for (text, expected) in [
            (
                "?sort=denied_calls",
                query("", Column::DeniedCalls, true, &[]),
            ),
            ("sort=tier", query("", Column::Tier, false, &[])),
            (
                "order=asc&sort=weight",
                query("", Column::Weight, false, &[]),
            ),
            ("sort=price&order=up&colour=red", TableQuery::default()),
            ("%%%=&&&", TableQuery::default()),
        ] {
            assert_eq!(TableQuery::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let text = format!("q={}", "é".repeat(500));
        assert_eq!(
            TableQuery::parse(&text).search.chars().count(),
            SEARCH_CHARS_MAX
        );
        let text: String = (0..100).map(|n| format!("open=t{n}&")).collect();
        let mut query = TableQuery::parse(&text);
        assert_eq!(query.open.len(), OPEN_MAX);
        query.toggle("one more");
        assert_eq!(query.open.len(), OPEN_MAX);
    }

    #[test]
    fn a_second_press_turns_the_order_round() {
        let mut query = TableQuery::default();
        for (press, sort, descending) in [
            (Column::AdmittedUnits, "ascending", false),
            (Column::DeniedCalls, "descending", true),
            (Column::DeniedCalls, "ascending", false),
            (Column::Tenant, "ascending", false),
            (Column::Tenant, "descending", true),
        ] {
            query.press(press);
            assert_eq!(
                (query.aria_sort(press), query.descending),
                (sort, descending)
            );
            assert_eq!(query.aria_sort(Column::Weight), "none");
        }
    }

    #[test]
    fn a_row_opens_and_closes() {
        let mut query = TableQuery::default();
        query.toggle("acme");
        assert!(query.open.contains("acme"));
        query.toggle("acme");
        assert!(query.open.is_empty());
    }

    #[test]
    fn search_looks_at_name_and_tier() {
        for (search, tenant, tier, found) in [
            ("", "acme", None, true),
            ("CM", "acme", None, true),
            ("  cm ", "acme", None, true),
            ("pro", "acme", Some("pro"), true),
            ("pro", "acme", Some("free"), false),
            ("others", OTHERS, None, true),
            ("no tenant", ANONYMOUS, None, true),
            ("\u{1}", OTHERS, None, false),
        ] {
            let mut query = TableQuery::default();
            query.search_for(search);
            let row = TenantRow {
                tenant: tenant.to_owned(),
                tier: tier.map(str::to_owned),
                ..TenantRow::default()
            };
            assert_eq!(query.matches(&row), found, "{search:?} in {tenant:?}");
        }
    }
}
