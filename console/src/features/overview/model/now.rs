//! What is known of this moment. The verdict and the rates beside it are told from here, so that both count or neither does.

use weir_shared::wire::operator::budgets::BudgetsReply;

use super::denials::DeniedRow;
use super::verdict::{Verdict, VerdictKind};
use crate::live::rates::CallsPerS;
use crate::live::state::Phase;

/// What the tiles say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Tiles {
    /// It will be known soon.
    #[default]
    Measuring,
    /// No region tells what goes through.
    Untold,
    /// Calls a second.
    Rates(CallsPerS),
}

impl Tiles {
    /// The rates, where they are known.
    pub fn per_s(self) -> Option<CallsPerS> {
        match self {
            Self::Rates(per_s) => Some(per_s),
            Self::Measuring | Self::Untold => None,
        }
    }
}

/// This moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Now {
    /// How it stands; none before anything was read.
    pub verdict: Option<Verdict>,
    /// What goes through.
    pub tiles: Tiles,
}

/// What is read of this moment.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    /// The tenants denied most; none before they were read.
    pub rows: Option<&'a [DeniedRow]>,
    /// Whether they could not be read.
    pub failed: bool,
    /// The budgets, where they are known.
    pub budgets: Option<&'a BudgetsReply>,
    /// How many regions there are.
    pub regions: usize,
    /// Calls a second, as regions tell them.
    pub live: Option<CallsPerS>,
    /// Whether they tell.
    pub phase: Phase,
}

impl Now {
    /// What it comes to.
    pub fn of(read: &Read<'_>) -> Self {
        let told = read.live.is_some();
        let waits = !told && matches!(read.phase, Phase::Connecting | Phase::Live);
        let verdict = read.rows.map(|rows| match waits {
            true => Verdict::measuring(),
            false => Verdict::of(rows, read.budgets, read.regions, read.live),
        });
        let counts = match &verdict {
            Some(verdict) => verdict.kind != VerdictKind::Measuring,
            None => read.failed,
        };
        let tiles = match read.live {
            _ if !counts || waits => Tiles::Measuring,
            Some(per_s) => Tiles::Rates(per_s),
            None => Tiles::Untold,
        };
        Self { verdict, tiles }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: CallsPerS = CallsPerS {
        admitted: 3.0,
        denied: 0.0,
        shed: 0.0,
        would_deny: 0.0,
    };

    fn now(rows: Option<&[DeniedRow]>, live: Option<CallsPerS>, phase: Phase) -> Now {
        Now::of(&Read {
            rows,
            failed: false,
            budgets: None,
            regions: 1,
            live,
            phase,
        })
    }

    fn kind(now: &Now) -> Option<VerdictKind> {
        now.verdict.as_ref().map(|verdict| verdict.kind)
    }

    #[test]
    fn the_verdict_waits_for_the_rates_and_the_rates_for_the_verdict() {
        let waits = now(Some(&[]), None, Phase::Live);
        assert_eq!(kind(&waits), Some(VerdictKind::Measuring));
        assert_eq!(waits.tiles, Tiles::Measuring);

        let unread = now(None, Some(CALLS), Phase::Live);
        assert_eq!((kind(&unread), unread.tiles), (None, Tiles::Measuring));

        let before = DeniedRow {
            tenant: "a".to_owned(),
            tier: None,
            per_s: None,
            calls: 9,
            by: None,
            claim: None,
        };
        let once = now(Some(&[before]), Some(CALLS), Phase::Live);
        assert_eq!(kind(&once), Some(VerdictKind::Measuring));
        assert_eq!(once.tiles, Tiles::Measuring);

        let both = now(Some(&[]), Some(CALLS), Phase::Live);
        assert_eq!(kind(&both), Some(VerdictKind::Calm));
        assert_eq!(both.tiles.per_s(), Some(CALLS));
    }

    #[test]
    fn where_no_rate_is_to_come_the_verdict_stands_alone_and_nothing_is_being_measured() {
        for phase in [Phase::Reconnecting, Phase::Paused, Phase::Ended] {
            let untold = now(Some(&[]), None, phase);
            assert_eq!(kind(&untold), Some(VerdictKind::Calm), "{phase:?}");
            assert_eq!(untold.tiles, Tiles::Untold);
        }
        let failed = Now::of(&Read {
            rows: None,
            failed: true,
            budgets: None,
            regions: 1,
            live: Some(CALLS),
            phase: Phase::Live,
        });
        assert_eq!(failed.tiles, Tiles::Rates(CALLS));
    }
}
