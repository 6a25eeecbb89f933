//! What questions came to, beside what is charged when every hold has lapsed.

use weir_shared::limits::{HOLD_MS, UNDO_ATTEMPTS_MAX};
use weir_shared::units::EpochMs;

use super::{Asker, Broken, LIMIT, Report, World};

impl World {
    /// What all came to, when every hold has lapsed.
    pub(super) fn report(mut self) -> Report {
        let end = self.now.plus(HOLD_MS);
        let mut report = Report::default();
        for asker in &self.askers {
            match asker.passed {
                Some(true) => report.passed += 1,
                Some(false) => report.denied += 1,
                None => {}
            }
            let shards = asker.costs.iter().skip(1).flatten().count();
            report.committed += u64::from(asker.passed == Some(true) && shards > 1);
        }
        let own = self.own_charged();
        if self.own != own {
            report.wrong = Some(format!("{} units are charged here, not {own}", self.own));
        }
        for shard in 0..self.shards.len() {
            let charged = LIMIT - self.left(shard, end);
            let (passed, stranded) = self.charged(shard);
            if charged < passed || charged > passed + stranded {
                let wrong = format!(
                    "shard {shard}: {charged} units are charged, for {passed} that passed and {stranded} that may be stranded"
                );
                report.wrong.get_or_insert(wrong);
            }
        }
        report
    }

    fn left(&mut self, shard: usize, end: EpochMs) -> u64 {
        // A shard lets holds lapse with the next event.
        let end = match self.broken {
            Some(Broken::HoldNeverReleased) => self.now,
            _ => end,
        };
        self.shards[shard].left("ten", "k", end)
    }

    /// Units charged here for those that passed, and for those that died before they were answered.
    fn own_charged(&self) -> u64 {
        let asker = |asker: &Asker| match asker.passed {
            Some(false) => 0,
            // One that died has charged it, unless it never came so far.
            Some(true) => asker.costs[0].unwrap_or(0),
            None => match asker.question.is_some() {
                true => asker.costs[0].unwrap_or(0),
                false => 0,
            },
        };
        self.askers.iter().map(asker).sum()
    }

    /// Units of a shard for those that passed; and those that may stay charged though nobody passed with them: what was
    /// committed by an asker that died or whose undoings were all lost or late, and what was charged at once by a shard that died.
    fn charged(&self, shard: usize) -> (u64, u64) {
        let (mut passed, mut stranded) = (0, 0);
        for asker in &self.askers {
            let Some(cost) = asker.costs[shard + 1] else {
                continue;
            };
            let several = asker.costs.iter().skip(1).flatten().count() > 1;
            let passes = asker.passed == Some(true);
            passed += cost * u64::from(passes);
            // It forgot what it had charged at once, so that it was neither undone nor known when it came again.
            let forgot = !several && asker.died.contains(&shard);
            let tried = asker.tried.get(&shard).copied().unwrap_or(0);
            let unheard = !asker.alive || tried >= UNDO_ATTEMPTS_MAX;
            let lapses = several && !asker.committed.contains_key(&shard);
            let unheard = unheard || asker.too_late.contains(&shard);
            // A shard that died takes what comes late for new, the end that was undone included.
            let unheard = unheard || asker.died.contains(&shard);
            let undone = asker.undone.contains(&shard) && !asker.died.contains(&shard);
            let stays = unheard && !lapses && !undone;
            stranded += 2 * cost * u64::from(forgot);
            stranded += cost * u64::from(stays && !passes);
        }
        (passed, stranded)
    }
}
