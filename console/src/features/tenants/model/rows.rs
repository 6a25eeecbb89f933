//! The rows that were read of the list, page by page, in the order that is on the screen. Rows that change places under
//! the pointer cannot be read or pressed, so while somebody is busy in the table the order stays and the figures move.

use std::ops::Range;
use std::sync::Arc;

use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::wire::operator::tenants::{TenantRow, TenantsReply};

use super::virtual_rows::pages;

/// Rows of a page.
pub const PAGE_ROWS: usize = 100;

/// Pages that are kept: those that were on the screen last.
const PAGES_KEPT: usize = 6;

/// The rows that were read, and the order that they are shown in.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    total: Option<usize>,
    budget: Option<String>,
    shown: OrderedMap<usize, Vec<String>>,
    newer: OrderedMap<usize, Vec<String>>,
    figures: OrderedMap<String, Arc<TenantRow>>,
}

impl Rows {
    /// Rows in all; `None` before the first answer.
    pub fn total(&self) -> Option<usize> {
        self.total
    }

    /// The budget that the rows tell of.
    pub fn budget(&self) -> Option<&str> {
        self.budget.as_deref()
    }

    /// The row at a place of the list, if it was read.
    pub fn at(&self, index: usize) -> Option<Arc<TenantRow>> {
        let page = self.shown.get(&(index / PAGE_ROWS + 1))?;
        self.figures.get(page.get(index % PAGE_ROWS)?).cloned()
    }

    /// Where a tenant stands, if it is among those that were read.
    pub fn place(&self, tenant: &str) -> Option<usize> {
        self.shown.iter().find_map(|(page, names)| {
            let place = names.iter().position(|name| name == tenant)?;
            Some((page - 1) * PAGE_ROWS + place)
        })
    }

    /// Pages that the rows on the screen need and that were not read.
    pub fn missing(&self, rows: &Range<usize>) -> Vec<usize> {
        let wanted = pages(rows, PAGE_ROWS);
        wanted
            .filter(|page| !self.shown.contains_key(page))
            .collect()
    }

    /// Takes a page of an answer. While the order is `held` known rows keep their places; rows that only follow them are
    /// shown at once, and so is whoever is the first of all.
    pub fn take(&mut self, reply: TenantsReply, held: bool) {
        let page = usize::try_from(reply.page.page).unwrap_or(1);
        self.total = usize::try_from(reply.page.total).ok();
        self.budget = reply.budget;
        let mut names = Vec::with_capacity(reply.tenants.len());
        for row in reply.tenants {
            names.push(row.tenant.clone());
            self.figures.insert(row.tenant.clone(), Arc::new(row));
        }
        match self.shown.get(&page) {
            Some(shown) if held && !names.starts_with(shown) => {
                self.newer.insert(page, names);
            }
            _ => {
                self.newer.remove(&page);
                self.shown.insert(page, names);
            }
        }
        self.forget(page);
    }

    /// Whether a newer order is known than the one that is shown.
    pub fn order_is_old(&self) -> bool {
        !self.newer.is_empty()
    }

    /// Shows the newest order. Pages that are not on the screen are read anew when they come into it.
    pub fn update_order(&mut self) {
        if self.newer.is_empty() {
            return;
        }
        let newer = std::mem::take(&mut self.newer);
        self.shown = newer;
        self.prune();
    }

    /// Drops pages that are far from the one just read, and the figures of whom no page names.
    fn forget(&mut self, near: usize) {
        while self.shown.len() > PAGES_KEPT {
            let far = self
                .shown
                .keys()
                .copied()
                .max_by_key(|page| page.abs_diff(near));
            let Some(far) = far else { break };
            self.shown.remove(&far);
            self.newer.remove(&far);
        }
        self.prune();
    }

    fn prune(&mut self) {
        let pages = self.shown.values().chain(self.newer.values());
        let named: OrderedSet<&String> = pages.flatten().collect();
        self.figures.retain(|name, _| named.contains(name));
    }
}

/// The figures of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Units a window that the budget guarantees; `None` for a tenant that was not seen to ask for it.
    pub guarantee: Option<u64>,
    /// Units admitted.
    pub used: u128,
    /// Units of those beyond the guarantee.
    pub borrowed: u128,
    /// Calls denied.
    pub denied: u128,
}

impl Figures {
    /// Those of the budget that was chosen, or of everything that is charged where none was. What is guaranteed is always
    /// of the budget that the rows tell of.
    pub fn of(row: &TenantRow, chosen: bool, budget: Option<&str>) -> Self {
        let told = budget.and_then(|budget| row.budgets.get(budget));
        let guarantee = told.map(|told| told.guarantee);
        if !chosen {
            return Self {
                guarantee,
                used: row.total.admitted_units.0,
                borrowed: row.total.borrowed_units.0,
                denied: row.total.denied_calls.0,
            };
        }
        let told = told.copied().unwrap_or_default();
        Self {
            guarantee,
            used: told.used.0,
            borrowed: told.borrowed.0,
            denied: told.denied.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::accounting::Tally;
    use weir_shared::wire::count::Count;

    use super::*;

    fn reply(page: usize, total: usize, rows: &[(&str, u128)]) -> TenantsReply {
        let row = |(tenant, units): &(&str, u128)| {
            let admitted_units = Count(*units);
            let total = Tally {
                admitted_units,
                ..Tally::default()
            };
            let text = serde_json::json!({
                "tenant": tenant, "named": true, "tier": "free", "weight": 1, "parent": null,
                "overrides": 0, "total": total,
            });
            serde_json::from_value::<TenantRow>(text).unwrap()
        };
        let tenants: Vec<TenantRow> = rows.iter().map(row).collect();
        serde_json::from_value(serde_json::json!({
            "at": 1, "policy_revision": 1, "page": page, "page_size": PAGE_ROWS, "pages": 1,
            "total": total, "unreachable": [], "tenants": tenants,
        }))
        .unwrap()
    }

    fn shown(rows: &Rows) -> Vec<(String, u128)> {
        let total = rows.total().unwrap_or(0);
        let rows = (0..total).filter_map(|index| rows.at(index));
        rows.map(|row| (row.tenant.clone(), row.total.admitted_units.0))
            .collect()
    }

    fn expected(rows: &[(&str, u128)]) -> Vec<(String, u128)> {
        let rows = rows.iter();
        rows.map(|(name, units)| ((*name).to_owned(), *units))
            .collect()
    }

    #[test]
    fn a_held_order_stays_while_its_figures_move_and_is_updated_when_asked() {
        let mut rows = Rows::default();
        rows.take(reply(1, 2, &[("a", 9), ("b", 5)]), true);
        rows.take(reply(1, 2, &[("b", 12), ("a", 10)]), true);
        assert_eq!(shown(&rows), expected(&[("a", 10), ("b", 12)]));
        assert!(rows.order_is_old());
        rows.update_order();
        assert_eq!(shown(&rows), expected(&[("b", 12), ("a", 10)]));
        assert!(!rows.order_is_old());
    }

    #[test]
    fn an_order_that_nobody_holds_is_the_newest() {
        let mut rows = Rows::default();
        rows.take(reply(1, 2, &[("a", 9), ("b", 5)]), false);
        rows.take(reply(1, 2, &[("b", 12), ("a", 10)]), false);
        assert_eq!(shown(&rows), expected(&[("b", 12), ("a", 10)]));
        rows.update_order();
        assert_eq!(shown(&rows), expected(&[("b", 12), ("a", 10)]));
    }

    #[test]
    fn an_order_that_came_back_is_not_old() {
        let mut rows = Rows::default();
        for order in [
            [("a", 1), ("b", 1)],
            [("b", 2), ("a", 1)],
            [("a", 3), ("b", 2)],
        ] {
            rows.take(reply(1, 2, &order), true);
        }
        assert!(!rows.order_is_old());
        assert_eq!(shown(&rows), expected(&[("a", 3), ("b", 2)]));
    }

    #[test]
    fn who_takes_nobodys_place_is_shown_at_once() {
        let mut rows = Rows::default();
        rows.take(reply(1, 0, &[]), true);
        rows.take(reply(1, 1, &[("a", 9)]), true);
        assert_eq!(shown(&rows), expected(&[("a", 9)]));
        rows.take(reply(1, 2, &[("a", 9), ("b", 5)]), true);
        assert_eq!(shown(&rows), expected(&[("a", 9), ("b", 5)]));
        assert!(!rows.order_is_old());
    }

    #[test]
    fn who_left_the_page_keeps_its_place_until_the_order_is_updated() {
        let mut rows = Rows::default();
        rows.take(reply(1, 3, &[("a", 9), ("b", 5)]), true);
        rows.take(reply(1, 3, &[("c", 12), ("a", 10)]), true);
        assert_eq!(shown(&rows), expected(&[("a", 10), ("b", 5)]));
        rows.update_order();
        assert_eq!(shown(&rows), expected(&[("c", 12), ("a", 10)]));
        assert_eq!((rows.place("a"), rows.place("b")), (Some(1), None));
    }

    #[test]
    fn pages_are_read_as_they_come_into_view_and_few_are_kept() {
        let mut rows = Rows::default();
        assert_eq!(rows.missing(&(0..30)), [1]);
        rows.take(reply(1, 10_000, &[("a", 1)]), false);
        assert_eq!(rows.missing(&(90..130)), [2]);
        for page in 2..=40 {
            let name = format!("p{page}");
            rows.take(reply(page, 10_000, &[(&name, 1)]), false);
        }
        assert_eq!(
            (rows.shown.len(), rows.figures.len()),
            (PAGES_KEPT, PAGES_KEPT)
        );
        assert!(rows.missing(&(3_900..3_950)).is_empty());
        assert_eq!(rows.missing(&(0..30)), [1]);
        assert!(rows.at(3_900).is_some() && rows.at(3_901).is_none());
    }

    #[test]
    fn figures_are_of_the_budget_that_was_chosen_or_of_all() {
        let mut row = reply(1, 1, &[("a", 9)]).tenants.remove(0);
        let told = serde_json::json!({
            "guarantee": 100, "used": 4, "borrowed": 1, "denied": 2, "denied_units": 7,
        });
        let told = serde_json::from_value(told).unwrap();
        row.budgets.insert("tokens".to_owned(), told);
        let figures = |chosen, budget| {
            let figures = Figures::of(&row, chosen, budget);
            (figures.guarantee, figures.used, figures.denied)
        };
        assert_eq!(figures(false, Some("tokens")), (Some(100), 9, 0));
        assert_eq!(figures(true, Some("tokens")), (Some(100), 4, 2));
        assert_eq!(figures(true, Some("other")), (None, 0, 0));
        assert_eq!(figures(false, None), (None, 9, 0));
    }
}
