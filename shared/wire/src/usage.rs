//! What running the deployment used of the platform, as it travels beside counters and answers.

use serde::{Deserialize, Serialize};

use super::count::Count;

/// Calls of objects, by the class that was called, and rows that objects wrote: what the platform bills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Calls of coordinators.
    pub coordinator_calls: Count,
    /// Calls of regions and their shards of keys.
    pub region_calls: Count,
    /// Calls of the registry.
    pub registry_calls: Count,
    /// Calls of ledgers.
    pub ledger_calls: Count,
    /// Rows that objects wrote, indexes included.
    pub rows_written: Count,
}

impl Usage {
    /// Adds what another counted.
    ///
    /// ```
    /// use weir_wire::count::Count;
    /// use weir_wire::usage::Usage;
    /// let mut sum = Usage { region_calls: Count(2), ..Usage::default() };
    /// sum.add(&Usage { region_calls: Count(3), rows_written: Count(1), ..Usage::default() });
    /// assert_eq!((sum.region_calls, sum.rows_written, sum.object_calls()), (Count(5), Count(1), Count(5)));
    /// ```
    pub fn add(&mut self, other: &Self) {
        self.coordinator_calls += other.coordinator_calls;
        self.region_calls += other.region_calls;
        self.registry_calls += other.registry_calls;
        self.ledger_calls += other.ledger_calls;
        self.rows_written += other.rows_written;
    }

    /// Calls of objects of all classes.
    #[must_use]
    pub fn object_calls(&self) -> Count {
        let mut sum = self.coordinator_calls;
        sum += self.region_calls;
        sum += self.registry_calls;
        sum += self.ledger_calls;
        sum
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
        let usage = Usage {
            coordinator_calls: Count(1),
            region_calls: Count(2),
            registry_calls: Count(3),
            ledger_calls: Count(4),
            rows_written: Count(5),
        };
        let text = r#"{"coordinator_calls":1,"region_calls":2,"registry_calls":3,"ledger_calls":4,"rows_written":5}"#;
        assert_eq!(serde_json::to_string(&usage).unwrap(), text);
        let newer = r#"{"region_calls":2,"rows_read":9}"#;
        let read: Usage = serde_json::from_str(newer).unwrap();
        assert_eq!((read.region_calls, read.rows_written), (Count(2), Count(0)));
        assert!(Usage::default().is_empty() && !read.is_empty());
    }
}
