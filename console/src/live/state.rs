//! How alive the figures on the page are, and how that is said.

use crate::format;

/// How alive the figures are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the first message, after the start or after a pause.
    #[default]
    Connecting,
    /// Told as it happens.
    Live,
    /// Nothing is told, and it is tried again.
    Reconnecting,
    /// The user paused it.
    Paused,
    /// The session has ended.
    Ended,
}

impl Phase {
    /// The phase in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "Connecting",
            Self::Live => "Live",
            Self::Reconnecting => "Reconnecting",
            Self::Paused => "Paused",
            Self::Ended => "Ended",
        }
    }

    /// The value of the page's `data-state`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Live => "live",
            Self::Reconnecting => "reconnecting",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }
}

/// Silence for so long is said above the page, not beside the lamp alone.
const LOST_S: u64 = 5;

/// What is shown of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveState {
    /// The phase.
    pub phase: Phase,
    /// Whole seconds since the server was last heard; none before the first time, and while live.
    pub age_s: Option<u64>,
    /// Whole seconds without a line; 0 while live and while paused.
    pub lost_s: u64,
    /// Regions whose line is open.
    pub open: usize,
    /// Regions whose line is open, or did not open.
    pub regions: usize,
    /// Whether figures are asked for every few seconds, as no line opens.
    pub polling: bool,
}

impl LiveState {
    /// What the word alone does not say.
    pub fn detail(self) -> Option<String> {
        match self.phase {
            Phase::Live if self.open < self.regions => {
                Some(format!("{} of {} regions", self.open, self.regions))
            }
            Phase::Reconnecting if self.polling => Some("asking every 5 s".to_owned()),
            Phase::Reconnecting | Phase::Paused => {
                let age_s = self.age_s.filter(|age_s| *age_s > 0)?;
                Some(format!("{} old", format::duration(age_s * 1_000)))
            }
            _ => None,
        }
    }

    /// What is said above the page while nothing is told: what happened, and what comes of it.
    pub fn lost(self) -> Option<(&'static str, String)> {
        if self.phase != Phase::Reconnecting || self.lost_s < LOST_S {
            return None;
        }
        if self.polling {
            let detail = "The server answers, but no live connection opens: a proxy may not let WebSockets through. \
                          Figures are asked for every 5 s until one does.";
            return Some(("No live connection.", detail.to_owned()));
        }
        let detail = match self.age_s {
            Some(age_s) => format!(
                "The server was last heard {} ago. What is shown is from then; limits go on being enforced at the edge. \
                 It is tried again every few seconds, and what was missed is told then.",
                // In steps, so that the page does not move each second.
                format::duration((age_s - age_s % 5) * 1_000)
            ),
            None => "The server has not answered yet. The console tries again every few seconds."
                .to_owned(),
        };
        Some(("Weir is out of reach.", detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(phase: Phase) -> LiveState {
        LiveState {
            phase,
            open: 1,
            regions: 1,
            ..LiveState::default()
        }
    }

    #[test]
    fn the_detail_says_what_the_word_does_not() {
        let live = state(Phase::Live);
        let lost = LiveState {
            open: 0,
            age_s: Some(65),
            ..state(Phase::Reconnecting)
        };
        for (state, detail) in [
            (live, None),
            (LiveState { regions: 3, ..live }, Some("1 of 3 regions")),
            (lost, Some("1 min 05 s old")),
            (
                LiveState {
                    age_s: None,
                    ..lost
                },
                None,
            ),
            (
                LiveState {
                    polling: true,
                    ..lost
                },
                Some("asking every 5 s"),
            ),
            (
                LiveState {
                    age_s: Some(9),
                    ..state(Phase::Paused)
                },
                Some("9 s old"),
            ),
            (state(Phase::Connecting), None),
            (state(Phase::Ended), None),
        ] {
            assert_eq!(state.detail().as_deref(), detail, "{state:?}");
        }
    }

    #[test]
    fn a_lost_connection_is_said_above_the_page_after_a_while() {
        let lost = LiveState {
            age_s: Some(64),
            lost_s: 60,
            ..state(Phase::Reconnecting)
        };
        let (title, detail) = lost.lost().unwrap();
        assert_eq!(title, "Weir is out of reach.");
        assert!(detail.contains("1 min 00 s ago"), "{detail}");
        let brief = LiveState { lost_s: 4, ..lost };
        assert_eq!(brief.lost(), None);
        let unheard = LiveState {
            age_s: None,
            ..lost
        };
        assert!(unheard.lost().unwrap().1.contains("has not answered yet"));
        let polling = LiveState {
            polling: true,
            ..lost
        };
        assert_eq!(polling.lost().unwrap().0, "No live connection.");
        for phase in [Phase::Live, Phase::Paused, Phase::Connecting, Phase::Ended] {
            assert_eq!(LiveState { phase, ..lost }.lost(), None);
        }
    }
}
