//! The smallest and the largest cost that a tenant asks, as seen in this window and the one before.

/// What is known of a tenant's costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Costs {
    now: Span,
    last: Span,
}

/// The costs of one window; zero stands for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Span {
    smallest: u64,
    largest: u64,
}

impl Span {
    fn lower(&mut self, cost: u64) {
        self.smallest = match self.smallest {
            0 => cost,
            smallest => smallest.min(cost),
        };
    }
}

impl Costs {
    /// A request of this cost was asked for.
    pub fn asked(&mut self, cost: u64) {
        self.now.lower(cost);
    }

    /// It was admitted: the tenant may ask as much at once again.
    pub fn granted(&mut self, cost: u64) {
        self.now.largest = self.now.largest.max(cost);
    }

    /// It was denied: until it asks less, less is of no use to it.
    pub fn denied(&mut self, cost: u64) {
        self.now.smallest = cost;
        self.last.smallest = 0;
    }

    /// Goes on to the next window.
    pub fn roll(&mut self) {
        // A window without a request says nothing about them.
        if self.now != Span::default() {
            self.last = self.now;
        }
        self.now = Span::default();
    }

    /// The smallest cost, at least 1.
    pub fn smallest(&self) -> u64 {
        match (self.now.smallest, self.last.smallest) {
            (0, other) | (other, 0) => other.max(1),
            (now, last) => now.min(last),
        }
    }

    /// The largest cost that was admitted, at least the smallest that was asked.
    pub fn largest(&self) -> u64 {
        let largest = self.now.largest.max(self.last.largest);
        largest.max(self.smallest())
    }
}
