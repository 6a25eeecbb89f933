//! What of a budget is looked at, as the address says it.

use form_urlencoded::{Serializer, parse};

use crate::time_range::TimeRange;

/// Windows of a page of the history.
pub const PAGE_SIZE: u64 = 25;

/// A window by its label, and about when it ends: the same label may come again after a budget was removed and made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Its label.
    pub label: u64,
    /// Its end, epoch milliseconds.
    pub ends_at: u64,
}

/// What a window's end may move by until all that is told of it has arrived.
const END_MOVES_MS: u64 = 1_000;

impl Drawn {
    /// The instants between which it ends.
    pub fn span(self) -> (u64, u64) {
        let from = self.ends_at.saturating_sub(END_MOVES_MS);
        (from, self.ends_at.saturating_add(END_MOVES_MS))
    }

    fn parse(text: &str) -> Option<Self> {
        let (label, ends_at) = text.split_once('@')?;
        Some(Self {
            label: label.parse().ok()?,
            ends_at: ends_at.parse().ok()?,
        })
    }
}

/// The query of the budget's page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BudgetQuery {
    /// The history's range.
    pub range: TimeRange,
    /// The page of the history, from 1; 0 is the first, too.
    pub page: u64,
    /// The window that is drawn; the newest without one.
    pub window: Option<Drawn>,
    /// The region, of a budget with windows a region.
    pub region: Option<String>,
}

impl BudgetQuery {
    /// Reads a query string. What makes no sense is as if it were not there.
    pub fn parse(query_string: &str) -> Self {
        let text = query_string.trim_start_matches('?');
        let mut query = Self {
            range: TimeRange::of_query(query_string),
            ..Self::default()
        };
        for (name, value) in parse(text.as_bytes()) {
            match &*name {
                "window" => query.window = Drawn::parse(&value),
                "region" if !value.is_empty() => query.region = Some(value.into_owned()),
                "page" => query.page = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        query
    }

    /// With its question mark; empty for what is looked at by default.
    pub fn query_string(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        if !self.range.is_default() {
            pairs.append_pair("range", &self.range.name());
        }
        if let Some(region) = &self.region {
            pairs.append_pair("region", region);
        }
        if let Some(window) = self.window {
            let Drawn { label, ends_at } = window;
            pairs.append_pair("window", &format!("{label}@{ends_at}"));
        }
        if self.page > 1 {
            pairs.append_pair("page", &self.page.to_string());
        }
        match pairs.finish() {
            text if text.is_empty() => text,
            text => format!("?{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_looked_at_and_is_read_back() {
        for text in [
            "",
            "?window=7%4060000",
            "?region=weur&window=7%4060000",
            "?range=7d&page=3",
            "?range=7d&region=weur&window=7%4060000&page=2",
        ] {
            assert_eq!(BudgetQuery::parse(text).query_string(), text);
        }
    }

    #[test]
    fn a_window_is_looked_for_around_its_end() {
        let drawn = Drawn {
            label: 7,
            ends_at: 60_000,
        };
        assert_eq!(drawn.span(), (59_000, 61_000));
        let first = Drawn {
            ends_at: 0,
            ..drawn
        };
        assert_eq!(first.span().0, 0);
    }

    #[test]
    fn what_makes_no_sense_is_as_if_it_were_not_there() {
        for text in [
            "?window=x",
            "?page=-1",
            "?page=1",
            "?region=",
            "?colour=red",
            "?range=soon",
        ] {
            assert_eq!(BudgetQuery::parse(text).query_string(), "", "{text}");
        }
    }
}
