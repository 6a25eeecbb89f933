//! What the holders of one resource have together, as their parent keeps it. A region's hub is itself a child of the
//! root's.
//!
//! | rule | why |
//! | --- | --- |
//! | a child tells what it charged since it last told, and repeats an unanswered message as it was | a lost message costs nothing |
//! | a message that was counted is answered again | a repeated one counts once |
//! | the answer is the whole of the merged cells; the child adds what it charged since it told | a lost answer costs nothing |
//! | the rate is steered by the outcomes that all children saw | a child that sees few failures does not go its own way |
//! | a row has the cells and the messages that are in them | a hub that wakes counts nothing twice |

use weir_core::clock::MonotonicClock;
use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{HOLDERS_MAX, JSON_INTEGER_MAX, OVERLOAD_IDLE_MS};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_wire::overload::{
    MergedBody, OverloadTerms, ShareBody, ShareReply, Steering, StoredOverload,
};

use super::blue::Probabilities;
use super::config::Config;
use super::fair_rate::FairRate;
use super::merging::{Pair, Structures, is_rate, packed, unpacked};
use super::outbox::{Draft, Outbox};

/// How many times as fast as any holder of an open resource has seen it the fastest client is taken to be: its requests
/// reach several holders.
const SEEN_IN_PARTS: f64 = 1.25;

/// The merged state of one resource.
#[derive(Clone)]
pub struct Hub {
    resource: String,
    terms: OverloadTerms,
    config: Config,
    clock: MonotonicClock,
    used_at: EpochMs,
    period: u64,
    engine: Engine,
    heard: OrderedMap<HolderId, Heard>,
    outbox: Outbox,
    unstored: bool,
}

#[derive(Clone)]
enum Engine {
    FairRate(Box<FairRate>),
    Blue([Probabilities; 2]),
}

/// The last message of a holder that was counted.
#[derive(Clone, Copy)]
struct Heard {
    message: (Incarnation, Sequence),
    at: EpochMs,
}

impl Hub {
    /// A hub that has heard nothing. `terms` are those of the first message that it takes; `incarnation` is later than
    /// that of every earlier life of this holder, for instance the present time.
    ///
    /// # Errors
    /// Terms out of bounds, at their field.
    pub fn new(
        resource: &str,
        incarnation: Incarnation,
        terms: &OverloadTerms,
        now: EpochMs,
    ) -> Result<Self, Invalid> {
        let config = Config::try_from(terms)?;
        Ok(Self {
            resource: resource.to_owned(),
            terms: *terms,
            config,
            clock: MonotonicClock::default(),
            used_at: now,
            period: now.0 / config.rotate_ms,
            engine: Engine::new(&config, now),
            heard: OrderedMap::new(),
            outbox: Outbox::new(incarnation),
            unstored: false,
        })
    }

    /// Takes what a child has to say. The same message is answered again and counted once. Terms of a later revision are
    /// taken over; cells of another shape are passed over.
    ///
    /// # Errors
    /// A body that is malformed or out of bounds, at its field; nothing of it was taken.
    pub fn take(
        &mut self,
        holder: HolderId,
        body: &ShareBody,
        now: EpochMs,
    ) -> Result<ShareReply, Invalid> {
        let config = Config::try_from(&body.terms).map_err(|refused| refused.under("/terms"))?;
        let cells = checked(body, &config)?;
        let now = self.turn(now);
        if body.terms.revision > self.terms.revision {
            self.reconfigure(&body.terms, config, now);
        }
        if self.is_news(holder, body, now) {
            self.count(body, &cells, now);
        }
        Ok(ShareReply {
            resource: self.resource.clone(),
            incarnation: body.incarnation,
            sequence: body.sequence,
            merged: self.merged(now),
        })
    }

    /// As [`super::resource::Resource::share`], to this hub's own parent.
    pub fn share(&mut self, now: EpochMs) -> Option<ShareBody> {
        let now = self.turn(now);
        if let Some(body) = self.outbox.repeat(now) {
            return Some(body);
        }
        if self.outbox.counts.is_empty() {
            return None;
        }
        let (rate, mark) = match &self.engine {
            Engine::FairRate(fair) => (fair.steering.rate(), fair.steering.mark()),
            Engine::Blue(_) => (1.0, 0.0),
        };
        let draft = Draft {
            terms: self.terms,
            period: self.period,
            cells: packed(self.structures().changes()),
            rate,
            mark,
        };
        Some(self.outbox.send(&self.resource, draft, now))
    }

    /// As [`super::resource::Resource::learn`], from this hub's own parent.
    pub fn learn(&mut self, reply: &ShareReply, now: EpochMs) {
        let now = self.turn(now);
        let Some(mark) = self.outbox.answered(reply) else {
            return;
        };
        let merged = &reply.merged;
        if !self.terms.shaped_as(&merged.terms) || !is_rate(merged.rate) {
            return;
        }
        let Ok(cells) = unpacked(&merged.live, &merged.shadow, self.config.shape) else {
            return;
        };
        if let Engine::FairRate(fair) = &mut self.engine {
            fair.steering
                .follow(merged.rate, merged.contended, mark, now);
        }
        if merged.contended {
            let own = self.period;
            self.structures().learn(own, merged.period, &cells, now);
        }
        self.unstored = true;
    }

    /// Whether the state changed since it was last stored.
    #[must_use]
    pub fn unstored(&self) -> bool {
        self.unstored
    }

    /// The row that survives a sleep.
    #[must_use]
    pub fn stored(&mut self, now: EpochMs) -> StoredOverload {
        let now = self.turn(now);
        self.unstored = false;
        let heard = self.heard.iter();
        let heard = heard.map(|(&holder, heard)| (holder, heard.message.0, heard.message.1));
        let heard = heard.collect();
        StoredOverload::new(self.resource.clone(), now, self.merged(now), heard)
    }

    /// The hub of a row. What children told after the row was written is lost, and nothing is counted twice.
    ///
    /// # Errors
    /// A row out of bounds, at its field.
    pub fn wake(
        stored: &StoredOverload,
        incarnation: Incarnation,
        now: EpochMs,
    ) -> Result<Self, Invalid> {
        let merged = &stored.merged;
        // As it was, then moved to the present: drained, decayed and rotated.
        let at = stored.at.min(now);
        let mut hub = Self::new(&stored.resource, incarnation, &merged.terms, at)
            .map_err(|refused| refused.under("/merged/terms"))?;
        let cells = unpacked(&merged.live, &merged.shadow, hub.config.shape)
            .map_err(|refused| refused.under("/merged"))?;
        if !is_rate(merged.rate) {
            return Err(no_rate("/merged/rate", merged.rate));
        }
        if let Engine::FairRate(fair) = &mut hub.engine {
            fair.steering = super::steering::Steering::new(merged.rate, at);
            fair.steering.restore(merged.contended);
        }
        let own = hub.period;
        hub.structures().learn(own, merged.period, &cells, at);
        let heard = stored.heard.iter().take(HOLDERS_MAX);
        hub.heard = OrderedMap::from_iter(heard.map(|&(holder, incarnation, sequence)| {
            let message = (incarnation, sequence);
            (holder, Heard { message, at })
        }));
        hub.turn(now);
        Ok(hub)
    }

    /// Whether it can be dropped, with its row: nothing is known that a new one would not know.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        // One that has no parent keeps what it would tell.
        now.since(self.used_at) > OVERLOAD_IDLE_MS
    }

    fn reconfigure(&mut self, terms: &OverloadTerms, config: Config, now: EpochMs) {
        if !self.terms.shaped_as(terms) {
            self.engine = Engine::new(&config, now);
            self.period = now.0 / config.rotate_ms;
        }
        self.terms = *terms;
        self.config = config;
    }

    /// Whether the message was not counted yet; from now on it is. A holder beyond the bound displaces the one that was
    /// silent for longest.
    fn is_news(&mut self, holder: HolderId, body: &ShareBody, now: EpochMs) -> bool {
        let message = (body.incarnation, body.sequence);
        if let Some(heard) = self.heard.get(&holder)
            && heard.message >= message
        {
            return false;
        }
        if self.heard.len() >= HOLDERS_MAX && !self.heard.contains_key(&holder) {
            let silent = self.heard.iter().min_by_key(|(_, heard)| heard.at);
            if let Some(silent) = silent.map(|(&holder, _)| holder) {
                self.heard.remove(&silent);
            }
        }
        self.heard.insert(holder, Heard { message, at: now });
        true
    }

    fn count(&mut self, body: &ShareBody, cells: &Pair, now: EpochMs) {
        self.unstored = true;
        self.used_at = now;
        let counts = &mut self.outbox.counts;
        // Whoever tells nothing else admits, and has to hear what is known elsewhere.
        counts.admitted = counts.admitted.saturating_add(1);
        counts.succeeded = counts.succeeded.saturating_add(body.succeeded);
        counts.failed = counts.failed.saturating_add(body.failed);
        counts.denied = counts.denied.saturating_add(body.denied);
        self.outbox.told_milli = body.told_milli.or(self.outbox.told_milli);
        if let Engine::FairRate(fair) = &mut self.engine {
            fair.drain(now);
            if let Some(milli) = body.told_milli {
                fair.steering.told(milli as f64 / 1_000.0, now);
            }
            let parts = match fair.steering.contended() {
                true => 1.0,
                false => SEEN_IN_PARTS,
            };
            fair.steering.exceeded_to(body.rate * parts, now);
            fair.steering.outcomes(body.succeeded, body.failed, now);
            if body.denied > 0 {
                fair.steering.denied(now);
            }
        }
        if self.terms.shaped_as(&body.terms) {
            let own = self.period;
            self.structures().merge(own, body.period, cells, now);
        }
    }

    fn merged(&mut self, now: EpochMs) -> MergedBody {
        let (rate, contended) = match &self.engine {
            Engine::FairRate(fair) => (fair.steering.rate(), fair.steering.contended()),
            Engine::Blue(_) => (1.0, true),
        };
        // Of an open resource nobody needs to know who used how much.
        let cells = if contended {
            self.structures().levels(now)
        } else {
            Pair::default()
        };
        let [live, shadow] = packed(cells);
        MergedBody {
            terms: self.terms,
            period: self.period,
            live,
            shadow,
            rate,
            contended,
        }
    }

    fn structures(&mut self) -> Structures<'_> {
        match &mut self.engine {
            Engine::FairRate(fair) => Structures::FairRate(fair),
            Engine::Blue([live, shadow]) => Structures::Blue(live, shadow, self.config.decay_per_s),
        }
    }

    fn turn(&mut self, now: EpochMs) -> EpochMs {
        let now = self.clock.read(now);
        let period = now.0 / self.config.rotate_ms;
        let rotations = period.saturating_sub(self.period).min(2);
        self.period = self.period.max(period);
        for _ in 0..rotations {
            self.engine.rotate(&self.config, now);
        }
        now
    }
}

impl Engine {
    fn new(config: &Config, now: EpochMs) -> Self {
        match config.steering {
            Steering::FairRate => Self::FairRate(Box::new(FairRate::new(config.shape, now))),
            Steering::Blue => Self::Blue([(); 2].map(|()| Probabilities::new(config.shape, now))),
        }
    }

    fn rotate(&mut self, config: &Config, now: EpochMs) {
        match self {
            Self::FairRate(fair) => {
                fair.drain(now);
                fair.rotate(config.shape);
            }
            Self::Blue([live, shadow]) => {
                *live = std::mem::replace(shadow, Probabilities::new(config.shape, now));
            }
        }
    }
}

/// The cells of a body whose numbers are within their bounds.
fn checked(body: &ShareBody, config: &Config) -> Result<Pair, Invalid> {
    let counts = [
        ("/incarnation", body.incarnation.0),
        ("/sequence", body.sequence.0),
        ("/period", body.period),
        ("/succeeded", body.succeeded),
        ("/failed", body.failed),
        ("/denied", body.denied),
    ];
    for (field, count) in counts {
        within(field, count, 0..=JSON_INTEGER_MAX)?;
    }
    if !is_rate(body.rate) {
        return Err(no_rate("/rate", body.rate));
    }
    if let Some(told) = body.told_milli {
        within("/told_milli", told, 1..=JSON_INTEGER_MAX)?;
    }
    unpacked(&body.live, &body.shadow, config.shape)
}

fn no_rate(field: &str, rate: f64) -> Invalid {
    let fault = Fault::OutOfRange {
        got: rate.to_string(),
        min: "above 0".to_owned(),
        max: f64::MAX.to_string(),
    };
    Invalid::new(field, fault)
}

#[cfg(test)]
mod tests {
    use weir_core::units::Revision;

    use super::*;

    const START: EpochMs = EpochMs(1_000_000);

    fn told(rate: f64, sequence: u64) -> ShareBody {
        let terms = Config::default().terms(Revision(1));
        ShareBody {
            resource: "origin".to_owned(),
            incarnation: Incarnation(1),
            sequence: Sequence(sequence),
            period: START.0 / terms.rotate_ms,
            terms,
            live: String::new(),
            shadow: String::new(),
            succeeded: 0,
            failed: 0,
            denied: 0,
            rate,
            told_milli: None,
        }
    }

    #[test]
    fn the_fastest_client_of_an_open_resource_is_taken_for_a_quarter_faster_than_a_holder_saw_it() {
        let terms = Config::default().terms(Revision(1));
        let mut hub = Hub::new("origin", Incarnation(9), &terms, START).unwrap();
        for (sequence, told_rate, rate) in [(1, 8.0, 10.0), (2, 6.0, 10.0), (3, 16.0, 20.0)] {
            let reply = hub
                .take(HolderId(4), &told(told_rate, sequence), START)
                .unwrap();
            let off = (reply.merged.rate / rate - 1.0).abs();
            assert!(off < 1e-9, "{} for {rate}", reply.merged.rate);
            assert!(!reply.merged.contended);
        }
    }

    #[test]
    fn clients_are_placed_anew_in_every_period_and_not_by_a_clock_that_steps_back() {
        let terms = Config::default().terms(Revision(1));
        let mut hub = Hub::new("origin", Incarnation(9), &terms, START).unwrap();
        let first = START.0 / terms.rotate_ms;
        let in_period = |period: u64| EpochMs((first + period) * terms.rotate_ms);
        for (now, period) in [
            (START, 0),
            (EpochMs(in_period(1).0 - 1), 0),
            (in_period(1), 1),
            (in_period(0), 1),
            (in_period(7), 7),
        ] {
            hub.turn(now);
            assert_eq!(hub.period, first + period, "{now:?}");
        }
    }
}
