//! What a tenant had a claim to over time, and what it borrowed beyond it: from the records of a budget's windows, laid
//! over the intervals of a chart.

use std::collections::BTreeMap;

use weir_shared::wire::windows::WindowRecord;

use crate::chart::series::{Line, Tone};

/// What the records say of one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Claimed {
    /// Units a second of its fair share: what it was entitled to among those that asked; none where no record tells.
    pub fair_per_s: Option<f64>,
    /// Units that it was served beyond that. Those of a window that is longer than the interval are spread evenly over the
    /// window.
    pub borrowed: f64,
}

/// What the records say of each interval, by its start. Windows are `window_ms` long; those of several regions are of one
/// tenant together.
pub fn claimed(
    records: &[WindowRecord],
    tenant: &str,
    window_ms: u64,
    starts_ms: &[u64],
    step_ms: u64,
) -> Vec<Claimed> {
    let mut units = vec![(0.0, 0.0); starts_ms.len()];
    let mut covered: Vec<BTreeMap<Option<&str>, u64>> = vec![BTreeMap::new(); starts_ms.len()];
    for record in records {
        let Some(own) = record.tenants.iter().find(|one| one.tenant == tenant) else {
            continue;
        };
        let (from, to) = (record.ends_at.0.saturating_sub(window_ms), record.ends_at.0);
        for (place, start) in starts_ms.iter().enumerate() {
            let overlap_ms = to.min(start + step_ms).saturating_sub(from.max(*start));
            if overlap_ms == 0 {
                continue;
            }
            let part = overlap_ms as f64 / window_ms.max(1) as f64;
            units[place].0 += own.entitlement as f64 * part;
            units[place].1 += own.borrowed.0 as f64 * part;
            *covered[place].entry(record.region.as_deref()).or_default() += overlap_ms;
        }
    }
    let each = units.into_iter().zip(covered);
    each.map(|((fair, borrowed), covered)| {
        let over_ms = covered.values().copied().max();
        Claimed {
            fair_per_s: over_ms.map(|over_ms| fair * 1_000.0 / over_ms as f64),
            borrowed,
        }
    })
    .collect()
}

/// What was admitted, a second, as two lines on top of one another: within the fair share, and beyond it.
pub fn split(admitted: &Line, claimed: &[Claimed], step_ms: u64) -> [Line; 2] {
    let line = |name: &str, tone| Line {
        name: name.to_owned(),
        tone,
        points: Vec::with_capacity(admitted.points.len()),
    };
    let mut within = line("Within its share", Tone::ADMITTED);
    let mut beyond = line("Borrowed", Tone::BORROWED);
    let none = Claimed::default();
    for (place, (at_ms, value)) in admitted.points.iter().enumerate() {
        let told = claimed.get(place).unwrap_or(&none);
        let borrowed = |value: f64| (told.borrowed * 1_000.0 / step_ms.max(1) as f64).min(value);
        within
            .points
            .push((*at_ms, value.map(|value| value - borrowed(value))));
        beyond.points.push((*at_ms, value.map(borrowed)));
    }
    [within, beyond]
}

/// The line of the fair share.
pub fn fair_share(starts_ms: &[u64], claimed: &[Claimed]) -> Line {
    let points = starts_ms.iter().zip(claimed);
    Line {
        name: "Fair share".to_owned(),
        tone: Tone::Orange,
        points: points
            .map(|(at_ms, told)| (*at_ms, told.fair_per_s))
            .collect(),
    }
}

/// The line of a value that stays.
pub fn constant(name: &str, tone: Tone, starts_ms: &[u64], value: f64) -> Line {
    Line {
        name: name.to_owned(),
        tone,
        points: starts_ms
            .iter()
            .map(|at_ms| (*at_ms, Some(value)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(region: Option<&str>, ends_at: u64, entitlement: u64, borrowed: u64) -> WindowRecord {
        serde_json::from_value(json!({
            "budget": "tokens", "region": region, "label": ends_at, "ends_at": ends_at, "limit": 100,
            "complete": true, "granted": null, "admitted": 0, "returned": 0, "unaccounted": null,
            "exact": true, "denied": 0, "jain": null, "tenants_seen": 1,
            "tenants": [{"tenant": "a", "weight": 1, "entitlement": entitlement, "served": 0,
                         "borrowed": borrowed, "denied": 0}],
        }))
        .unwrap()
    }

    #[test]
    fn windows_within_an_interval_add_up() {
        let records = [record(None, 60_000, 90, 5), record(None, 30_000, 30, 7)];
        let told = claimed(&records, "a", 30_000, &[0, 60_000], 60_000);
        // 120 units in 60 s.
        assert_eq!(
            told[0],
            Claimed {
                fair_per_s: Some(2.0),
                borrowed: 12.0
            }
        );
        assert_eq!(told[1], Claimed::default(), "no record, no claim");
        assert_eq!(
            claimed(&records, "b", 30_000, &[0], 60_000)[0],
            Claimed::default()
        );
    }

    #[test]
    fn a_window_over_several_intervals_is_spread_over_them() {
        let records = [record(None, 120_000, 240, 60)];
        let told = claimed(&records, "a", 120_000, &[0, 60_000, 120_000], 60_000);
        let expected = Claimed {
            fair_per_s: Some(2.0),
            borrowed: 30.0,
        };
        assert_eq!(told, [expected, expected, Claimed::default()]);
    }

    #[test]
    fn what_several_regions_grant_at_once_is_one_claim() {
        let records = [
            record(Some("weur"), 60_000, 60, 1),
            record(Some("enam"), 60_000, 120, 2),
        ];
        let told = claimed(&records, "a", 60_000, &[0], 60_000);
        assert_eq!(
            told[0],
            Claimed {
                fair_per_s: Some(3.0),
                borrowed: 3.0
            }
        );
    }

    #[test]
    fn what_was_admitted_is_split_and_adds_up_again() {
        let admitted = Line {
            name: "Admitted".to_owned(),
            tone: Tone::ADMITTED,
            points: vec![(0, Some(5.0)), (60_000, Some(1.0)), (120_000, None)],
        };
        let claims = [
            Claimed {
                fair_per_s: None,
                borrowed: 120.0,
            },
            // Counted of a window that reaches beyond the interval: no more is borrowed than was admitted.
            Claimed {
                fair_per_s: None,
                borrowed: 600.0,
            },
        ];
        let [within, beyond] = split(&admitted, &claims, 60_000);
        let values = |line: &Line| line.points.iter().map(|point| point.1).collect::<Vec<_>>();
        assert_eq!(values(&within), [Some(3.0), Some(0.0), None]);
        assert_eq!(values(&beyond), [Some(2.0), Some(1.0), None]);
    }

    #[test]
    fn a_part_of_an_interval_is_not_taken_for_all_of_it() {
        // One window of 30 s within a minute: its rate is the rate while it was open.
        let told = claimed(&[record(None, 30_000, 60, 0)], "a", 30_000, &[0], 60_000);
        assert_eq!(told[0].fair_per_s, Some(2.0));
    }
}
