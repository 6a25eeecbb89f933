//! Who waits for a budget or a resource in place of a denial: in which order, until when, and who is asked again.
//!
//! Each request sleeps on a timer of its own, as the platform asks, and looks here when it wakes. What makes a denial
//! untrue is the same for all that wait (a window opens, units are paid back), so they wake together, and the order in which
//! they are asked is this: the tenant that has used least for its weight comes first, each request of its own that stands
//! before another counts as used, and of equals whoever came first. Nobody is asked before its denial's time is over: what is
//! asked costs the region no more than one message for all of them.

use std::cmp::Ordering;

use weir_core::limits::{
    SLOT_LOOK_BEHIND_MS, SLOT_LOOK_MS, SLOT_LOOK_MS_MAX, WAITER_ASKED_MS_MAX, WAITER_LATE_MS,
    WAITERS_PER_MS, WAITING_LEFT_MS, WAITING_MAX,
};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};
use weir_fairness::weight::Weight;

/// A request that would be denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arriving {
    /// Whose it is.
    pub tenant: String,
    /// Its tenant's weight.
    pub weight: Weight,
    /// Units that it costs.
    pub cost: u64,
    /// Until when it waits.
    pub until: EpochMs,
    /// When it may be asked: when the denial says that it could pass.
    pub due: EpochMs,
}

/// What a request is told that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It is its turn: it is to be decided again.
    Ask,
    /// It is not: it looks again in so many milliseconds, at least 1.
    SleepMs(u64),
    /// Its time is over: the denial that it had is its answer.
    Over,
}

/// A place in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    line: String,
    number: u64,
}

impl Ticket {
    /// What tells it from others: who came later has a greater one.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

#[derive(Debug, Clone)]
struct Waiter {
    /// In the order of arrival.
    number: u64,
    who: Arriving,
    /// Since when it is being decided.
    asked: Option<EpochMs>,
    /// When it said that it would look.
    looks_at: EpochMs,
    /// Whether it did not: then nobody waits for it, until it comes.
    is_late: bool,
}

/// Those that wait for the same, in the order in which they came.
#[derive(Debug, Clone, Default)]
struct Line {
    waiters: Vec<Waiter>,
    /// Units that tenants have used of the window, as far as was heard here.
    used: OrderedMap<String, u64>,
    window: WindowLabel,
    /// As of which change of the slots it waits for that is.
    stock: Option<u64>,
    /// Until when what comes before each waiter is as it was when it was last worked out, and what that is.
    levels: Option<(EpochMs, Vec<Level>)>,
}

/// All that wait in an isolate for one region.
///
/// ```
/// use weir_fairness::weight::Weight;
/// use weir_gateway::waiters::{Arriving, Look, Waiters};
/// use weir_core::units::{EpochMs, WindowLabel};
/// let mut waiters = Waiters::default();
/// let opens_at = EpochMs(2_000);
/// let mut enter = |tenant: &str| {
///     let tenant = tenant.to_owned();
///     let who = Arriving { tenant, weight: Weight::WHOLE, cost: 1, until: EpochMs(5_000), due: opens_at };
///     waiters.enter("tokens", who, EpochMs(1_000)).unwrap()
/// };
/// let (first, second, other) = (enter("a"), enter("a"), enter("b"));
/// assert_eq!(waiters.look(&first, EpochMs(1_000)), Look::SleepMs(1_000));
/// // The window opens. The second of `a` comes after the first of `b`: it has one of its own before it.
/// assert_eq!(waiters.look(&second, opens_at), Look::SleepMs(1));
/// assert_eq!(waiters.look(&first, opens_at), Look::Ask);
/// assert_eq!(waiters.look(&second, opens_at), Look::SleepMs(1));
/// assert_eq!(waiters.look(&other, opens_at), Look::Ask);
/// waiters.admitted(&first, Some(WindowLabel(7)));
/// assert_eq!(waiters.look(&second, opens_at), Look::Ask);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Waiters {
    lines: OrderedMap<String, Line>,
    arrived: u64,
}

impl Waiters {
    /// A request waits, unless too many do, or its time is over before it may be asked.
    pub fn enter(&mut self, line: &str, who: Arriving, now: EpochMs) -> Option<Ticket> {
        if who.due >= who.until {
            return None;
        }
        self.forget(now);
        if self.len() >= WAITING_MAX {
            return None;
        }
        self.arrived += 1;
        let number = self.arrived;
        let entry = self.lines.entry(line.to_owned()).or_default();
        entry.levels = None;
        entry.waiters.push(Waiter {
            number,
            looks_at: who.due,
            is_late: false,
            asked: None,
            who,
        });
        let line = line.to_owned();
        Some(Ticket { line, number })
    }

    /// When a request that comes now may be asked, where it has to stand in line: not before those of its tenant that wait,
    /// and at once behind others that are being asked. `None` where nobody stands before it.
    #[must_use]
    pub fn queued_until(&self, line: &str, tenant: &str, now: EpochMs) -> Option<EpochMs> {
        let line = self.lines.get(line)?;
        let alive = |waiter: &&Waiter| waiter.is_there(now);
        let mut own = line.waiters.iter().filter(alive);
        let own = own.rfind(|one| one.who.tenant == tenant);
        let due = own.map(|own| own.who.due.max(now));
        let mut others = line.waiters.iter().filter(alive);
        due.or_else(|| others.any(|one| one.who.due <= now).then_some(now))
    }

    /// Whether it is a request's turn.
    pub fn look(&mut self, ticket: &Ticket, now: EpochMs) -> Look {
        self.look_in(ticket, None, now)
    }

    /// Whether it is the turn of a request that waits for one of the slots of a resource, of which `free` are free: what
    /// each tenant has used is how many it has. They are looked at once for each number of `changes`.
    pub fn look_for_slot(
        &mut self,
        ticket: &Ticket,
        (free, changes): (u64, u64),
        running: impl Fn(&str) -> u64,
        now: EpochMs,
    ) -> Look {
        let Some(line) = self.lines.get_mut(&ticket.line) else {
            return Look::Over;
        };
        line.take_stock(changes, running);
        let asked = line.waiters.iter().filter(|one| one.is_asked(now));
        let asked = asked.count() as u64;
        self.look_in(ticket, Some(free.saturating_sub(asked)), now)
    }

    fn look_in(&mut self, ticket: &Ticket, room: Option<u64>, now: EpochMs) -> Look {
        let Some((line, at)) = self.find(ticket) else {
            return Look::Over;
        };
        let (due, until) = (line.waiters[at].who.due, line.waiters[at].who.until);
        let waiter = &mut line.waiters[at];
        if now >= until {
            return Look::Over;
        }
        if now < due {
            waiter.looks_at = due;
            return Look::SleepMs(due.since(now));
        }
        // It is here, however late it comes.
        waiter.looks_at = now;
        if std::mem::take(&mut waiter.is_late) {
            line.levels = None;
        }
        let ahead = line.ahead_of(at, now);
        if ahead < room.unwrap_or(1) {
            line.waiters[at].asked = Some(now);
            return Look::Ask;
        }
        let sleep_ms = match room {
            None => 1 + ahead / WAITERS_PER_MS,
            // Whoever is first is there when a slot is free; those behind it come after it.
            Some(room) => {
                (SLOT_LOOK_MS + SLOT_LOOK_BEHIND_MS * (ahead - room)).min(SLOT_LOOK_MS_MAX)
            }
        };
        let sleep_ms = sleep_ms.min(until.since(now)).max(1);
        line.waiters[at].looks_at = now.plus(sleep_ms);
        Look::SleepMs(sleep_ms)
    }

    /// What a decision told of a tenant: so much is used of the window. Of a newer one nobody is known to have used any.
    pub fn told(&mut self, line: &str, tenant: &str, used: u64, window: WindowLabel) {
        if let Some(line) = self.lines.get_mut(line) {
            line.open(window);
            let newer = window == line.window && line.used.get(tenant) != Some(&used);
            if newer {
                line.used.insert(tenant.to_owned(), used);
                line.levels = None;
            }
        }
    }

    /// It was denied again, and may be asked once more at `due`. False where its time is over by then: it has left.
    pub fn denied(&mut self, ticket: &Ticket, due: EpochMs) -> bool {
        let Some((line, at)) = self.find(ticket) else {
            return false;
        };
        let waiter = &mut line.waiters[at];
        if due >= waiter.who.until {
            self.leave(ticket);
            return false;
        }
        (waiter.asked, waiter.who.due, waiter.looks_at) = (None, due, due);
        line.levels = None;
        true
    }

    /// It was admitted, in that window: what it cost is used, and it waits no more.
    pub fn admitted(&mut self, ticket: &Ticket, window: Option<WindowLabel>) {
        let Some((line, at)) = self.find(ticket) else {
            return;
        };
        line.open(window.unwrap_or(line.window));
        let levels = line.levels.take();
        let who = line.waiters.remove(at).who;
        // What it used instead of standing there is the same to those behind it, but not to those before.
        let mut before = line.waiters[..at].iter();
        let is_first = before.all(|one| one.who.tenant != who.tenant);
        line.levels = levels.filter(|_| is_first).map(|(until, mut levels)| {
            levels.remove(at);
            (until, levels)
        });
        let used = line.used.entry(who.tenant).or_default();
        *used = used.saturating_add(who.cost);
        self.tidy(ticket);
    }

    /// It waits no more.
    pub fn leave(&mut self, ticket: &Ticket) {
        if let Some((line, at)) = self.find(ticket) {
            line.waiters.remove(at);
            line.levels = None;
            self.tidy(ticket);
        }
    }

    /// Forgets a line without waiters, and what is too much of one.
    fn tidy(&mut self, ticket: &Ticket) {
        if let Some(line) = self.lines.get_mut(&ticket.line) {
            line.bound();
            if line.waiters.is_empty() {
                self.lines.remove(&ticket.line);
            }
        }
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.values().map(|line| line.waiters.len()).sum()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Forgets requests that the platform ended without a word.
    fn forget(&mut self, now: EpochMs) {
        let stays = |waiter: &Waiter| now <= waiter.who.until.plus(WAITING_LEFT_MS);
        for line in self.lines.values_mut() {
            let before = line.waiters.len();
            line.waiters.retain(stays);
            if line.waiters.len() != before {
                line.levels = None;
            }
        }
        self.lines.retain(|_, line| !line.waiters.is_empty());
    }

    fn find(&mut self, ticket: &Ticket) -> Option<(&mut Line, usize)> {
        let line = self.lines.get_mut(&ticket.line)?;
        let number = |waiter: &Waiter| waiter.number;
        let at = line.waiters.binary_search_by_key(&ticket.number, number);
        at.ok().map(|at| (line, at))
    }
}

impl Waiter {
    /// Whether it is being decided. One of which nothing came was ended by the platform.
    fn is_asked(&self, now: EpochMs) -> bool {
        self.asked
            .is_some_and(|since| now.since(since) <= WAITER_ASKED_MS_MAX)
    }

    /// Whether it is there: its time is not over and it looked when it said that it would, or it is being decided.
    fn is_there(&self, now: EpochMs) -> bool {
        let in_time = now < self.who.until && now <= self.looks_at.plus(WAITER_LATE_MS);
        self.is_asked(now) || in_time
    }
}

/// What comes before a request: units for a weight.
#[derive(Debug, Clone, Copy)]
struct Level {
    units: u64,
    weight: Weight,
}

impl Level {
    fn cmp(self, other: Self) -> Ordering {
        let product =
            |level: Self, of: Self| u128::from(level.units) * u128::from(of.weight.micros());
        product(self, other).cmp(&product(other, self))
    }
}

impl Line {
    /// How many are to be asked before the waiter at `at`.
    fn ahead_of(&mut self, at: usize, now: EpochMs) -> u64 {
        for waiter in &mut self.waiters {
            if !waiter.is_late && !waiter.is_there(now) {
                waiter.is_late = true;
                self.levels = None;
            }
        }
        let known = self.levels.take().filter(|(until, _)| now < *until);
        let (until, levels) = known.unwrap_or_else(|| self.levels(now));
        let own = levels[at];
        let others = self.waiters.iter().zip(&levels).enumerate();
        let before = others.filter(|(other, (waiter, level))| {
            let due = !waiter.is_asked(now) && waiter.who.due <= now && !waiter.is_late;
            due && match level.cmp(own) {
                Ordering::Less => true,
                Ordering::Equal => *other < at,
                Ordering::Greater => false,
            }
        });
        let ahead = before.count() as u64;
        self.levels = Some((until, levels));
        ahead
    }

    /// What each tenant has used, with what those of it cost that stand before, may be asked and are there; and until when
    /// no others may be asked.
    fn levels(&self, now: EpochMs) -> (EpochMs, Vec<Level>) {
        let dues = self.waiters.iter().map(|waiter| waiter.who.due);
        let until = dues.filter(|due| *due > now).min();
        let mut units = OrderedMap::new();
        let levels = self.waiters.iter().map(|Waiter { who, is_late, .. }| {
            let used = || self.used.get(&who.tenant).copied().unwrap_or(0);
            let units = units.entry(who.tenant.as_str()).or_insert_with(used);
            let level = Level {
                units: *units,
                weight: who.weight,
            };
            if !is_late && who.due <= now {
                *units = units.saturating_add(who.cost);
            }
            level
        });
        (until.unwrap_or(EpochMs(u64::MAX)), levels.collect())
    }

    /// Hears how many slots each tenant has that waits, where that may have changed.
    fn take_stock(&mut self, changes: u64, running: impl Fn(&str) -> u64) {
        if self.stock == Some(changes) && self.levels.is_some() {
            return;
        }
        self.stock = Some(changes);
        self.levels = None;
        self.used.clear();
        for Waiter { who, .. } in &self.waiters {
            if !self.used.contains_key(&who.tenant) {
                self.used.insert(who.tenant.clone(), running(&who.tenant));
            }
        }
    }

    /// A window was heard of: in a newer one nobody has used anything yet.
    fn open(&mut self, window: WindowLabel) {
        if window > self.window {
            self.window = window;
            self.used.clear();
            self.levels = None;
        }
    }

    /// Of tenants that do not wait no more is kept than there may be waiters.
    fn bound(&mut self) {
        if self.used.len() > WAITING_MAX {
            self.levels = None;
            let waiters = &self.waiters;
            let waits = |tenant: &str| waiters.iter().any(|one| one.who.tenant == tenant);
            self.used.retain(|tenant, _| waits(tenant));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: WindowLabel = WindowLabel(1);

    fn enter(waiters: &mut Waiters, tenant: &str) -> Ticket {
        let who = Arriving {
            tenant: tenant.to_owned(),
            weight: Weight::WHOLE,
            cost: 1,
            until: EpochMs(5_000),
            due: EpochMs(1_000),
        };
        waiters.enter("tokens", who, EpochMs(0)).unwrap()
    }

    #[test]
    fn nobody_waits_before_the_first_has_come_and_when_the_last_has_left() {
        let mut waiters = Waiters::default();
        assert!(waiters.is_empty());
        let first = enter(&mut waiters, "a");
        let second = enter(&mut waiters, "b");
        waiters.leave(&first);
        assert!(!waiters.is_empty());
        waiters.admitted(&second, None);
        assert!(waiters.is_empty());
    }

    #[test]
    fn what_tenants_used_that_do_not_wait_is_forgotten_when_it_is_known_of_too_many() {
        for (others, kept) in [(WAITING_MAX - 1, WAITING_MAX), (WAITING_MAX, 1)] {
            let mut waiters = Waiters::default();
            let _waits = enter(&mut waiters, "waits");
            let leaves = enter(&mut waiters, "leaves");
            waiters.told("tokens", "waits", 7, WINDOW);
            for other in 0..others {
                waiters.told("tokens", &other.to_string(), 5, WINDOW);
            }
            waiters.leave(&leaves);
            let used = &waiters.lines["tokens"].used;
            assert_eq!((used.len(), used["waits"]), (kept, 7));
        }
    }
}
