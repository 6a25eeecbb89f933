//! Pages of a list: of a bounded size, in an order that does not depend on how the entries came, with the number of all
//! entries that match. Pure, so that what the server answers is tested without one.

use std::cmp::Ordering;

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{
    FAIRNESS_PAGE_SIZE_MAX, NAME_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGES_MAX,
};
use weir_core::ordered::sort_by;
use weir_core::query::Query;
use weir_wire::operator::page::PageReport;

/// Which page is wanted, and in what order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging<S> {
    /// Its number, from 1.
    pub page: u64,
    /// Entries of a full page.
    pub page_size: u64,
    /// By what it is sorted.
    pub sort: S,
    /// From the largest to the smallest.
    pub descending: bool,
    /// What the name of an entry has to contain, in whatever case.
    pub search: Option<String>,
}

/// How entries of a list can be sorted.
pub trait SortKey: Copy + Sized + 'static {
    /// Every key with its name in a query; the first is the default.
    const NAMES: &'static [(&'static str, Self)];

    /// All names, for a refusal.
    const SERVED: &'static str;
}

/// How large pages of a list may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Without a word of the caller.
    pub default: u64,
    /// At most.
    pub max: u64,
}

impl Sizes {
    /// Without a word of the caller everything: as many tenants as a deployment's ledgers keep by name in all.
    pub const WHOLE: Self = Self {
        default: FAIRNESS_PAGE_SIZE_MAX,
        max: FAIRNESS_PAGE_SIZE_MAX,
    };
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            default: PAGE_SIZE_DEFAULT,
            max: PAGE_SIZE_MAX,
        }
    }
}

impl<S: SortKey> Paging<S> {
    /// Takes `page`, `page_size`, `sort` (a leading `-` sorts from the largest) and `search` out of a query.
    ///
    /// # Errors
    /// A number out of its range, an unknown key, a search longer than a name.
    ///
    /// ```
    /// use weir_operations::paging::{Paging, Sizes, SortKey};
    /// use weir_core::query::Query;
    /// #[derive(Debug, Clone, Copy, PartialEq)]
    /// enum By { Name, Weight }
    /// impl SortKey for By {
    ///     const NAMES: &'static [(&'static str, Self)] = &[("name", By::Name), ("weight", By::Weight)];
    ///     const SERVED: &'static str = "name, weight";
    /// }
    /// let mut query = Query::new([("page", "2"), ("sort", "-weight")]).unwrap();
    /// let paging = Paging::<By>::read(&mut query, Sizes::default()).unwrap();
    /// assert_eq!((paging.page, paging.sort, paging.descending), (2, By::Weight, true));
    /// ```
    pub fn read(query: &mut Query, sizes: Sizes) -> Result<Self, Invalid> {
        let page = query.number("page")?.unwrap_or(1);
        let page = within("/page", page, 1..=PAGES_MAX)?;
        let page_size = query.number("page_size")?.unwrap_or(sizes.default);
        let page_size = within("/page_size", page_size, 1..=sizes.max)?;
        let (sort, descending) = match query.take("sort") {
            Some(text) => sort_key(&text)?,
            None => (S::NAMES[0].1, false),
        };
        let search = query.text("search", NAME_BYTES_MAX)?;
        Ok(Self {
            page,
            page_size,
            sort,
            descending,
            search: search.map(|search| search.to_lowercase()),
        })
    }

    /// Whether an entry by that name is searched for.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let search = self.search.as_deref();
        search.is_none_or(|search| name.to_lowercase().contains(search))
    }

    /// The page of `entries`, all of which match. `name` is unique and settles ties, so that no entry is on two pages
    /// of a list that did not change.
    ///
    /// Of 10,000 entries, page 3 of 50 a page holds the 101st to the 150th; page 201 is empty.
    pub fn cut<T>(
        &self,
        mut entries: Vec<T>,
        name: impl Fn(&T) -> &str,
        compare: impl Fn(S, &T, &T) -> Ordering,
    ) -> (Vec<T>, PageReport) {
        sort_by(&mut entries, |one, other| {
            let order = compare(self.sort, one, other);
            let order = if self.descending {
                order.reverse()
            } else {
                order
            };
            order.then_with(|| name(one).cmp(name(other)))
        });
        let total = entries.len() as u64;
        let before = (self.page - 1).saturating_mul(self.page_size);
        let skipped = usize::try_from(before).unwrap_or(usize::MAX);
        let size = usize::try_from(self.page_size).unwrap_or(usize::MAX);
        let page = entries.into_iter().skip(skipped).take(size).collect();
        let report = PageReport {
            page: self.page,
            page_size: self.page_size,
            pages: total.div_ceil(self.page_size).max(1),
            total,
        };
        (page, report)
    }
}

fn sort_key<S: SortKey>(text: &str) -> Result<(S, bool), Invalid> {
    let (name, descending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text, false),
    };
    let known = S::NAMES.iter().find(|(known, _)| *known == name);
    let (_, sort) = known.ok_or_else(|| {
        let got = name.chars().take(NAME_BYTES_MAX).collect();
        let served = S::SERVED;
        Invalid::new("/sort", Fault::Unserved { got, served })
    })?;
    Ok((*sort, descending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum By {
        Name,
        Weight,
    }

    impl SortKey for By {
        const NAMES: &'static [(&'static str, Self)] =
            &[("name", By::Name), ("weight", By::Weight)];
        const SERVED: &'static str = "name, weight";
    }

    fn paging(pairs: &[(&str, &str)]) -> Result<Paging<By>, Invalid> {
        let mut query = Query::new(pairs.iter().copied())?;
        let paging = Paging::read(&mut query, Sizes::default())?;
        query.finish("page, page_size, sort, search")?;
        Ok(paging)
    }

    /// Ten thousand entries in some mixed order, with seven different weights.
    fn entries() -> Vec<(String, u64)> {
        let number = |index: u64| (index * 7_919) % 10_000;
        (0..10_000)
            .map(|index| (format!("t{:05}", number(index)), number(index) % 7))
            .collect()
    }

    fn cut(paging: &Paging<By>) -> (Vec<(String, u64)>, PageReport) {
        let all = entries().into_iter();
        let matching = all.filter(|(name, _)| paging.matches(name)).collect();
        paging.cut(
            matching,
            |(name, _)| name.as_str(),
            |by, one, other| match by {
                By::Name => one.0.cmp(&other.0),
                By::Weight => one.1.cmp(&other.1),
            },
        )
    }

    #[test]
    fn pages_together_are_the_list_each_entry_once_whatever_it_is_sorted_by() {
        for sort in ["name", "-name", "weight", "-weight"] {
            let mut seen = weir_core::ordered::OrderedSet::new();
            let mut last: Option<u64> = None;
            for page in 1..=14 {
                let page = page.to_string();
                let paging = paging(&[("page", &page), ("page_size", "750"), ("sort", sort)]);
                let (entries, report) = cut(&paging.unwrap());
                assert_eq!((report.pages, report.total), (14, 10_000));
                for (name, weight) in entries {
                    if sort == "-weight" {
                        assert!(last.is_none_or(|last| weight <= last), "{sort}: {name}");
                        last = Some(weight);
                    }
                    assert!(seen.insert(name.clone()), "{sort}: {name} is on two pages");
                }
            }
            assert_eq!(seen.len(), 10_000, "{sort}");
        }
    }

    #[test]
    fn a_page_beyond_the_last_is_empty_and_says_how_many_there_are() {
        let (entries, report) = cut(&paging(&[("page", "201"), ("page_size", "50")]).unwrap());
        assert!(entries.is_empty());
        assert_eq!(
            (report.page, report.pages, report.total),
            (201, 200, 10_000)
        );
    }

    #[test]
    fn an_empty_list_has_one_page() {
        let (entries, report) = cut(&paging(&[("search", "nobody")]).unwrap());
        assert!(entries.is_empty());
        assert_eq!((report.pages, report.total), (1, 0));
    }

    #[test]
    fn a_search_finds_names_in_whatever_case_and_counts_what_it_found() {
        let (entries, report) = cut(&paging(&[("search", "T0012")]).unwrap());
        assert_eq!(report.total, 10);
        assert!(entries.iter().all(|(name, _)| name.starts_with("t0012")));
    }

    #[test]
    fn what_is_out_of_range_or_unknown_is_refused_where_it_stands() {
        for (name, value) in [
            ("page", "0"),
            ("page", "-1"),
            ("page", "x"),
            ("page", ""),
            ("page_size", "0"),
            ("page_size", "1001"),
            ("page_size", "99999999999999999999"),
            ("sort", "colour"),
            ("sort", ""),
            ("sort", "--name"),
            ("search", "a\u{7}"),
            ("pages", "1"),
        ] {
            let refused = paging(&[(name, value)]).unwrap_err();
            assert_eq!(refused.field, format!("/{name}"), "{name}={value}");
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        assert_eq!(paging(&[("search", &long)]).unwrap_err().field, "/search");
        let twice = paging(&[("page", "1"), ("page", "2")]).unwrap_err();
        assert_eq!(twice.field, "/page");
    }
}
