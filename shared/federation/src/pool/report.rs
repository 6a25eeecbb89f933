//! Where the units of a pool's open window are.

use weir_core::units::{EpochMs, HolderId, WindowLabel};
use weir_wire::holdings::{Lent, LentBody, RegionBudget};

use super::Pool;
use super::edit::Counted;
use crate::stored::StoredPool;

impl Pool {
    /// What was lent of the window at `now`. Where the last one is over and nobody has asked since, that is the window
    /// that would open, with what was lent ahead of it. Changes nothing.
    #[must_use]
    pub fn lent(&self, body: &LentBody, now: EpochMs) -> Lent {
        let Counted {
            window, history, ..
        } = self.at(now);
        let unread = self.lender.lent_of(window.label) == u64::MAX;
        let capacity = history.capacity(self.limit_from(window.starts_at()), &window, now);
        let lent_total = self.lender.lent_of(window.label);
        let lent = body.regions.iter().map(|region| {
            let holder = HolderId::of_name(region);
            (region.clone(), self.lender.held_by(holder, window.label))
        });
        let tenants_max = usize::try_from(body.tenants_max).unwrap_or(usize::MAX);
        let same = window.label == self.window.label;
        Lent {
            window: Some(window.label),
            ends_at: Some(window.ends_at),
            limit: self.limit_from(window.starts_at()),
            lent: lent.collect(),
            // Of a row that could not be read everything counts as lent.
            lent_total: if unread {
                self.limit_from(window.starts_at())
            } else {
                lent_total
            },
            free: capacity.saturating_sub(lent_total),
            exact: !unread && self.closed.knows(window.label),
            tenants: if same {
                self.lender.tenants(tenants_max)
            } else {
                Vec::new()
            },
        }
    }

    /// The row that says exactly what is lent, where the durable one does not: to be written when nothing happens any more.
    /// What is lent after that is above its mark, so that it is written again before it leaves.
    #[must_use]
    pub fn rest(&self) -> Option<StoredPool> {
        let durable = self.durable.as_ref();
        let mut row = durable
            .filter(|row| row.label == self.window.label)?
            .clone();
        row.watermark = self.lender.rests_at()?;
        Some(row)
    }

    /// Units of a window that a holder was lent and has not given back.
    #[must_use]
    pub fn held_by(&self, holder: HolderId, label: WindowLabel) -> u64 {
        self.lender.held_by(holder, label)
    }

    /// The same of a pool that is a region's own: lent to its isolates.
    #[must_use]
    pub fn holding(&self, budget: &str, now: EpochMs) -> RegionBudget {
        let Counted {
            window, history, ..
        } = self.at(now);
        let held = history.capacity(self.limit_from(window.starts_at()), &window, now);
        RegionBudget {
            budget: budget.to_owned(),
            own: true,
            window: Some(window.label),
            ends_at: Some(window.ends_at),
            limit: self.limit_from(window.starts_at()),
            held,
            lent: self
                .lender
                .lent_of(window.label)
                .min(self.limit_from(window.starts_at())),
            isolates: self.lender.holders(now) as u64,
            outage: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ordered::OrderedMap;
    use weir_core::units::{Incarnation, Revision, Sequence};
    use weir_core::window::Window;
    use weir_wire::exchange::{ExchangeBody, Terms, VERSION, Want};

    use super::*;
    use crate::message::Message;

    const WINDOW_MS: u64 = 1_000;

    fn terms() -> Terms {
        Terms {
            limit: 100,
            window_ms: WINDOW_MS,
            revision: Revision(1),
            cycle: None,
            sharing: None,
            lease: None,
            standing: 0,
        }
    }

    fn asked(region: &str, sequence: u64, units: u64, ahead: u64) -> Message {
        let want = Want {
            tenant: None,
            waiting: units,
            smallest: 1,
            expected: 0,
            held: 0,
            denied: 0,
            rank: None,
        };
        let body = ExchangeBody {
            v: VERSION,
            budget: "tokens".to_owned(),
            terms: terms(),
            holder: HolderId::of_name(region),
            incarnation: Incarnation(1),
            sequence: Sequence(sequence),
            seen: None,
            window: None,
            wants: vec![want],
            returns: Vec::new(),
            ahead,
            idle: 0,
            denied: 0,
        };
        Message::try_from(body).unwrap()
    }

    fn ask(tenants_max: u64) -> LentBody {
        LentBody {
            budget: "tokens".to_owned(),
            regions: vec!["weur".to_owned(), "enam".to_owned()],
            tenants_max,
        }
    }

    fn by_region(weur: u64, enam: u64) -> OrderedMap<String, u64> {
        OrderedMap::from([("weur".to_owned(), weur), ("enam".to_owned(), enam)])
    }

    #[test]
    fn what_was_lent_is_told_by_region_and_adds_up_to_the_limit() {
        let mut pool = Pool::open(terms(), EpochMs(0));
        pool.exchange(&asked("weur", 1, 30, 0), EpochMs(1)).unwrap();
        pool.exchange(&asked("enam", 1, 12, 0), EpochMs(2)).unwrap();
        let lent = pool.lent(&ask(8), EpochMs(3));
        assert_eq!(lent.lent, by_region(30, 12));
        assert_eq!((lent.lent_total, lent.free, lent.limit), (42, 58, 100));
        assert_eq!(pool.unlent(), 58);
        assert_eq!(
            (lent.window, lent.ends_at),
            (Some(WindowLabel(1)), Some(EpochMs(WINDOW_MS)))
        );
        assert!(lent.exact);
    }

    #[test]
    fn after_the_end_it_tells_what_was_lent_ahead_and_opens_nothing() {
        let mut pool = Pool::open(terms(), EpochMs(0));
        pool.exchange(&asked("weur", 1, 30, 10), EpochMs(1))
            .unwrap();
        let before = pool.window();
        let lent = pool.lent(&ask(0), EpochMs(WINDOW_MS + 5));
        assert_eq!(lent.window, Some(WindowLabel(2)));
        assert_eq!(lent.lent, by_region(10, 0));
        assert_eq!((lent.lent_total, lent.free), (10, 90));
        assert_eq!(pool.window(), before, "a look opens no window");
        let later = pool.lent(&ask(0), EpochMs(10 * WINDOW_MS));
        assert_eq!((later.lent_total, later.free), (0, 100));
    }

    #[test]
    fn tenants_are_told_of_the_open_window_and_not_of_one_that_would_open() {
        use weir_fairness::ask::Claimant;
        use weir_wire::exchange::{FloorsBody, RuleBody, SharingBody};
        let acme = Claimant::plain("acme");
        let mut body = (*asked("weur", 1, 5, 0)).clone();
        body.terms.sharing = Some(SharingBody {
            rule: RuleBody::Paced,
            tenants_max: 10,
            unknown_weight_max: 1_000_000,
            floors: FloorsBody::default(),
        });
        body.wants[0].tenant = Some(acme.name.clone());
        body.wants[0].rank = Some((&acme).into());
        let mut pool = Pool::open(body.terms.clone(), EpochMs(0));
        pool.exchange(&Message::try_from(body).unwrap(), EpochMs(1))
            .unwrap();
        let told = |tenants_max, now| {
            let tenants = pool.lent(&ask(tenants_max), EpochMs(now)).tenants;
            let names = tenants.into_iter().map(|one| one.tenant);
            names.collect::<Vec<_>>()
        };
        assert_eq!(told(8, WINDOW_MS - 1), ["acme"]);
        assert!(told(0, 2).is_empty());
        assert!(told(8, WINDOW_MS).is_empty());
    }

    #[test]
    fn a_pool_that_woke_says_that_it_does_not_know_who_has_what() {
        let window = Window::open(WindowLabel(7), EpochMs(0), WINDOW_MS);
        let pool = Pool::wake(&StoredPool::new(window, terms(), 40));
        let lent = pool.lent(&ask(0), EpochMs(1));
        assert_eq!((lent.lent_total, lent.free, lent.exact), (40, 60, false));
        assert_eq!(lent.lent, by_region(0, 0));
        assert!(pool.lent(&ask(0), EpochMs(WINDOW_MS)).exact, "the next one");
    }

    #[test]
    fn a_pool_at_rest_wakes_knowing_what_it_had_lent_and_writes_before_it_lends_more() {
        let mut pool = Pool::open(terms(), EpochMs(0));
        pool.exchange(&asked("weur", 1, 30, 0), EpochMs(1)).unwrap();
        pool.stored(&pool.due().unwrap());
        assert_eq!(pool.due(), None, "the mark is above what was lent");
        let row = pool.rest().unwrap();
        assert_eq!(row.watermark, 30);
        pool.stored(&row);
        assert_eq!((pool.rest(), pool.due()), (None, None));
        let woken = Pool::wake(&row);
        let over = woken.windows_over(WindowLabel(0), EpochMs(WINDOW_MS));
        assert_eq!((over[0].granted, over[0].returned), (30, 0));
        pool.exchange(&asked("weur", 2, 1, 0), EpochMs(2)).unwrap();
        assert!(pool.due().is_some_and(|row| row.watermark > 30));
    }

    #[test]
    fn a_pool_that_could_not_be_read_has_nothing_free() {
        let pool = Pool::damaged(Some(WindowLabel(7)), terms(), EpochMs(1));
        let lent = pool.lent(&ask(0), EpochMs(2));
        assert_eq!((lent.lent_total, lent.free, lent.exact), (100, 0, false));
        let own = pool.holding("tokens", EpochMs(2));
        assert_eq!((own.own, own.lent, own.limit), (true, 100, 100));
    }
}
