//! The level of those that want more than their reserve: the streaming form of weighted max-min.

use super::rate::parts;

/// A member that is expected to use more than its reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Appetite {
    /// As it counts, in micro-units, at least 1.
    pub weight: u128,
    /// Units that it has used beyond what is set aside for it.
    pub used: u64,
    /// Parts of what is set aside for it that it has not used: it gets those before the level rises.
    pub below: u128,
    /// Parts of a unit that others have to leave for it.
    pub reserve: u128,
    /// Parts that it can still be expected to use.
    pub expected: u128,
}

impl Appetite {
    /// Between which levels what it gets grows.
    fn span(&self) -> (u128, u128) {
        let weight = self.weight.max(1);
        let used = parts(self.used);
        let at = |gets: u128| used.saturating_add(gets.saturating_sub(self.below)) / weight;
        (at(self.least()), at(self.most()))
    }

    /// What it gets at a level of nothing.
    fn least(&self) -> u128 {
        self.expected.min(self.below).max(self.reserve)
    }

    /// What it gets at most.
    fn most(&self) -> u128 {
        self.expected.max(self.reserve)
    }
}

/// Up to where each may fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    /// Parts a micro-unit of weight.
    pub height: u128,
    /// The weight of those that fill as it rises.
    pub slope: u128,
}

/// A level at which one begins to fill, or ceases (`true`), and its weight.
pub(super) type Turn = (u128, bool, u128);

/// The level at which all get `free` parts together; `None` where there is enough for all that
/// they are expected to use. Rounded down by at most one part a micro-unit for each. `turns` is room
/// for what is sorted meanwhile: it is made once.
pub(super) fn level(appetites: &[Appetite], free: u128, turns: &mut Vec<Turn>) -> Option<Level> {
    let all = appetites.iter().map(Appetite::most);
    let all = all.fold(0, u128::saturating_add);
    if all <= free {
        return None;
    }
    turns.clear();
    let mut got = 0_u128;
    for appetite in appetites {
        let (from, to) = appetite.span();
        turns.push((from, false, appetite.weight));
        turns.push((to, true, appetite.weight));
        got = got.saturating_add(appetite.least());
    }
    turns.sort_unstable();
    let mut weight = 0_u128;
    let mut height = 0_u128;
    for (turn, ends, of) in turns.drain(..) {
        let rest = free.saturating_sub(got);
        let more = weight.saturating_mul(turn.saturating_sub(height));
        if more > rest {
            return Some(Level {
                height: height.saturating_add(rest / weight.max(1)),
                slope: weight,
            });
        }
        got = got.saturating_add(more);
        height = turn;
        weight = if ends {
            weight.saturating_sub(of)
        } else {
            weight.saturating_add(of)
        };
    }
    Some(Level {
        height,
        slope: weight,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appetite(weight: u128, used: u64, reserve: u64, expected: u64) -> Appetite {
        Appetite {
            weight,
            used,
            below: 0,
            reserve: parts(reserve),
            expected: parts(expected),
        }
    }

    /// What one still gets: `max(reserve, min(w * height - used, expected))`.
    fn got(one: &Appetite, height: u128) -> u128 {
        let below = (one.weight * height).saturating_sub(parts(one.used));
        below.min(one.expected).max(one.reserve)
    }

    fn height(all: &[Appetite], free: u64) -> Option<u128> {
        level(all, parts(free), &mut Vec::new()).map(|level| level.height)
    }

    #[test]
    fn the_level_gives_each_its_weight_of_what_is_free() {
        let all = [1, 2, 4].map(|weight| appetite(weight, 0, 0, 1_000));
        assert_eq!(height(&all, 700), Some(parts(100)));
    }

    #[test]
    fn what_one_does_not_want_goes_to_the_others() {
        let all = [appetite(1, 0, 0, 10), appetite(1, 0, 0, 500)];
        assert_eq!(height(&all, 100), Some(parts(90)));
        assert_eq!(height(&all, 510), None);
    }

    #[test]
    fn one_that_is_ahead_waits_for_the_others() {
        let all = [appetite(1, 60, 0, 500), appetite(1, 0, 0, 500)];
        assert_eq!(height(&all, 40), Some(parts(40)));
        assert_eq!(height(&all, 100), Some(parts(80)));
    }

    #[test]
    fn a_reserve_is_kept_whatever_the_level() {
        let all = [appetite(1, 0, 30, 500), appetite(1, 0, 0, 500)];
        assert_eq!(height(&all, 40), Some(parts(10)));
    }

    #[test]
    fn what_is_set_aside_is_filled_before_the_level_rises() {
        let below = |units| parts(units);
        let floored = Appetite {
            below: below(30),
            ..appetite(1, 0, 0, 500)
        };
        let all = [floored, appetite(1, 0, 0, 500)];
        // Of 100 the first gets 30 and half of the rest.
        assert_eq!(height(&all, 100), Some(parts(35)));
        let light = Appetite {
            expected: parts(10),
            ..floored
        };
        assert_eq!(height(&[light, all[1]], 100), Some(parts(90)));
    }

    #[test]
    fn at_the_level_all_get_what_is_free_together() {
        let all = [
            appetite(3, 7, 2, 40),
            appetite(1, 0, 5, 90),
            appetite(7, 31, 0, 3),
            appetite(2, 11, 1, 200),
        ];
        for free in 8..300 {
            let free = parts(free);
            let Some(level) = level(&all, free, &mut Vec::new()) else {
                continue;
            };
            let got: u128 = all.iter().map(|one| got(one, level.height)).sum();
            assert!(got <= free + 13 && free <= got + 13 * 2, "{free}: {got}");
        }
    }
}
