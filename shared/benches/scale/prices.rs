//! The platform's list prices, in dollars, of the paid plan beyond what it includes; and what something comes to.

/// Requests of objects: `fetch` calls of a stub. <https://developers.cloudflare.com/durable-objects/platform/pricing/>
pub const OBJECT_REQUESTS_PER_MILLION: f64 = 0.15;

/// Rows written by objects with SQLite, indexes and deletions included; setting an alarm is one too.
pub const ROWS_WRITTEN_PER_MILLION: f64 = 1.00;

/// Rows read by objects with SQLite.
const ROWS_READ_PER_MILLION: f64 = 0.001;

/// Time for which an object is awake, whatever it does.
pub const DURATION_PER_MILLION_GB_S: f64 = 12.50;

/// What an awake object is billed for, whatever it uses.
pub const OBJECT_GB: f64 = 0.128;

/// What objects were used for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// Checks that were decided, each item of a batch.
    pub checks: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Calls of objects.
    pub calls: f64,
    /// Rows written.
    pub rows: f64,
    /// Rows read, where they were counted; else as many as were written.
    pub rows_read: f64,
    /// Objects that were awake for all of it.
    pub awake: f64,
}

/// Dollars for a million checks.
#[derive(Debug, Clone, Copy)]
pub struct Fees {
    /// For calls of objects.
    pub requests: f64,
    /// For rows written and read.
    pub rows: f64,
    /// For objects that are awake.
    pub awake: f64,
}

impl Fees {
    /// What a million checks come to.
    pub fn all(&self) -> f64 {
        self.requests + self.rows + self.awake
    }
}

impl Used {
    /// A count, for a million checks.
    pub fn per_million(&self, count: f64) -> f64 {
        count * 1e6 / self.checks
    }

    /// The fees of objects at list price.
    pub fn fees(&self) -> Fees {
        let gb_s = self.awake * OBJECT_GB * self.seconds;
        Fees {
            requests: self.per_million(self.calls) / 1e6 * OBJECT_REQUESTS_PER_MILLION,
            rows: self.per_million(self.rows) / 1e6 * ROWS_WRITTEN_PER_MILLION
                + self.per_million(self.rows_read) / 1e6 * ROWS_READ_PER_MILLION,
            awake: self.per_million(gb_s) / 1e6 * DURATION_PER_MILLION_GB_S,
        }
    }
}
