//! Time that is told, in milliseconds to Weir and in nanoseconds to governor.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use governor::Quota;
use governor::clock::Clock;
use governor::nanos::Nanos;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::units::EpochMs;

/// Where time starts: in the present.
pub const START: EpochMs = EpochMs(1_700_000_000_000);

/// Units that may come at once, of which half are used when the timing starts.
pub const BURST: u32 = 100;

const NANOS_PER_MS: u64 = 1_000_000;

/// A limit that both are given, and how far apart the checks come.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From one unit to the next.
    pub interval_ms: u64,
    /// From one check to the next.
    pub step_ms: u64,
}

impl Pace {
    /// The limit for Weir.
    pub fn gcra(self) -> Gcra {
        Gcra::new(1, self.interval_ms, BURST.into()).expect("the numbers are in range")
    }

    /// The limit for governor.
    pub fn quota(self) -> Quota {
        let interval = Duration::from_millis(self.interval_ms);
        let quota = Quota::with_period(interval).expect("the interval is not 0");
        quota.allow_burst(NonZeroU32::new(BURST).expect("not 0"))
    }
}

/// A clock for governor. Its own `FakeRelativeClock` is advanced by an atomic exchange, which would be timed too.
#[derive(Debug, Clone, Default)]
pub struct ToldClock(Rc<Cell<u64>>);

impl ToldClock {
    /// A clock that stands an hour after its own start.
    pub fn started() -> Self {
        Self(Rc::new(Cell::new(3_600_000 * NANOS_PER_MS)))
    }

    /// Time passes.
    #[inline]
    pub fn advance(&self, ms: u64) {
        self.0.set(self.0.get() + ms * NANOS_PER_MS);
    }
}

impl Clock for ToldClock {
    type Instant = Nanos;

    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(self.0.get())
    }
}
