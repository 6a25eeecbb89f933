//! How full a budget is: its open windows against their limits, and those before.

use weir_shared::wire::windows::WindowRecord;

/// Windows of one budget that were open at the same time: one, or one a region.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Utilization {
    /// Units admitted.
    pub used: u64,
    /// Units that there are.
    pub limit: u64,
    /// Units denied.
    pub denied: u64,
    /// Jain's index, of several the lowest; none when nobody asked.
    pub jain: Option<f64>,
    /// When the last of them ends, epoch milliseconds.
    pub ends_at: u64,
    /// Tenants that asked, of several windows the most.
    pub tenants: u64,
}

impl Utilization {
    /// What was used, as a part of what there is.
    pub fn share(&self) -> f64 {
        if self.limit == 0 {
            0.0
        } else {
            self.used as f64 / self.limit as f64
        }
    }

    fn add(&mut self, record: &WindowRecord) {
        let units = |count: u128| u64::try_from(count).unwrap_or(u64::MAX);
        self.used = self.used.saturating_add(units(record.admitted.0));
        self.limit = self.limit.saturating_add(record.limit);
        self.denied = self.denied.saturating_add(units(record.denied.0));
        self.ends_at = self.ends_at.max(record.ends_at.0);
        self.tenants = self.tenants.max(record.tenants_seen);
        let jain = record.jain.map(|jain| jain.0);
        self.jain = match (self.jain, jain) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

/// The windows that are open now, and the newest of each that is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NowAndBefore {
    /// Open windows; none when nobody asked of late.
    pub now: Option<Utilization>,
    /// The last ones that are over.
    pub before: Option<Utilization>,
}

impl NowAndBefore {
    /// Of the records of one budget, newest first; `at` is the server's time.
    pub fn of(records: &[WindowRecord], at: u64) -> Self {
        let mut told = Self::default();
        let mut regions_before: Vec<Option<&str>> = Vec::new();
        // A record without a limit is late word of a window that is long over.
        for record in records.iter().filter(|record| record.limit > 0) {
            let open = !record.complete && record.ends_at.0 > at;
            if open {
                told.now.get_or_insert_default().add(record);
                continue;
            }
            let region = record.region.as_deref();
            if !regions_before.contains(&region) {
                regions_before.push(region);
                told.before.get_or_insert_default().add(record);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(
        region: Option<&str>,
        ends_at: u64,
        admitted: u64,
        jain: Option<f64>,
    ) -> WindowRecord {
        serde_json::from_value(json!({
            "budget": "tokens", "region": region, "label": 7, "ends_at": ends_at, "limit": 100,
            "complete": false, "granted": null, "admitted": admitted, "returned": 0,
            "unaccounted": null, "exact": true, "denied": 3, "jain": jain, "tenants_seen": 2,
            "tenants": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_global_budget_has_one_open_window() {
        let records = [
            record(None, 120, 40, Some(0.9)),
            record(None, 60, 100, Some(0.5)),
            record(None, 0, 10, None),
        ];
        let told = NowAndBefore::of(&records, 100);
        let now = told.now.unwrap();
        assert_eq!((now.used, now.limit, now.jain), (40, 100, Some(0.9)));
        assert_eq!(now.share(), 0.4);
        assert_eq!(told.before.unwrap().used, 100);
    }

    #[test]
    fn windows_of_regions_are_summed_and_the_least_fair_counts() {
        let records = [
            record(Some("enam"), 120, 40, Some(0.9)),
            record(Some("weur"), 119, 20, Some(0.4)),
            record(Some("weur"), 60, 7, None),
            record(Some("enam"), 59, 8, Some(1.0)),
            record(Some("enam"), 10, 50, Some(1.0)),
        ];
        let told = NowAndBefore::of(&records, 100);
        let now = told.now.unwrap();
        assert_eq!((now.used, now.limit, now.jain), (60, 200, Some(0.4)));
        assert_eq!((now.ends_at, now.denied, now.tenants), (120, 6, 2));
        let before = told.before.unwrap();
        assert_eq!((before.used, before.jain), (15, Some(1.0)));
    }

    #[test]
    fn late_word_of_an_old_window_fills_nothing() {
        let mut late = record(None, 130, 9, None);
        late.limit = 0;
        let told = NowAndBefore::of(&[late, record(None, 120, 40, None)], 100);
        assert_eq!(told.now.unwrap().used, 40);
    }

    #[test]
    fn a_window_whose_end_is_past_is_not_open_even_if_not_all_has_arrived() {
        let told = NowAndBefore::of(&[record(None, 60, 40, None)], 61);
        assert_eq!((told.now.is_none(), told.before.unwrap().used), (true, 40));
        assert_eq!(NowAndBefore::of(&[], 0), NowAndBefore::default());
        assert_eq!(Utilization::default().share(), 0.0);
    }
}
