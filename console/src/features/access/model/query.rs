//! Which tokens are listed, and in what order. It lives in the query string.

use form_urlencoded::{Serializer, parse};
use weir_shared::limits::NAME_BYTES_MAX;

/// Tokens a page.
pub const PAGE_SIZE: u64 = 50;

/// By what tokens are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// Their names.
    #[default]
    Name,
    /// What they permit.
    Role,
    /// When they were made.
    Made,
    /// When they were last used.
    Used,
}

impl Sort {
    /// Every one, in the order of the columns.
    pub const ALL: [Self; 4] = [Self::Name, Self::Role, Self::Made, Self::Used];

    /// Its name in addresses and in the API.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Role => "role",
            Self::Made => "created_at",
            Self::Used => "last_used",
        }
    }
}

/// Search, sort and page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessQuery {
    /// What the name contains.
    pub search: String,
    /// By what it is sorted.
    pub sort: Sort,
    /// Whether the largest comes first.
    pub descending: bool,
    /// The page, from 1.
    pub page: u64,
}

impl Default for AccessQuery {
    fn default() -> Self {
        Self {
            search: String::new(),
            sort: Sort::default(),
            descending: false,
            page: 1,
        }
    }
}

impl AccessQuery {
    /// Reads a query string; what it does not know is passed over.
    pub fn parse(query_string: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            match &*name {
                "q" => query.search = value.chars().take(NAME_BYTES_MAX).collect(),
                "sort" => query.sort_as(&value),
                "page" => query.page = value.parse().unwrap_or(1).max(1),
                _ => {}
            }
        }
        query
    }

    fn sort_as(&mut self, text: &str) {
        let slug = text.strip_prefix('-');
        let found = |sort: &Sort| sort.slug() == slug.unwrap_or(text);
        if let Some(sort) = Sort::ALL.into_iter().find(found) {
            (self.sort, self.descending) = (sort, slug.is_some());
        }
    }

    /// The query string, without `?`; empty for the default.
    pub fn to_query_string(&self) -> String {
        let default = Self::default();
        let mut pairs = Serializer::new(String::new());
        if !self.search.is_empty() {
            pairs.append_pair("q", &self.search);
        }
        if (self.sort, self.descending) != (default.sort, default.descending) {
            pairs.append_pair("sort", &self.sort_key());
        }
        if self.page != default.page {
            pairs.append_pair("page", &self.page.to_string());
        }
        pairs.finish()
    }

    /// The query string that asks the server for it, with `?`.
    pub fn ask(&self) -> String {
        let mut pairs = Serializer::new("?".to_owned());
        pairs
            .append_pair("page", &self.page.to_string())
            .append_pair("page_size", &PAGE_SIZE.to_string())
            .append_pair("sort", &self.sort_key());
        if !self.search.is_empty() {
            pairs.append_pair("search", &self.search);
        }
        pairs.finish()
    }

    fn sort_key(&self) -> String {
        let from_the_largest = if self.descending { "-" } else { "" };
        format!("{from_the_largest}{}", self.sort.slug())
    }

    /// Sorts by something; once more turns it round. Times begin with the latest.
    pub fn press(&mut self, sort: Sort) {
        self.descending = if self.sort == sort {
            !self.descending
        } else {
            matches!(sort, Sort::Made | Sort::Used)
        };
        self.sort = sort;
        self.page = 1;
    }

    /// Looks for something else, from the first page.
    pub fn search_for(&mut self, text: &str) {
        text.clone_into(&mut self.search);
        self.page = 1;
    }

    /// What a column says of its order.
    pub fn aria_sort(&self, sort: Sort) -> Option<&'static str> {
        (self.sort == sort).then_some(if self.descending {
            "descending"
        } else {
            "ascending"
        })
    }
}

#[cfg(test)]
mod tests {

    use weir_shared::ordered::OrderedMap;
    use weir_shared::paging::SortKey;
    use weir_shared::report::tokens::By;

    use super::*;

    #[test]
    fn addresses_come_back() {
        for sort in Sort::ALL {
            for descending in [true, false] {
                let query = AccessQuery {
                    search: "a&b".to_owned(),
                    sort,
                    descending,
                    page: 3,
                };
                assert_eq!(AccessQuery::parse(&query.to_query_string()), query);
            }
        }
        assert_eq!(AccessQuery::default().to_query_string(), "");
    }

    #[test]
    fn what_is_not_known_is_the_default() {
        for text in ["", "?sort=height", "page=0", "page=-1", "page=x&colour=red"] {
            assert_eq!(AccessQuery::parse(text), AccessQuery::default(), "{text}");
        }
    }

    #[test]
    fn the_server_is_asked_for_what_it_serves() {
        for sort in Sort::ALL {
            assert!(By::NAMES.iter().any(|(name, _)| *name == sort.slug()));
        }
        let query = AccessQuery::parse("q=ops&sort=-last_used&page=2");
        let ask = query.ask();
        let pairs: OrderedMap<_, _> = parse(ask.trim_start_matches('?').as_bytes()).collect();
        assert_eq!(pairs["search"], "ops");
        assert_eq!(pairs["sort"], "-last_used");
        assert_eq!(pairs["page"], "2");
        assert_eq!(pairs["page_size"], PAGE_SIZE.to_string());
    }

    #[test]
    fn another_order_or_search_begins_at_the_first_page() {
        let mut query = AccessQuery::parse("page=4");
        query.press(Sort::Used);
        assert_eq!(
            (query.page, query.aria_sort(Sort::Used)),
            (1, Some("descending"))
        );
        assert_eq!(query.aria_sort(Sort::Name), None);
        query.press(Sort::Used);
        assert_eq!(query.aria_sort(Sort::Used), Some("ascending"));
        query.page = 2;
        query.search_for("ops");
        assert_eq!((query.page, query.search.as_str()), (1, "ops"));
        query.press(Sort::Role);
        assert_eq!(query.aria_sort(Sort::Role), Some("ascending"));
    }
}
