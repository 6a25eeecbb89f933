//! Who decides what of the units that can safely be lent goes to whom: nobody, a share, or what a parent has already
//! said.

use weir_core::limits::CONTACT_MS_MIN;
use weir_core::units::EpochMs;
use weir_fairness::ask::{Ask, Moment, Party, Room};
use weir_fairness::share::Share;
use weir_wire::exchange::{LeaseBody, Want};

use super::attribution::Attribution;
use super::lease_size::{LeaseDemand, idle_units, lease_units};

/// One want, and the lender's view of it.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Who asks.
    pub party: &'a Party,
    /// What for.
    pub want: &'a Want,
    /// Holders that have some of the tenant's units, of all holders where the pool is not shared.
    pub holders: usize,
    /// Units that can safely be lent.
    pub unlent: u64,
    /// Units of the tenant that holders have.
    pub lent: u64,
    /// Units that holders have and that are no tenant's yet, which it is presumed to have.
    pub presumed: u64,
    /// Units that holders have and that no tenant has used, as far as they have said.
    pub idle: u64,
    /// Which tenants hold what.
    pub attribution: &'a Attribution,
    /// The event's time.
    pub now: EpochMs,
}

/// What a lender may lend to no tenant.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    /// Units that are charged to tenants as what they may use at the holder that asks, and that it does not have.
    pub unbacked: u64,
    /// Units that can safely be lent.
    pub unlent: u64,
    /// Holders, all of them.
    pub holders: usize,
    /// The event's time.
    pub now: EpochMs,
}

impl Idle {
    /// Of `units` that a holder asks for, those that it is lent of a window of `limit`: its part ([`idle_units`]), or what is
    /// charged to tenants there, if that is more.
    #[must_use]
    pub fn lends(&self, units: u64, limit: u64) -> u64 {
        let divided = idle_units(units, self.unlent, self.holders, limit);
        divided.max(units.min(self.unbacked)).min(self.unlent)
    }
}

/// Divides what a lender may lend.
pub trait Divide {
    /// What may be lent for a claim. Lends nothing yet.
    fn room(&mut self, claim: &Claim<'_>) -> Room;

    /// Of `units` that a holder asks for, for whichever tenant, those that it is lent.
    fn idle(&mut self, units: u64, idle: &Idle) -> u64 {
        let _none = (units, idle);
        0
    }

    /// Units were lent to the tenant, and an allowance of so many others was charged.
    fn lent(&mut self, party: &Party, units: u64, charged: u64, now: EpochMs);

    /// Units of the tenant that are used in the whole deployment, as far as is known, when `lent` of them are lent here.
    fn used(&self, party: &Party, lent: u64) -> u64;
}

/// Whoever comes first.
#[derive(Debug, Clone, Copy)]
pub struct FirstCome {
    /// Units of the whole window.
    pub limit: u64,
    /// Bounds of what is lent ahead of demand.
    pub lease: Option<LeaseBody>,
}

impl Divide for FirstCome {
    fn room(&mut self, claim: &Claim<'_>) -> Room {
        let asked = asked(claim.want, self.lease);
        let units = lease_units(asked, claim.unlent, claim.holders);
        let waiting = units.min(asked.waiting);
        Room {
            waiting,
            ahead: units - waiting,
            ceiling: self.limit,
            left: claim.unlent - units,
            ..Room::default()
        }
    }

    fn lent(&mut self, _party: &Party, _units: u64, _charged: u64, _now: EpochMs) {}

    fn used(&self, _party: &Party, _lent: u64) -> u64 {
        0
    }
}

/// By the accounts of a share.
#[derive(Debug)]
pub struct Shared<'a> {
    /// The accounts.
    pub share: &'a mut Share,
    /// The window, but for what can safely be lent.
    pub moment: Moment,
    /// Bounds of what is lent ahead of demand.
    pub lease: Option<LeaseBody>,
}

impl Divide for Shared<'_> {
    fn room(&mut self, claim: &Claim<'_>) -> Room {
        let want = claim.want;
        let Party::Tenant(claimant) = claim.party else {
            // Of a holder that does not know yet that the pool is shared.
            return Room {
                ceiling: self.moment.limit,
                ..Room::default()
            };
        };
        // What lies idle at holders serves tenants where they are: it is as good as unlent to the accounts, though it cannot
        // be lent.
        let pools = self.share.rule().pools_idle();
        let moment = Moment {
            unlent: claim
                .unlent
                .saturating_add(if pools { claim.idle } else { 0 }),
            left_ms: unhurried_ms(self.moment.left_ms, self.moment.window_ms),
            ..self.moment
        };
        let asked = asked(want, self.lease);
        if claim.lent == 0 && want.denied == 0 && asked.waiting == 0 && asked.expected == 0 {
            // Who only looks does not count as there. Of who was there, its holders gave all back: others may have it.
            if self.share.own(&claimant.name).is_some_and(|used| used > 0) {
                self.share.set_used(claimant, 0);
            }
            let room = self.share.peek(claimant, &moment);
            return within(room, &asked, self.below_ceilings(claim));
        }
        let presumed = if pools { 0 } else { self.presumed(claim) };
        self.share
            .set_used(claimant, claim.lent.saturating_add(presumed));
        let ask = Ask {
            waiting: asked.waiting,
            smallest: asked.smallest,
            expected: asked.expected,
            denied: want.denied,
            holders: claim.holders as u64,
        };
        let room = self.share.room(claimant, &ask, &moment);
        let room = within(room, &asked, self.below_ceilings(claim));
        if !pools || claimant.claim.is_bounded() {
            let room = within(room, &asked, claim.unlent);
            return Room {
                allowance: 0,
                contended: false,
                ..room
            };
        }
        // Units that lie idle at the holder serve what is expected there.
        let (ahead, contended) = (room.ahead, room.contended);
        let room = Room { ahead: 0, ..room };
        let left = room.left.saturating_add(ahead);
        let room = within(room, &asked, claim.unlent);
        Room {
            allowance: if contended { ahead } else { left },
            ..room
        }
    }

    fn idle(&mut self, units: u64, idle: &Idle) -> u64 {
        if !self.share.rule().pools_idle() {
            return 0;
        }
        idle.lends(units, self.moment.limit)
    }

    fn lent(&mut self, party: &Party, units: u64, charged: u64, _now: EpochMs) {
        if let Party::Tenant(claimant) = party {
            self.share
                .charge(&claimant.name, units.saturating_add(charged));
        }
    }

    fn used(&self, _party: &Party, lent: u64) -> u64 {
        lent
    }
}

impl Shared<'_> {
    /// Units that are no tenant's yet and count as had by this one: no more than those below a ceiling can have taken.
    fn presumed(&self, claim: &Claim<'_>) -> u64 {
        let ceilings = claim.party.ceilings();
        let most = ceilings
            .map(|(_, ceiling)| claim.attribution.untold(ceiling, self.moment.limit))
            .min();
        most.map_or(claim.presumed, |most| claim.presumed.min(most))
    }

    /// Units up to the least ceiling of a tenant and of those above it, where holders used as much as they may have of
    /// what they have not said whose it is.
    fn below_ceilings(&self, claim: &Claim<'_>) -> u64 {
        let Claim { party, .. } = claim;
        let left = party.ceilings().map(|(name, ceiling)| {
            let used = if party.name() == Some(name) {
                claim.lent
            } else {
                self.share.used(name)
            };
            let untold = claim.attribution.untold(ceiling, self.moment.limit);
            ceiling.saturating_sub(used.saturating_add(untold))
        });
        left.min().unwrap_or(u64::MAX)
    }
}

/// A room of no more than `units`: of what waits as many requests as fit, and what is left ahead of them.
fn within(room: Room, asked: &LeaseDemand, units: u64) -> Room {
    if room
        .waiting
        .saturating_add(room.ahead)
        .saturating_add(room.left)
        <= units
    {
        return room;
    }
    let cost = asked.smallest.clamp(1, asked.waiting.max(1));
    let waiting = if room.waiting <= units {
        room.waiting
    } else if asked.waiting < cost.saturating_mul(2) {
        0
    } else {
        units / cost * cost
    };
    let ahead = if waiting == asked.waiting {
        room.ahead.min(units - waiting)
    } else {
        0
    };
    Room {
        waiting,
        ahead,
        left: room.left.min(units - waiting - ahead),
        ..room
    }
}

/// What remains of a window as a share counts it: all of it for an eighth of the window, at most two contacts, and from
/// then on evenly down to nothing. At its beginning a tenant may be served from units that were lent ahead, and be
/// heard of only at the next contact.
///
/// ```
/// use weir_federation::divide::unhurried_ms;
/// // Of a minute the first second does not count: 59 s left are all of it, half of them half.
/// assert_eq!(unhurried_ms(59_000, 60_000), 60_000);
/// assert_eq!(unhurried_ms(29_500, 60_000), 30_000);
/// assert_eq!(unhurried_ms(0, 60_000), 0);
/// ```
#[must_use]
pub fn unhurried_ms(left_ms: u64, window_ms: u64) -> u64 {
    let grace_ms = (window_ms / 8).min(2 * CONTACT_MS_MIN);
    let counted_ms = window_ms.saturating_sub(grace_ms).max(1);
    let left = u128::from(left_ms) * u128::from(window_ms) / u128::from(counted_ms);
    u64::try_from(left).unwrap_or(u64::MAX).min(window_ms)
}

/// A want as it counts under the bounds of leases: whoever asks gets at least the least, ahead of demand.
#[must_use]
pub fn asked(want: &Want, lease: Option<LeaseBody>) -> LeaseDemand {
    let expected = match lease {
        Some(lease) if want.waiting > 0 || want.expected > 0 => {
            let all = want.waiting.saturating_add(want.expected);
            let bounded = all.clamp(lease.min, lease.max);
            bounded.saturating_sub(want.waiting)
        }
        _ => want.expected,
    };
    LeaseDemand {
        waiting: want.waiting,
        smallest: want.smallest,
        expected,
    }
}

#[cfg(test)]
mod tests {
    use weir_fairness::ask::Claimant;
    use weir_fairness::share::{Rule, ShareTerms};
    use weir_fairness::weight::Weight;

    use super::*;

    fn share(rule: Rule) -> Share {
        Share::new(ShareTerms {
            rule,
            tenants_max: 10,
            unknown_weight_max: Weight::WHOLE,
            carried: true,
            floors: 0,
        })
    }

    const MOMENT: Moment = Moment {
        limit: 100,
        unlent: 100,
        left_ms: 60_000,
        window_ms: 60_000,
    };

    fn asks(waiting: u64) -> Ask {
        Ask {
            waiting,
            smallest: 10,
            holders: 1,
            ..Ask::default()
        }
    }

    /// What one is given of a window of 100 units by which requests of 10 wait.
    fn room(rule: Rule, ceiling: Option<u64>, waiting: u64) -> Room {
        room_in(share(rule), &party("a", ceiling), waiting)
    }

    fn party(name: &str, ceiling: Option<u64>) -> Party {
        let mut claimant = Claimant::plain(name);
        claimant.claim.ceiling = ceiling;
        claimant.into()
    }

    fn room_in(mut share: Share, party: &Party, waiting: u64) -> Room {
        let want = Want {
            tenant: party.name().map(str::to_owned),
            waiting,
            smallest: 10,
            expected: 200,
            held: 0,
            denied: 0,
            rank: None,
        };
        let mut shared = Shared {
            share: &mut share,
            moment: MOMENT,
            lease: None,
        };
        shared.room(&Claim {
            party,
            want: &want,
            holders: 1,
            unlent: 100,
            lent: 0,
            presumed: 0,
            idle: 0,
            attribution: &Attribution::default(),
            now: EpochMs(0),
        })
    }

    #[test]
    fn what_the_holders_of_a_tenant_gave_back_whole_is_used_by_nobody_and_who_only_looks_is_not_there()
     {
        for rule in [
            Rule::Fair,
            Rule::Weighted,
            Rule::Pinned,
            Rule::Paced,
            Rule::Pooled,
        ] {
            let mut share = share(rule);
            share.set_used(&Claimant::plain("left"), 30);
            share.set_used(&Claimant::plain("there"), 20);
            let moment = Moment {
                limit: 100,
                unlent: 80,
                left_ms: 60_000,
                window_ms: 60_000,
            };
            for name in ["left", "looks"] {
                let want = Want {
                    tenant: Some(name.to_owned()),
                    waiting: 0,
                    smallest: 0,
                    expected: 0,
                    held: 0,
                    denied: 0,
                    rank: None,
                };
                let claim = Claim {
                    party: &party(name, None),
                    want: &want,
                    holders: 1,
                    unlent: 80,
                    lent: 0,
                    presumed: 0,
                    idle: 0,
                    attribution: &Attribution::default(),
                    now: EpochMs(0),
                };
                let _told = Shared {
                    share: &mut share,
                    moment,
                    lease: None,
                }
                .room(&claim);
            }
            assert_eq!(share.used_total(), 20, "{rule:?}");
            let own = ["left", "there", "looks"].map(|name| share.own(name));
            assert_eq!(own, [Some(0), Some(20), None], "{rule:?}");
        }
    }

    #[test]
    fn an_allowance_is_told_only_where_units_lie_idle_for_all_and_no_bound_is_the_tenants_own() {
        let unbounded = |waiting| {
            let room = room(Rule::Pooled, None, waiting);
            assert_eq!(room.ahead, 0, "it lies idle for all");
            (room.waiting, room.allowance > 0, room.contended)
        };
        assert_eq!(unbounded(10), (10, true, false));
        assert!(!unbounded(200).2, "it competes with nobody");
        let mut competing = share(Rule::Pooled);
        let other = Claimant::plain("b");
        let _hungry = competing.room(&other, &asks(200), &MOMENT);
        let beside = room_in(competing, &party("a", None), 200);
        assert!(beside.contended, "more than it can have: {beside:?}");
        for (rule, ceiling) in [(Rule::Pooled, Some(80)), (Rule::Paced, None)] {
            let by_name = room(rule, ceiling, 10);
            assert_eq!(by_name.waiting, 10);
            assert!(by_name.ahead > 0, "{by_name:?}");
            for by_name in [by_name, room(rule, ceiling, 200)] {
                assert_eq!((by_name.allowance, by_name.contended), (0, false));
            }
        }
    }

    #[test]
    fn a_holder_that_has_not_heard_that_a_pool_is_shared_is_told_its_limit_and_given_nothing() {
        for rule in [Rule::Fair, Rule::Pinned, Rule::Paced, Rule::Pooled] {
            let told = Room {
                ceiling: 100,
                ..Room::default()
            };
            assert_eq!(room_in(share(rule), &Party::Everyone, 10), told, "{rule:?}");
        }
    }

    #[test]
    fn where_whoever_comes_first_is_served_nobody_has_an_account() {
        let first_come = FirstCome {
            limit: 100,
            lease: None,
        };
        assert_eq!(first_come.used(&Party::Everyone, 40), 0);
    }

    #[test]
    fn whoever_asks_gets_the_least_of_a_lease_ahead_of_demand_and_no_more_than_the_most_in_all() {
        let bounds = LeaseBody { min: 10, max: 20 };
        for (waiting, expected, ahead) in [
            (0, 0, 0),
            (0, 1, 10),
            (0, 15, 15),
            (0, 21, 20),
            (1, 0, 9),
            (10, 0, 0),
            (4, 3, 6),
            (4, 30, 16),
            (25, 1, 0),
        ] {
            let want = Want {
                tenant: None,
                waiting,
                smallest: waiting.min(1),
                expected,
                held: 0,
                denied: 0,
                rank: None,
            };
            let asked = |lease| asked(&want, lease);
            assert_eq!(asked(Some(bounds)).expected, ahead, "{waiting} {expected}");
            assert_eq!(asked(None).expected, expected);
            assert_eq!(asked(Some(bounds)).waiting, waiting);
        }
    }
}
