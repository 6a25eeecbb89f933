//! What a part meets in one step: the time, the terms, and where its letters go.

use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::Terms;

use super::broken::Broken;
use super::network::{Letter, Network};
use super::setup::Setup;
use super::truth::Truth;

/// What is around a part in one step.
pub(crate) struct Around<'a> {
    /// On the clock of the part.
    pub(crate) now: EpochMs,
    pub(crate) true_now: EpochMs,
    pub(crate) terms: Terms,
    pub(crate) keeps_windows: bool,
    pub(crate) truth: &'a mut Truth,
    broken: Option<Broken>,
    network: &'a mut Network,
}

impl<'a> Around<'a> {
    pub(crate) fn new(
        setup: &Setup,
        (now, true_now): (EpochMs, EpochMs),
        heard: bool,
        network: &'a mut Network,
        truth: &'a mut Truth,
    ) -> Self {
        Self {
            now,
            true_now,
            terms: setup.terms(heard),
            keeps_windows: setup.keeps_windows(),
            truth,
            broken: setup.broken,
            network,
        }
    }

    pub(crate) fn send(&mut self, letter: Letter) {
        self.network.send(letter);
    }

    pub(crate) fn breaks(&self, rule: Broken) -> bool {
        self.broken == Some(rule)
    }
}
