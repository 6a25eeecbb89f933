//! What operators edit, how each region hears of it, and whether it kept what edits promise.

use std::rc::Rc;

use weir_shared::fairness::ask::{ClaimVersion, Claimant};
use weir_shared::federation::schedule::Schedule;
use weir_shared::federation::stored::StoredPool;
use weir_shared::limits::{DECIDE_WAIT_MS_MAX, JSON_INTEGER_MAX, STANDING_WINDOWS};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::{Cycle, LeaseBody, RuleBody, Terms};

use super::network::Event;
use super::setup::{ROLLING, WINDOW_MS_EDITED_MAX, period};
use super::tenants::{sharing, weight};
use super::truth::{Truth, Violation};
use super::{START_MS, World};

/// Within so many milliseconds after the last fault all have heard of the last edit, and slices of windows to come are
/// back: one of the longest windows, a look at what there is to tell at each depth, the way, and the wait of a request, which
/// is asked for by the terms that it came with.
const RECALLED_MS: u64 = WINDOW_MS_EDITED_MAX + 1_000 + DECIDE_WAIT_MS_MAX;

/// What one revision of the policy says beside the terms.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// Whether each region has the budget: not where it, or the region, was taken out of the policy.
    pub(crate) served: Vec<bool>,
    /// The tenants, with their claims.
    pub(crate) claimants: Vec<Rc<Claimant>>,
}

impl World {
    /// Another policy, which every region hears of in its own time.
    pub(crate) fn policy_edited(&mut self) {
        let mut terms = self.policy[self.policy.len() - 1].clone();
        let mut said = self.said[self.said.len() - 1].clone();
        terms.revision.0 += 1;
        let unit = self.setup.demand.unit;
        let most = (2 * self.setup.limit).min(JSON_INTEGER_MAX);
        terms.limit = unit * self.random.between(1, most / unit);
        let kinds = if self.setup.faults.edits_often {
            700
        } else {
            300
        };
        if self.random.chance(kinds) {
            self.windows_edited(&mut terms);
        }
        // Slices are held of budgets alone.
        if !self.setup.keyed && self.random.chance(250) {
            terms.standing = STANDING_WINDOWS - terms.standing;
        }
        self.sharing_edited(&mut terms);
        self.claims_edited(&mut said, terms.revision);
        if said.served.contains(&false) {
            let returns = self.random.chance(700);
            said.served.iter_mut().for_each(|served| *served |= returns);
        } else if self.random.chance(150) {
            let all = self.random.chance(500);
            let one = self.random.below(said.served.len() as u64) as usize;
            for (region, served) in said.served.iter_mut().enumerate() {
                *served = !all && region != one;
            }
        }
        self.policy.push(terms);
        self.said.push(said);
        for region in 0..self.regions.len() {
            let heard_ms = self.now_ms + self.random.below(2 * self.setup.window_ms);
            self.queue.push(heard_ms, Event::PolicyHeard { region });
        }
    }

    /// Windows of another length, and another kind.
    fn windows_edited(&mut self, terms: &mut Terms) {
        terms.window_ms = self.random.one_of(&[1_000, 1_500, WINDOW_MS_EDITED_MAX]);
        terms.cycle = match self.random.below(3) {
            0 => None,
            1 => Some(period(&mut self.random, terms.window_ms)),
            _ => {
                let (window_ms, buckets) = self.random.one_of(&ROLLING);
                terms.window_ms = window_ms;
                Some(Cycle::Sliding { buckets })
            }
        };
    }

    /// Another way of sharing, another reserve, other bounds of leases.
    fn sharing_edited(&mut self, terms: &mut Terms) {
        let shared = !self.setup.tenants.is_empty();
        let rules = [
            RuleBody::Fair,
            RuleBody::Weighted,
            RuleBody::Pinned,
            RuleBody::Paced,
            RuleBody::Pooled,
            RuleBody::None,
        ];
        match self.random.below(4) {
            0 if shared => terms.sharing = None,
            1 if shared => terms.sharing = Some(sharing(self.random.one_of(&rules), 0)),
            2 => {
                let min = self.random.between(1, terms.limit);
                let max = self.random.between(min, terms.limit);
                terms.lease = self.random.chance(500).then_some(LeaseBody { min, max });
            }
            _ => {}
        }
    }

    /// An override of one tenant begins, or another one.
    fn claims_edited(&mut self, said: &mut Said, revision: Revision) {
        if said.claimants.is_empty() || !self.random.chance(400) {
            return;
        }
        let tenant = self.random.below(said.claimants.len() as u64) as usize;
        let mut claimant = Claimant::clone(&said.claimants[tenant]);
        claimant.claim.weight = weight(self.random.one_of(&[250_000, 1_000_000, 8_000_000]));
        let limit = self.setup.limit;
        let mut bound = || {
            let is_bound = self.random.chance(300);
            is_bound.then(|| self.random.below(limit + 1))
        };
        (claimant.claim.borrow_max, claimant.claim.lend_max) = (bound(), bound());
        said.claimants[tenant] = Rc::new(claimant);
        // Whatever a policy says, it says by its revision.
        for claimant in &mut said.claimants {
            let mut restated = Claimant::clone(claimant);
            restated.claim.claim_version = ClaimVersion {
                revision,
                since: EpochMs(0),
            };
            *claimant = Rc::new(restated);
        }
    }

    /// A region hears of the policy in force. Where it has the budget no more, what its isolates hold of it is gone, and
    /// one that comes back is another life.
    pub(crate) fn policy_heard(&mut self, region: usize) {
        self.regions[region].revision = self.policy.len() - 1;
        if self.serves(region) {
            return;
        }
        for place in 0..self.places.len() {
            if self.isolates[self.places[place]].region == region {
                self.isolate_dies(place);
            }
        }
    }

    /// Whether a region has the budget, as far as it has heard.
    pub(crate) fn serves(&self, region: usize) -> bool {
        self.said[self.regions[region].revision].served[self.region_of(region)]
    }

    /// The last word of all edits: the budget is there, and all have heard of it.
    pub(crate) fn policy_settles(&mut self) {
        let mut said = self.said[self.said.len() - 1].clone();
        if said.served.contains(&false) {
            let mut terms = self.policy[self.policy.len() - 1].clone();
            terms.revision.0 += 1;
            said.served.fill(true);
            self.policy.push(terms);
            self.said.push(said);
        }
        for region in 0..self.regions.len() {
            self.policy_heard(region);
        }
    }

    /// What edits promise, over a whole run.
    pub(crate) fn check_edits(&mut self) {
        if !self.ends_kept() {
            return;
        }
        if !self.setup.faults.damage {
            self.truth.check_covered();
        }
        if self.setup.windows_healed > 0 {
            let healed_ms = START_MS + self.setup.windows * self.setup.window_ms;
            let limit = self.policy[self.policy.len() - 1].limit;
            self.truth.check_recalled(healed_ms + RECALLED_MS, limit);
        }
    }
}

/// What the coordinator's rows said of a window, by the coordinator's clock.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Since when what was admitted counts in it.
    reaches_to: u64,
    ends_at: u64,
    /// Until when it was to count, as it opened.
    counts_until: u64,
    /// When windows became of this kind.
    edited_at: u64,
    /// Units of it that were lent before it opened, maybe when windows were of another kind.
    promised: u64,
}

/// How windows followed each other.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    spans: OrderedMap<u64, Span>,
    /// What was lent of each window before it opened.
    promised: OrderedMap<u64, u64>,
    kind: Option<(u64, Option<Cycle>)>,
    edited_at: u64,
}

impl Kinds {
    /// The coordinator's row became durable at `now` of its clock.
    pub(crate) fn stored(&mut self, row: &StoredPool, now: EpochMs) {
        let kind = Some((row.terms.window_ms, row.terms.cycle.clone()));
        if self.kind != kind {
            self.kind = kind;
            self.edited_at = now.0;
        }
        let ends_at = row.ends_at.0;
        let (back_ms, ahead_ms) = match Schedule::of(&row.terms) {
            Schedule::Sliding { part_ms, parts } if part_ms == row.window_ms => {
                ((parts as u64 - 1) * part_ms, parts as u64 * part_ms)
            }
            _ => (0, 0),
        };
        let opened = Span {
            reaches_to: ends_at.saturating_sub(row.window_ms + back_ms),
            ends_at,
            counts_until: ends_at + ahead_ms,
            edited_at: self.edited_at,
            promised: self.promised.get(&row.label.0).copied().unwrap_or(0),
        };
        for (label, units) in &row.ahead {
            let promised = self.promised.entry(label.0).or_default();
            *promised = (*promised).max(*units);
        }
        let span = self.spans.entry(row.label.0).or_insert(opened);
        span.ends_at = ends_at;
    }
}

impl Truth {
    /// In each window no more is admitted than the limit leaves of what was admitted before it, as far as that lies in the
    /// window, and counted when windows became of its kind; but for what was lent of it before it opened.
    fn check_covered(&mut self) {
        let spans: Vec<(u64, u64)> = (self.kinds.spans.iter())
            .map(|(label, span)| (*label, span.promised))
            .collect();
        for (label, promised) in spans {
            let before = self.counted_before(label);
            let window = &self.windows[&label];
            let (admitted, limit) = (window.admitted, window.most());
            let most = limit.saturating_sub(before).max(promised);
            self.require(admitted <= most, || Violation::GivenBack {
                label,
                admitted,
                before,
                limit,
            });
        }
    }

    /// What was admitted before a window and counts in it.
    pub(crate) fn counted_before(&self, label: u64) -> u64 {
        let Some(span) = self.kinds.spans.get(&label) else {
            return 0;
        };
        let counts = |(_, earlier): &(&u64, &Span)| {
            earlier.ends_at > span.reaches_to && earlier.counts_until > span.edited_at
        };
        let earlier = self.kinds.spans.range(..label).filter(counts);
        earlier.map(|(label, _)| self.windows[label].admitted).sum()
    }

    /// No window that begins later than `from_ms` admits more than the limit that was in force by then.
    fn check_recalled(&mut self, from_ms: u64, limit: u64) {
        let windows = self.windows.iter();
        let late = windows.filter(|(_, window)| window.limit > 0 && window.begins_at_ms >= from_ms);
        let over = late.filter(|(_, window)| window.admitted > limit);
        let over: Vec<_> = over
            .map(|(label, window)| (*label, window.admitted))
            .collect();
        for (label, admitted) in over {
            self.fail(Violation::NotRecalled {
                label,
                admitted,
                limit,
            });
        }
    }
}
