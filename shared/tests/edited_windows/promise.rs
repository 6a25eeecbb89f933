//! What an edit of the windows promises, for every ordered pair of kinds and lengths: nothing that was used is given back, no
//! window that it overlaps admits more than the larger limit, and it denies for no longer than one window of the newer policy.

use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{Cycle, Terms};

use super::{MINUTE_MS, NOW, World, quota, rolling, terms};

fn kinds(standing: u64, revision: u64) -> Vec<Terms> {
    let fixed = |limit, window_ms| Terms {
        standing,
        ..terms(limit, window_ms, revision)
    };
    vec![
        fixed(100, MINUTE_MS),
        fixed(130, 5 * MINUTE_MS),
        fixed(400, 20 * MINUTE_MS),
        rolling(terms(100, MINUTE_MS, revision), 6),
        rolling(terms(250, 10 * MINUTE_MS, revision), 10),
        quota(terms(150, 2 * MINUTE_MS, revision)),
    ]
}

fn part_ms(terms: &Terms) -> u64 {
    match terms.cycle {
        Some(Cycle::Sliding { buckets }) => terms.window_ms / buckets,
        _ => terms.window_ms,
    }
}

fn rolls(terms: &Terms) -> bool {
    matches!(terms.cycle, Some(Cycle::Sliding { .. }))
}

/// What was admitted, and when; and what was lent ahead of the next window when the edit was heard.
struct Log(Vec<(u64, u64)>, u64);

impl Log {
    fn between(&self, from_ms: u64, to_ms: u64) -> u64 {
        let inside = |(at_ms, _): &&(u64, u64)| (from_ms..to_ms).contains(at_ms);
        self.0.iter().filter(inside).map(|(_, units)| units).sum()
    }

    /// The most that windows by these terms which overlap the edit admit, of what was admitted before `until_ms`. Of a
    /// rolling window, in all but one of its parts: what the oldest admitted counts in proportion.
    fn overlapping(&self, terms: &Terms, edited_ms: u64, until_ms: u64) -> u64 {
        if !rolls(terms) {
            let from_ms = edited_ms / terms.window_ms * terms.window_ms;
            return self.between(from_ms, until_ms.min(from_ms + terms.window_ms));
        }
        let span_ms = terms.window_ms - part_ms(terms);
        let ends = self.0.iter().map(|(at_ms, _)| at_ms + 1);
        let overlap =
            ends.filter(|end| (edited_ms..=until_ms.min(edited_ms + span_ms)).contains(end));
        let sums = overlap.map(|end| self.between(end.saturating_sub(span_ms), end));
        sums.max().unwrap_or(0)
    }
}

fn played(old: &Terms, new: &Terms, (used_ms, edited_ms): (u64, u64)) -> Log {
    let mut log = Log(Vec::new(), 0);
    let mut world = World::new(old, EpochMs(NOW.0 + used_ms));
    if old.standing + new.standing > 0 {
        world.holder.hold_slices(3);
    }
    let step_ms = 1_000;
    let ends_ms = edited_ms + new.window_ms + 2 * old.window_ms + part_ms(new);
    for ms in (used_ms..ends_ms).step_by(step_ms) {
        let now = NOW.plus(ms);
        let terms = if ms < edited_ms { old } else { new };
        // Whatever there is to begin with, and steadily from then on.
        let ask = if ms == used_ms { 2_000 } else { 40 };
        let units = world.asks(terms, ask, now);
        if units > 0 {
            log.0.push((now.0, units));
        }
        for _ in 0..2 {
            if world.holder.wants_contact(now) {
                world.exchange(terms, now);
            }
        }
        if ms < edited_ms {
            let next = world.holder.ahead().first();
            log.1 = next.map_or(0, |ahead| ahead.units);
        }
    }
    log
}

#[test]
fn an_edit_of_windows_admits_at_most_the_larger_limit_and_denies_for_one_newer_window_at_most() {
    for standing in [0, 3] {
        let pairs = kinds(standing, 1).into_iter().flat_map(|old| {
            kinds(standing, 2)
                .into_iter()
                .map(move |new| (old.clone(), new))
        });
        for (old, new) in pairs {
            for (used_ms, after_ms) in [
                (0, 7_000),
                (50_000, 3_000),
                (130_000, 25_000),
                (299_000, 400),
            ] {
                let edited_ms = used_ms + after_ms;
                let log = played(&old, &new, (used_ms, edited_ms));
                let case = format!("{old:?}\nto {new:?} at {edited_ms}, used at {used_ms}");
                let most = old.limit.max(new.limit);
                let edited_at = NOW.0 + edited_ms;
                // What was lent ahead of the next window may be spent until its holder has heard.
                assert!(2 * log.1 <= old.limit, "{case}: {} lent ahead", log.1);
                let newer = log.overlapping(&new, edited_at, u64::MAX);
                assert!(newer <= most + log.1, "{case}: {newer} in a newer window");
                // The older window ends where the first of the newer ones that are shorter begins.
                let next_at = (edited_at / part_ms(&new) + 1) * part_ms(&new);
                let older = log.overlapping(&old, edited_at, next_at);
                assert!(older <= most, "{case}: {older} in an older window");
                let again = log.0.iter().find(|(at_ms, _)| *at_ms >= edited_at);
                let denied_ms = again.map_or(u64::MAX, |(at_ms, _)| at_ms - edited_at);
                let rolls_ms = if rolls(&new) { part_ms(&new) } else { 0 };
                assert!(
                    denied_ms <= new.window_ms + rolls_ms + 1_000,
                    "{case}: denied for {denied_ms} ms"
                );
            }
        }
    }
}
