//! What an isolate should hold, by what it was told and what it did, kept apart from its holder.

use weir_shared::ordered::OrderedMap;
use weir_shared::units::WindowLabel;
use weir_shared::wire::exchange::ReplyBody;

use super::World;
use super::broken::Broken;
use super::truth::Violation;

/// The books of one isolate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Books {
    pub(crate) label: u64,
    pub(crate) held: u64,
    pub(crate) used: u64,
    /// Units of the window that were lent before it opened.
    early: u64,
    /// Units of windows to come.
    ahead: OrderedMap<u64, u64>,
    /// Of these, what one that retires is about to give back.
    recalled: OrderedMap<u64, u64>,
}

impl Books {
    /// Opens a later window with what was lent ahead of it; answers what is lost, by window.
    fn rolled(&mut self, label: u64) -> Vec<(u64, u64)> {
        let mut lost = vec![(self.label, self.held.saturating_sub(self.used))];
        let held = self.ahead.remove(&label).unwrap_or(0);
        let later = self.ahead.split_off(&label);
        lost.extend(std::mem::replace(&mut self.ahead, later));
        self.label = label;
        self.held = held;
        self.used = 0;
        self.early = held;
        lost
    }

    /// Of so many units of a window that go back, how many were recalled before.
    pub(crate) fn returns_recalled(&mut self, label: u64, units: u64) -> u64 {
        let Some(recalled) = self.recalled.get_mut(&label) else {
            return 0;
        };
        let returned = units.min(*recalled);
        *recalled -= returned;
        returned
    }

    /// All that it holds, by window.
    pub(crate) fn all(&self) -> Vec<(u64, u64)> {
        let mut all = vec![(self.label, self.held.saturating_sub(self.used))];
        all.extend(self.ahead.iter().map(|(label, units)| (*label, *units)));
        all
    }
}

impl World {
    /// Lets the holder open the next window when it is time, and follows in the books.
    pub(crate) fn isolate_advances(&mut self, life: usize) {
        let now = self.isolate_now(life);
        self.isolates[life].node.holder_mut().advance(now);
        self.follow(life);
        self.check_books(life);
    }

    /// Follows what the holder did by itself: it opened a window, or dropped one to come that is over.
    pub(crate) fn follow(&mut self, life: usize) {
        let isolate = &mut self.isolates[life];
        let label = isolate
            .node
            .holder()
            .lease()
            .map_or(0, |lease| lease.label.0);
        let mut lost = Vec::new();
        if label > isolate.books.label {
            lost = isolate.books.rolled(label);
            if self.setup.broken == Some(Broken::AheadCountedTwice) {
                isolate.smuggled += isolate.books.held;
            }
        }
        let kept: OrderedMap<u64, u64> = isolate
            .node
            .holder()
            .ahead()
            .iter()
            .map(|ahead| (ahead.label.0, ahead.units))
            .collect();
        let Books {
            ahead, recalled, ..
        } = &mut isolate.books;
        ahead.retain(|label, units| {
            let Some(kept) = kept.get(label) else {
                lost.push((*label, *units));
                return false;
            };
            let goes_back = units.saturating_sub(*kept);
            if isolate.retires && goes_back > 0 {
                lost.push((*label, goes_back));
                *recalled.entry(*label).or_insert(0) += goes_back;
                *units = *kept;
            }
            true
        });
        self.strand(lost);
    }

    pub(crate) fn strand(&mut self, lost: Vec<(u64, u64)>) {
        for (label, units) in lost {
            self.truth.window(WindowLabel(label)).stranded += units;
        }
    }

    /// Enters a credited reply.
    pub(crate) fn enter(&mut self, life: usize, reply: &ReplyBody) {
        let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
        let label = reply.window.label.0;
        let isolate = &mut self.isolates[life];
        let books = &mut isolate.books;
        let lost = if label > books.label {
            books.rolled(label)
        } else {
            Vec::new()
        };
        if label == books.label {
            books.held += granted;
        }
        let mut lent = vec![(label, granted)];
        for body in &reply.ahead {
            let known = if body.label.0 == books.label {
                let known = books.early;
                books.held += body.units.saturating_sub(known);
                books.early = books.early.max(body.units);
                known
            } else if body.label.0 > books.label {
                let known = books.ahead.entry(body.label.0).or_insert(0);
                std::mem::replace(known, body.units.max(*known))
            } else {
                body.units
            };
            lent.push((body.label.0, body.units.saturating_sub(known)));
        }
        let forfeited = label < books.label;
        for (label, units) in lent {
            self.truth.window(WindowLabel(label)).granted += units;
        }
        if forfeited {
            self.truth.window(reply.window.label).stranded += granted;
        }
        self.strand(lost);
        self.follow(life);
    }

    pub(crate) fn check_books(&mut self, life: usize) {
        let isolate = &self.isolates[life];
        let books = &isolate.books;
        let lease = isolate.node.holder().lease();
        let (held, used) = lease.map_or((0, 0), |lease| (lease.held, lease.used));
        let ahead = isolate.node.holder().ahead().iter();
        let right = (held, used) == (books.held, books.used)
            && ahead
                .map(|ahead| (ahead.label.0, ahead.units))
                .eq(books.ahead.clone());
        self.truth
            .require(books.used <= books.held, || Violation::Overspent {
                held,
                used,
            });
        self.truth.require(right, || Violation::Unaccounted {
            held,
            used,
            expected_held: books.held,
            expected_used: books.used,
        });
    }

    /// No tenant that an isolate is told of may use more than the isolate holds.
    pub(crate) fn check_tenant_balances(&mut self, life: usize, reply: &ReplyBody) {
        let now = self.isolate_now(life);
        let holder = self.isolates[life].node.holder();
        let Some(lease) = holder.open_lease(now) else {
            return;
        };
        let grants = reply.grants.iter();
        let tenants = grants.map(|grant| grant.tenant.as_deref());
        let most = tenants
            .map(|tenant| holder.balance(tenant, now))
            .max()
            .unwrap_or(0);
        let balance = lease.balance();
        self.truth
            .require(most <= balance, || Violation::TenantBalanceOverLease {
                most,
                balance,
            });
    }
}
