//! What running the deployment tells of itself, as it travels beside counters and answers: how long was waited, and what
//! failed. Plain sums, which add up in any order.

use serde::{Deserialize, Serialize};
use weir_core::limits::WAIT_BOUNDS_MS;

use super::count::Count;
use super::usage::Usage;

/// Waits in buckets, as a histogram of Prometheus has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    /// How many lasted at most as long as each of [`WAIT_BOUNDS_MS`] and longer than the one before it, and last those
    /// that lasted longer than all. What is missing at the end is 0.
    pub counts: Vec<Count>,
    /// Their sum, milliseconds.
    pub sum_ms: Count,
}

impl Waits {
    /// Counts a wait, milliseconds.
    ///
    /// ```
    /// use weir_wire::telemetry::Waits;
    /// let mut waits = Waits::default();
    /// // 5 ms belong to the first bucket, 6 ms to the second: 5 + 6 = 11.
    /// waits.add_one(5);
    /// waits.add_one(6);
    /// assert_eq!(serde_json::to_string(&waits).unwrap(), r#"{"counts":[1,1],"sum_ms":11}"#);
    /// ```
    pub fn add_one(&mut self, ms: u64) {
        let bucket = WAIT_BOUNDS_MS.partition_point(|bound| *bound < ms);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, Count(0));
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum_ms += ms;
    }

    /// Adds what another counted. What it has beyond the last bucket is in that.
    ///
    /// ```
    /// use weir_wire::count::Count;
    /// use weir_wire::telemetry::Waits;
    /// let mut waits = Waits { counts: vec![Count(1)], sum_ms: Count(3) };
    /// waits.add(&Waits { counts: vec![Count(2), Count(4)], sum_ms: Count(40) });
    /// assert_eq!(waits, Waits { counts: vec![Count(3), Count(4)], sum_ms: Count(43) });
    /// ```
    pub fn add(&mut self, other: &Self) {
        for (index, count) in other.counts.iter().enumerate() {
            let bucket = index.min(WAIT_BOUNDS_MS.len());
            if self.counts.len() <= bucket {
                self.counts.resize(bucket + 1, Count(0));
            }
            if let Some(sum) = self.counts.get_mut(bucket) {
                *sum += *count;
            }
        }
        self.sum_ms += other.sum_ms;
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

/// What is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// How long decisions waited for objects.
    #[serde(skip_serializing_if = "Waits::is_empty")]
    pub decision_waits: Waits,
    /// How long checks waited for units of a lease.
    #[serde(skip_serializing_if = "Waits::is_empty")]
    pub lease_waits: Waits,
    /// Calls of objects that failed or were late, by class.
    #[serde(skip_serializing_if = "Usage::is_empty")]
    pub failed: Usage,
    /// Writes of rows that failed.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub failed_writes: Count,
    /// Rows that could not be read.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub damaged_rows: Count,
}

impl Telemetry {
    /// Adds what another tells.
    ///
    /// ```
    /// use weir_wire::count::Count;
    /// use weir_wire::telemetry::Telemetry;
    /// let mut sum = Telemetry { failed_writes: Count(2), ..Telemetry::default() };
    /// sum.add(&Telemetry { failed_writes: Count(3), damaged_rows: Count(1), ..Telemetry::default() });
    /// assert_eq!((sum.failed_writes, sum.damaged_rows), (Count(5), Count(1)));
    /// ```
    pub fn add(&mut self, other: &Self) {
        self.decision_waits.add(&other.decision_waits);
        self.lease_waits.add(&other.lease_waits);
        self.failed.add(&other.failed);
        self.failed_writes += other.failed_writes;
        self.damaged_rows += other.damaged_rows;
    }

    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_on_the_wire_stays_and_tolerates_what_it_does_not_know() {
        let mut telemetry = Telemetry {
            failed: Usage {
                coordinator_calls: Count(1),
                ..Usage::default()
            },
            failed_writes: Count(2),
            damaged_rows: Count(3),
            ..Telemetry::default()
        };
        telemetry.decision_waits.add_one(1);
        telemetry.lease_waits.add_one(7);
        let text = concat!(
            r#"{"decision_waits":{"counts":[1],"sum_ms":1},"lease_waits":{"counts":[0,1],"sum_ms":7},"#,
            r#""failed":{"coordinator_calls":1,"region_calls":0,"registry_calls":0,"ledger_calls":0,"rows_written":0},"#,
            r#""failed_writes":2,"damaged_rows":3}"#,
        );
        assert_eq!(serde_json::to_string(&telemetry).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<Telemetry>(
                &text.replace("{\"failed_writes", "{\"x\":1,\"failed_writes")
            )
            .unwrap(),
            telemetry
        );
        assert_eq!(serde_json::to_string(&Telemetry::default()).unwrap(), "{}");
        let newer: Telemetry = serde_json::from_str(r#"{"later":1,"damaged_rows":2}"#).unwrap();
        assert!(Telemetry::default().is_empty() && !newer.is_empty());
    }

    #[test]
    fn each_wait_is_in_one_bucket_and_more_buckets_than_are_known_are_bounded() {
        let mut waits = Waits::default();
        let mut sum = 0;
        for ms in (0..6_000).step_by(7) {
            waits.add_one(ms);
            sum += ms;
        }
        let all: u128 = waits.counts.iter().map(|count| count.0).sum();
        assert_eq!((all, waits.sum_ms.0), (858, u128::from(sum)));
        assert_eq!(waits.counts.len(), WAIT_BOUNDS_MS.len() + 1);
        let newer = Waits {
            counts: vec![Count(1); 1_000],
            sum_ms: Count(0),
        };
        waits.add(&newer);
        let all: u128 = waits.counts.iter().map(|count| count.0).sum();
        assert_eq!((all, waits.counts.len()), (1_858, WAIT_BOUNDS_MS.len() + 1));
    }
}
