//! What a step's time went into.

use std::ops::AddAssign;
use std::time::Duration;

/// Compiling, linking as a part of it, and running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Phases {
    /// Until everything was built, links included.
    pub(super) compile: Duration,
    /// What the linkers took, added up: two of them may run at once.
    pub(super) link: Duration,
    /// What was built, at work.
    pub(super) run: Duration,
    /// Of the processor, over all cores, by both: on cores that are busy throughout it says what the time says on idle ones.
    pub(super) processor: Duration,
}

impl AddAssign for Phases {
    fn add_assign(&mut self, other: Self) {
        self.compile += other.compile;
        self.link += other.link;
        self.run += other.run;
        self.processor += other.processor;
    }
}
