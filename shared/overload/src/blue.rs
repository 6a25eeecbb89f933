//! Stochastic fair BLUE (Feng, Kandlur, Saha and Shin, INFOCOM 2001): a client is denied with a probability that its
//! failures raise and its successes lower, kept in one cell a level that it shares with others by chance.
//!
//! A failure adds `increase / weight` to the client's cells, a success takes off `decrease / weight`, and all of them
//! decay by themselves. What a client is denied follows its rate and its weight, whatever its requests cost.
//!
//! | promise | how |
//! | --- | --- |
//! | nobody is banned for good, also without decay | no probability exceeds [`OVERLOAD_PROBABILITY_MAX`]: at least one request in fifty passes, and is reported about |
//! | a structure that takes over knows what it would know had it decided all the time | see [`Blue::report`] |
//! | a clock that steps back changes nothing | [`Probabilities`] |
//! | a request allocates nothing | cells lie in one block, a client's in an array |
//!
//! [`OVERLOAD_PROBABILITY_MAX`]: weir_core::limits::OVERLOAD_PROBABILITY_MAX

mod probabilities;

use weir_core::units::EpochMs;
use weir_wire::overload::Final;

use super::combine::combined;
use super::placement::{Cells, PlacementKey, Shape};

pub use self::probabilities::Probabilities;

/// By what numbers probabilities rise and fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Levels and buckets.
    pub shape: Shape,
    /// How the levels' probabilities become one.
    pub combine: Final,
    /// What a failure of a client of weight 1 adds, above 0 and at most 1.
    pub increase: f64,
    /// What a success takes off, above 0 and below the increase.
    pub decrease: f64,
    /// At what rate a probability decays by itself, as the exponent of one second, from 0.
    pub decay_per_s: f64,
}

/// What a request meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// Whether it passes: the coin is not below the probability.
    pub admitted: bool,
    /// The probability with which it is denied, from 0 to below 1.
    pub probability: f64,
}

#[derive(Clone)]
struct Structure {
    key: PlacementKey,
    probabilities: Probabilities,
}

/// The probabilities of one resource: those that decide, and those that learn until they take over.
#[derive(Clone)]
pub struct Blue {
    settings: Settings,
    live: Structure,
    shadow: Structure,
}

impl Blue {
    /// All probabilities 0.
    #[must_use]
    pub fn new(settings: Settings, live: PlacementKey, shadow: PlacementKey, now: EpochMs) -> Self {
        Self {
            settings,
            live: Structure::new(live, settings.shape, now),
            shadow: Structure::new(shadow, settings.shape, now),
        }
    }

    /// Goes on by other numbers. Another shape places every client anew, and forgets.
    pub fn reconfigure(&mut self, settings: Settings, now: EpochMs) {
        if settings.shape != self.settings.shape {
            *self = Self::new(settings, self.live.key, self.shadow.key, now);
        } else if settings.decay_per_s != self.settings.decay_per_s {
            for structure in [&mut self.live, &mut self.shadow] {
                (structure.probabilities).decay_to(self.settings.decay_per_s, now);
            }
        }
        self.settings = settings;
    }

    /// The structure that learned takes over; one that knows nothing learns, and places clients by `key`.
    pub fn rotate(&mut self, key: PlacementKey, now: EpochMs) {
        let fresh = Structure::new(key, self.settings.shape, now);
        self.live = std::mem::replace(&mut self.shadow, fresh);
    }

    /// Decides a request; `coin` is uniform in [0, 1). It changes nothing: only what comes of a request does.
    #[must_use]
    pub fn check(&self, client: &str, coin: f64, now: EpochMs) -> Throttle {
        let cells = self.live.key.place(client, self.settings.shape);
        let probability = self.live.probability(&cells, &self.settings, now);
        Throttle {
            admitted: coin >= probability,
            probability,
        }
    }

    /// What came of a request of a client of this weight (1 is ordinary).
    ///
    /// Those that the live structure denied report nothing, so one that did stands for more in the structure that
    /// learns: of requests offered it would have admitted `1 - p'`, where the live one admitted `1 - p`, and each
    /// outcome counts `(1 - p') / (1 - p)` there (importance weighting; Horvitz and Thompson, 1952). At `p = 0.98` and
    /// `p' = 0` one failure counts as fifty, at `p' = p` as one. Nothing is copied from the live structure: whoever
    /// shares cells there by accident and is served when admitted stays innocent in the next.
    pub fn report(&mut self, client: &str, weight: f64, failed: bool, now: EpochMs) {
        let Settings {
            shape,
            increase,
            decrease,
            decay_per_s,
            ..
        } = self.settings;
        let step = if failed { increase } else { -decrease } / weight;
        let live = self.live.key.place(client, shape);
        let shadow = self.shadow.key.place(client, shape);
        let admitted = 1.0 - self.live.probability(&live, &self.settings, now);
        let would_admit = 1.0 - self.shadow.probability(&shadow, &self.settings, now);
        let counts = would_admit / admitted;
        (self.live.probabilities).step(&live, step, decay_per_s, now);
        (self.shadow.probabilities).step(&shadow, step * counts, decay_per_s, now);
    }

    /// The numbers in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Both structures, the one that decides first.
    pub fn both_mut(&mut self) -> (&mut Probabilities, &mut Probabilities) {
        (&mut self.live.probabilities, &mut self.shadow.probabilities)
    }

    /// Bytes that the structures take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.live.probabilities.bytes() + self.shadow.probabilities.bytes()
    }

    /// The structure that decides, to be shared.
    pub fn live_mut(&mut self) -> &mut Probabilities {
        &mut self.live.probabilities
    }

    /// The structure that learns, to be shared.
    pub fn shadow_mut(&mut self) -> &mut Probabilities {
        &mut self.shadow.probabilities
    }
}

impl Structure {
    fn new(key: PlacementKey, shape: Shape, now: EpochMs) -> Self {
        Self {
            key,
            probabilities: Probabilities::new(shape, now),
        }
    }

    fn probability(&self, cells: &Cells, settings: &Settings, now: EpochMs) -> f64 {
        let levels = self.probabilities.read(cells, settings.decay_per_s, now);
        combined(settings.combine, levels)
    }
}
