//! Attempts to log in before they are counted. The object that counts those of a region is one for all of its isolates: each
//! isolate asks it for a few at a time, and the others wait, fairly by line, or are turned away without a question.

use weir_core::limits::{
    LOGIN_ASKED_MS_MAX, LOGIN_CALLS_MAX, LOGIN_SEEN_MS_MAX, LOGIN_WAIT_MS_MAX, LOGIN_WAITERS_MAX,
    LOGINS_PER_SEC_MAX,
};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::login::Attempt;

/// One for each kind of attempt, so that none waits behind what proves less.
#[derive(Debug, Clone, Default)]
pub struct Turnstiles(OrderedMap<&'static str, Turnstile>);

/// One that waits or is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u64);

/// What one that waits is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is asked about now.
    Ask,
    /// It is to look again.
    Wait,
    /// It waited too long, or made way for a line of which fewer wait.
    Refused,
}

#[derive(Debug, Clone, Default)]
struct Turnstile {
    asked: Vec<(Place, EpochMs)>,
    waiting: Vec<Waiter>,
    /// The rank of the last that was let through.
    rank: u64,
    places: u64,
    /// Until when the region has no turn for any more.
    full_until: EpochMs,
}

#[derive(Debug, Clone)]
struct Waiter {
    /// In which order: the first of each line before the second of any.
    rank: u64,
    place: Place,
    line: String,
    came_at: EpochMs,
    seen_at: EpochMs,
}

impl Waiter {
    fn order(&self) -> (u64, Place) {
        (self.rank, self.place)
    }
}

impl Turnstiles {
    /// An attempt has come; `None` where there is no room for it.
    ///
    /// ```
    /// use weir_access::login::Attempt::{Bootstrap, Stranger};
    /// use weir_access::turnstile::{Turn, Turnstiles};
    /// use weir_core::limits::LOGIN_CALLS_MAX;
    /// use weir_core::units::EpochMs;
    /// let (mut turnstiles, now) = (Turnstiles::default(), EpochMs(1_000));
    /// let stranger = Stranger(Some("203.0.113.9"));
    /// let places: Vec<_> = (0..=LOGIN_CALLS_MAX).map(|_| turnstiles.enter(stranger, now).unwrap()).collect();
    /// let turns: Vec<_> = places.iter().map(|place| turnstiles.turn(stranger, *place, now)).collect();
    /// assert_eq!(turns[0], Turn::Ask);
    /// assert_eq!(turns[LOGIN_CALLS_MAX], Turn::Wait);
    /// turnstiles.leave(stranger, places[0]);
    /// assert_eq!(turnstiles.turn(stranger, places[LOGIN_CALLS_MAX], now), Turn::Ask);
    /// // Nobody of another kind waits for them.
    /// let other = turnstiles.enter(Bootstrap(None), now).unwrap();
    /// assert_eq!(turnstiles.turn(Bootstrap(None), other, now), Turn::Ask);
    /// ```
    #[must_use]
    pub fn enter(&mut self, attempt: Attempt<'_>, now: EpochMs) -> Option<Place> {
        self.of(attempt).enter(attempt.line(), now)
    }

    /// What it is told.
    pub fn turn(&mut self, attempt: Attempt<'_>, place: Place, now: EpochMs) -> Turn {
        self.of(attempt).turn(place, now)
    }

    /// It was answered, or nobody waits for it any more.
    pub fn leave(&mut self, attempt: Attempt<'_>, place: Place) {
        self.of(attempt).leave(place);
    }

    /// The region has no turn for one more of its kind: until one is over there is nothing to ask.
    pub fn full(&mut self, attempt: Attempt<'_>, now: EpochMs) {
        self.of(attempt).full_until = now.plus(1_000 / LOGINS_PER_SEC_MAX);
    }

    fn of(&mut self, attempt: Attempt<'_>) -> &mut Turnstile {
        self.0.entry(attempt.queue()).or_default()
    }
}

impl Turnstile {
    fn enter(&mut self, line: String, now: EpochMs) -> Option<Place> {
        self.expire(now);
        let of_line = self.waiting.iter().filter(|one| one.line == line);
        let last = of_line.map(|one| one.rank).max();
        let rank = last.unwrap_or(self.rank) + 1;
        if self.waiting.len() >= LOGIN_WAITERS_MAX {
            let longest = (0..self.waiting.len()).max_by_key(|at| self.waiting[*at].order())?;
            if self.waiting[longest].rank <= rank {
                return None;
            }
            self.waiting.remove(longest);
        }
        let place = Place(self.places);
        self.places += 1;
        self.waiting.push(Waiter {
            rank,
            place,
            line,
            came_at: now,
            seen_at: now,
        });
        Some(place)
    }

    fn turn(&mut self, place: Place, now: EpochMs) -> Turn {
        self.expire(now);
        if self.asked.iter().any(|asked| asked.0 == place) {
            return Turn::Ask;
        }
        let Some(at) = self.waiting.iter().position(|one| one.place == place) else {
            return Turn::Refused;
        };
        let order = self.waiting[at].order();
        let before = self.waiting.iter().filter(|one| one.order() < order);
        if now < self.full_until || before.count() + self.asked.len() >= LOGIN_CALLS_MAX {
            self.waiting[at].seen_at = now;
            return Turn::Wait;
        }
        self.waiting.remove(at);
        self.rank = self.rank.max(order.0);
        self.asked.push((place, now));
        Turn::Ask
    }

    fn leave(&mut self, place: Place) {
        self.waiting.retain(|one| one.place != place);
        self.asked.retain(|asked| asked.0 != place);
    }

    /// Drops whose request has ended without a word, and who waits for too long.
    fn expire(&mut self, now: EpochMs) {
        self.asked
            .retain(|asked| now.since(asked.1) < LOGIN_ASKED_MS_MAX);
        self.waiting.retain(|one| {
            now.since(one.seen_at) < LOGIN_SEEN_MS_MAX && now.since(one.came_at) < LOGIN_WAIT_MS_MAX
        });
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::role::Role;

    use super::Attempt::{Bootstrap, Stranger, Token};
    use super::*;

    const NOW: EpochMs = EpochMs(1_700_000_000_000);

    fn enter(turnstiles: &mut Turnstiles, address: &str) -> Option<Place> {
        turnstiles.enter(Stranger(Some(address)), NOW)
    }

    fn asked(turnstiles: &mut Turnstiles, places: &[Place], now: EpochMs) -> Vec<Place> {
        let asked = |place: &&Place| turnstiles.turn(Stranger(None), **place, now) == Turn::Ask;
        places.iter().filter(asked).copied().collect()
    }

    #[test]
    fn however_many_come_a_few_are_asked_about_and_the_others_are_bounded() {
        let mut turnstiles = Turnstiles::default();
        let mut places = Vec::new();
        for number in 0..100_000_u32 {
            let address = std::net::Ipv4Addr::from(number).to_string();
            places.extend(enter(&mut turnstiles, &address));
            let last = places.last().copied();
            last.map(|place| turnstiles.turn(Stranger(None), place, NOW));
        }
        assert_eq!(places.len(), LOGIN_CALLS_MAX + LOGIN_WAITERS_MAX);
        assert_eq!(asked(&mut turnstiles, &places, NOW).len(), LOGIN_CALLS_MAX);
        // Nobody of another kind notices.
        for other in [
            Token("k1", Role::Admin),
            Token("k2", Role::Viewer),
            Bootstrap(None),
        ] {
            let place = turnstiles.enter(other, NOW).unwrap();
            assert_eq!(turnstiles.turn(other, place, NOW), Turn::Ask, "{other:?}");
        }
    }

    #[test]
    fn the_first_of_a_line_goes_before_the_second_of_another_and_takes_its_room() {
        let mut turnstiles = Turnstiles::default();
        let mut loud: Vec<Place> = Vec::new();
        for _ in 0..2 * (LOGIN_CALLS_MAX + LOGIN_WAITERS_MAX) {
            let place = enter(&mut turnstiles, "203.0.113.9");
            place.map(|place| turnstiles.turn(Stranger(None), place, NOW));
            loud.extend(place);
        }
        assert_eq!(loud.len(), LOGIN_CALLS_MAX + LOGIN_WAITERS_MAX);
        let calm = enter(&mut turnstiles, "203.0.113.10").expect("room is made");
        let last = *loud.last().unwrap();
        assert_eq!(turnstiles.turn(Stranger(None), last, NOW), Turn::Refused);
        turnstiles.leave(Stranger(None), loud[0]);
        let next = loud[LOGIN_CALLS_MAX];
        let after = loud[LOGIN_CALLS_MAX + 1];
        turnstiles.leave(Stranger(None), loud[1]);
        // Of both lines one.
        assert_eq!(
            asked(&mut turnstiles, &[after, calm, next], NOW),
            [calm, next]
        );
    }

    #[test]
    fn who_has_left_keeps_nobody_waiting() {
        let mut turnstiles = Turnstiles::default();
        let places: Vec<Place> = (0..2 * LOGIN_CALLS_MAX)
            .filter_map(|number| enter(&mut turnstiles, &format!("203.0.113.{number}")))
            .collect();
        let (first, second) = places.split_at(LOGIN_CALLS_MAX);
        assert_eq!(asked(&mut turnstiles, first, NOW), first);
        // None of these is heard of again.
        let late = NOW.plus(LOGIN_SEEN_MS_MAX);
        let new = turnstiles.enter(Stranger(None), late).unwrap();
        assert_eq!(
            turnstiles.turn(Stranger(None), second[0], late),
            Turn::Refused
        );
        assert_eq!(turnstiles.turn(Stranger(None), new, late), Turn::Wait);
        let mut now = late;
        while now < NOW.plus(LOGIN_ASKED_MS_MAX) {
            now = now.plus(LOGIN_SEEN_MS_MAX / 2);
            let turn = turnstiles.turn(Stranger(None), new, now);
            let refused = now.since(late) >= LOGIN_WAIT_MS_MAX;
            let expected = if refused { Turn::Refused } else { Turn::Wait };
            assert_eq!(turn, expected, "nobody waits for ever: {now:?}");
        }
        let new = turnstiles.enter(Stranger(None), now).unwrap();
        assert_eq!(turnstiles.turn(Stranger(None), new, now), Turn::Ask);
    }

    #[test]
    fn a_region_that_is_full_is_asked_again_when_a_turn_is_over() {
        let mut turnstiles = Turnstiles::default();
        let place = enter(&mut turnstiles, "203.0.113.9").unwrap();
        turnstiles.full(Stranger(None), NOW);
        assert_eq!(turnstiles.turn(Stranger(None), place, NOW), Turn::Wait);
        let later = NOW.plus(1_000 / LOGINS_PER_SEC_MAX);
        assert_eq!(turnstiles.turn(Stranger(None), place, later), Turn::Ask);
    }
}
