//! What a tenant had a claim to over time, and what it borrowed beyond it: from the records of a budget's windows, laid
//! over the intervals of a chart.

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::windows::WindowRecord;

use crate::chart::series::{Line, Tone};
use crate::format::count;

/// What the records say of one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Claimed {
    /// Units a second of its fair share: what it was entitled to among those that asked; none where no record tells.
    pub fair_per_s: Option<f64>,
    /// Units of that in the windows, or the parts of windows, that records tell of.
    pub fair: f64,
    /// Units that it was served in them. Those of a window that is longer than the interval are spread evenly over the window.
    pub served: f64,
    /// What of these is beyond its fair share.
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
    let mut units = vec![Claimed::default(); starts_ms.len()];
    let mut covered: Vec<OrderedMap<Option<&str>, u64>> = vec![OrderedMap::new(); starts_ms.len()];
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
            units[place].fair += own.entitlement as f64 * part;
            units[place].served += own.served.0 as f64 * part;
            units[place].borrowed += own.borrowed.0 as f64 * part;
            *covered[place].entry(record.region.as_deref()).or_default() += overlap_ms;
        }
    }
    let each = units.into_iter().zip(covered);
    each.map(|(units, covered)| {
        let over_ms = covered.values().copied().max();
        Claimed {
            fair_per_s: over_ms.map(|over_ms| units.fair * 1_000.0 / over_ms as f64),
            ..units
        }
    })
    .collect()
}

/// Of intervals after the last one that a record tells of, the window is still open: what is served there at a higher rate
/// than the newest fair share is taken as borrowed, as a record would say once the window is over.
pub fn with_open(mut claimed: Vec<Claimed>, admitted: &Line, step_ms: u64) -> Vec<Claimed> {
    let newest = claimed.iter().rposition(|one| one.fair_per_s.is_some());
    let Some((newest, fair_per_s)) =
        newest.and_then(|place| Some((place, claimed[place].fair_per_s?)))
    else {
        return claimed;
    };
    let points = claimed.iter_mut().zip(&admitted.points).skip(newest + 1);
    for (open, (_, per_s)) in points {
        let beyond_per_s = (per_s.unwrap_or(0.0) - fair_per_s).max(0.0);
        open.borrowed = beyond_per_s * step_ms as f64 / 1_000.0;
    }
    claimed
}

/// What a tenant got in a range, in units, divided by its fair share where records tell of one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Beside {
    /// What was counted as admitted in the whole range, as in the table of it.
    pub admitted: f64,
    /// What of that records tell of.
    pub recorded: f64,
    /// What of that is beyond the fair share.
    pub borrowed: f64,
    /// The fair share of the windows that records tell of.
    pub fair: f64,
}

impl Beside {
    /// Of the intervals of a chart and the units that were counted in them; none where no record tells anything.
    ///
    /// Records count by window and the range counts by minute: what is recorded is at most what was counted in the same
    /// intervals, so the parts are never more than the whole.
    pub fn of(claimed: &[Claimed], admitted: &Line) -> Option<Self> {
        let mut told = false;
        let mut sum = Self::default();
        let mut counted = 0.0;
        for (claim, (_, units)) in claimed.iter().zip(&admitted.points) {
            let units = units.unwrap_or(0.0);
            sum.admitted += units;
            if claim.fair_per_s.is_some() {
                told = true;
                counted += units;
                sum.recorded += claim.served;
                sum.borrowed += claim.borrowed;
                sum.fair += claim.fair;
            }
        }
        sum.recorded = sum.recorded.min(counted);
        sum.borrowed = sum.borrowed.min(sum.recorded);
        told.then_some(sum)
    }

    /// In sentences that name the period. The parts add up to what the table of the range says.
    ///
    /// ```
    /// use weir_console::features::tenant::model::claims::Beside;
    /// let beside = Beside { admitted: 1_700.0, recorded: 1_500.0, borrowed: 300.0, fair: 1_250.0 };
    /// assert_eq!(
    ///     beside.words("Last hour"),
    ///     "Last hour: 1,700 units admitted. Of these, 1,200 are within its fair share, 300 are borrowed, and 200 are in \
    ///      windows without a record, such as the open one, which the chart divides by the newest fair share. In the recorded \
    ///      windows, its fair share was 1,250 units."
    /// );
    /// ```
    pub fn words(self, period: &str) -> String {
        let whole = |units: f64| units.round() as u128;
        let (admitted, borrowed) = (whole(self.admitted), whole(self.borrowed));
        let unrecorded = whole(self.admitted - self.recorded);
        let within = admitted.saturating_sub(borrowed + unrecorded);
        let rest = match unrecorded {
            0 => String::new(),
            units => format!(
                ", and {} are in windows without a record, such as the open one, which the chart divides by the newest fair \
                 share",
                count(units)
            ),
        };
        format!(
            "{period}: {} units admitted. Of these, {} are within its fair share, {} are borrowed{rest}. In the recorded windows, \
             its fair share was {} units.",
            count(admitted),
            count(within),
            count(borrowed),
            count(whole(self.fair))
        )
    }
}

/// What was admitted, a second, as lines on top of one another: within the fair share, beyond it, and where no record tells
/// a share.
pub fn split(admitted: &Line, claimed: &[Claimed], step_ms: u64) -> Vec<Line> {
    let line = |name: &str, tone| Line {
        name: name.to_owned(),
        tone,
        points: Vec::with_capacity(admitted.points.len()),
    };
    let mut within = line("Within its share", Tone::ADMITTED);
    let mut beyond = line("Borrowed", Tone::BORROWED);
    let mut untold = line("Admitted, share not recorded", Tone::Green);
    let none = Claimed::default();
    let newest = claimed.iter().rposition(|one| one.fair_per_s.is_some());
    for (place, (at_ms, value)) in admitted.points.iter().enumerate() {
        let told = claimed.get(place).unwrap_or(&none);
        let open = newest.is_some_and(|newest| place > newest);
        if told.fair_per_s.is_none() && !open {
            let nothing = value.map(|_| 0.0);
            within.points.push((*at_ms, nothing));
            beyond.points.push((*at_ms, nothing));
            untold.points.push((*at_ms, *value));
            continue;
        }
        untold.points.push((*at_ms, value.map(|_| 0.0)));
        let borrowed = |value: f64| (told.borrowed * 1_000.0 / step_ms.max(1) as f64).min(value);
        within
            .points
            .push((*at_ms, value.map(|value| value - borrowed(value))));
        beyond.points.push((*at_ms, value.map(borrowed)));
    }
    let mut lines = vec![within, beyond];
    if untold.points.iter().any(|(_, value)| *value > Some(0.0)) {
        lines.push(untold);
    }
    lines
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

    /// Served are ten units more than were borrowed.
    fn record(region: Option<&str>, ends_at: u64, entitlement: u64, borrowed: u64) -> WindowRecord {
        serde_json::from_value(json!({
            "budget": "tokens", "region": region, "label": ends_at, "ends_at": ends_at, "limit": 100,
            "complete": true, "granted": null, "admitted": 0, "returned": 0, "unaccounted": null,
            "exact": true, "denied": 0, "jain": null, "tenants_seen": 1,
            "tenants": [{"tenant": "a", "weight": 1, "entitlement": entitlement, "served": borrowed + 10,
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
                fair: 120.0,
                served: 32.0,
                borrowed: 12.0
            }
        );
        assert_eq!(told[1], Claimed::default(), "no record, no claim");
        assert_eq!(
            claimed(&records, "b", 30_000, &[0], 60_000)[0],
            Claimed::default()
        );
    }

    fn admitted(per_s: &[f64]) -> Line {
        let points = per_s.iter().enumerate();
        Line {
            name: "Admitted".to_owned(),
            tone: Tone::ADMITTED,
            points: points
                .map(|(place, per_s)| (place as u64 * 60_000, Some(*per_s)))
                .collect(),
        }
    }

    #[test]
    fn what_an_open_window_serves_above_the_newest_fair_share_is_borrowed() {
        let records = [record(None, 60_000, 120, 60)];
        let line = admitted(&[3.0, 5.0, 1.0]);
        let told = claimed(&records, "a", 60_000, &[0, 60_000, 120_000], 60_000);
        let told = with_open(told, &line, 60_000);
        let borrowed: Vec<f64> = told.iter().map(|one| one.borrowed).collect();
        assert_eq!(borrowed, [60.0, 180.0, 0.0]);
        // Nothing is known of a share without a record.
        let none = vec![Claimed::default(); 3];
        assert_eq!(with_open(none.clone(), &line, 60_000), none);
    }

    #[test]
    fn what_a_tenant_got_is_what_the_range_counts_and_is_divided_where_records_tell() {
        // Two of the four windows of the second interval are over.
        let records = [
            record(None, 60_000, 120, 60),
            record(None, 75_000, 30, 5),
            record(None, 90_000, 30, 0),
        ];
        let line = admitted(&[80.0, 40.0]);
        let told = claimed(&records[..1], "a", 60_000, &[0, 60_000], 60_000);
        let alone = Beside {
            admitted: 120.0,
            recorded: 70.0,
            borrowed: 60.0,
            fair: 120.0,
        };
        assert_eq!(Beside::of(&told, &line), Some(alone));
        let told = claimed(&records[1..], "a", 15_000, &[0, 60_000], 60_000);
        let begun = Beside {
            admitted: 120.0,
            recorded: 25.0,
            borrowed: 5.0,
            fair: 60.0,
        };
        assert_eq!(Beside::of(&told, &line), Some(begun));
        assert_eq!(Beside::of(&[Claimed::default(); 2], &line), None);
    }

    #[test]
    fn the_parts_of_what_a_tenant_got_are_never_more_than_the_whole() {
        // A window is counted by its label, and a minute by its clock: at the edge, one may have more than the other.
        let told = claimed(&[record(None, 60_000, 120, 60)], "a", 60_000, &[0], 60_000);
        let beside = Beside::of(&told, &admitted(&[50.4])).unwrap();
        assert_eq!((beside.recorded, beside.borrowed), (50.4, 50.4));
        let words = beside.words("Last hour");
        assert!(
            words.starts_with("Last hour: 50 units admitted. Of these, 0 are within its fair share, 50 are borrowed. "),
            "{words}"
        );
    }

    #[test]
    fn a_window_over_several_intervals_is_spread_over_them() {
        let records = [record(None, 120_000, 240, 60)];
        let told = claimed(&records, "a", 120_000, &[0, 60_000, 120_000], 60_000);
        let expected = Claimed {
            fair_per_s: Some(2.0),
            fair: 120.0,
            served: 35.0,
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
                fair: 180.0,
                served: 23.0,
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
                fair_per_s: Some(3.0),
                borrowed: 120.0,
                ..Claimed::default()
            },
            // Counted of a window that reaches beyond the interval: no more is borrowed than was admitted.
            Claimed {
                fair_per_s: Some(3.0),
                borrowed: 600.0,
                ..Claimed::default()
            },
        ];
        let lines = split(&admitted, &claims, 60_000);
        let [within, beyond] = &lines[..] else {
            panic!("{lines:?}");
        };
        let values = |line: &Line| line.points.iter().map(|point| point.1).collect::<Vec<_>>();
        assert_eq!(values(within), [Some(3.0), Some(0.0), None]);
        assert_eq!(values(beyond), [Some(2.0), Some(1.0), None]);
    }

    #[test]
    fn what_no_record_tells_of_is_within_no_share() {
        let line = admitted(&[4.0, 3.0, 2.0]);
        let told = claimed(
            &[record(None, 120_000, 120, 60)],
            "a",
            60_000,
            &[0, 60_000, 120_000],
            60_000,
        );
        let lines = split(&line, &told, 60_000);
        let values: Vec<Vec<_>> = lines
            .iter()
            .map(|line| line.points.iter().filter_map(|point| point.1).collect())
            .collect();
        // Before the record nothing is known; what is open after it goes by its share.
        assert_eq!(values, [[0.0, 2.0, 2.0], [0.0, 1.0, 0.0], [4.0, 0.0, 0.0]]);
        assert_eq!(lines[2].name, "Admitted, share not recorded");
    }

    #[test]
    fn a_part_of_an_interval_is_not_taken_for_all_of_it() {
        // One window of 30 s within a minute: its rate is the rate while it was open.
        let told = claimed(&[record(None, 30_000, 60, 0)], "a", 30_000, &[0], 60_000);
        assert_eq!(told[0].fair_per_s, Some(2.0));
    }
}
