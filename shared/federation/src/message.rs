//! An exchange message whose bounds have been checked: the only kind that a parent takes.

use std::ops::Deref;

use weir_core::limits::{
    AHEAD_WINDOWS_MAX, COST_MAX, EXCHANGE_ENTRIES_MAX, JSON_INTEGER_MAX, TENANTS_MAX,
};
use weir_core::ordered::OrderedSet;
use weir_fairness::ask::{Claimant, Party};
use weir_fairness::rank::floors;
use weir_fairness::share::ShareTerms;
use weir_fairness::weight::Weight;
use weir_wire::exchange::{
    ExchangeBody, Refusal, ReplyBody, Seen, SharingBody, VERSION, Want, version_accepted,
};

use super::pool_name::PoolName;
use super::schedule::Schedule;

/// A checked message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    body: ExchangeBody,
    pool: PoolName,
    schedule: Schedule,
    sharing: Option<ShareTerms>,
    parties: Vec<Party>,
}

impl Message {
    /// The pool that it is about.
    #[must_use]
    pub fn pool(&self) -> &PoolName {
        &self.pool
    }

    /// How the pool's windows follow each other, by the message's terms.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// How tenants share the pool, by the message's terms; `None` where it goes to whoever comes first.
    #[must_use]
    pub fn sharing(&self) -> Option<ShareTerms> {
        self.sharing
    }

    /// What is asked for, each with whom it is for: a tenant where the pool is shared, else all.
    pub fn asks(&self) -> impl Iterator<Item = (&Party, &Want)> {
        self.parties.iter().zip(&self.body.wants)
    }

    /// Whether `reply` leaves some of the requests that wait without units.
    #[must_use]
    pub fn unserved(&self, reply: &ReplyBody) -> bool {
        let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
        granted < self.waiting()
    }

    /// The name of the reply to this message.
    #[must_use]
    pub fn reply_name(&self) -> Seen {
        Seen {
            incarnation: self.body.incarnation,
            sequence: self.body.sequence,
        }
    }

    /// Units that requests wait for, over all wants.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.body.wants.iter().map(|want| want.waiting).sum()
    }

    /// The smallest cost among the waiting requests; 0 when none waits.
    #[must_use]
    pub fn smallest(&self) -> u64 {
        let waiting = self.body.wants.iter().filter(|want| want.waiting > 0);
        waiting.map(|want| want.smallest).min().unwrap_or(0)
    }

    /// Units expected beyond those waited for, over all wants.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.body.wants.iter().map(|want| want.expected).sum()
    }
}

impl Deref for Message {
    type Target = ExchangeBody;

    fn deref(&self) -> &ExchangeBody {
        &self.body
    }
}

impl TryFrom<ExchangeBody> for Message {
    type Error = Refusal;

    fn try_from(body: ExchangeBody) -> Result<Self, Refusal> {
        if !version_accepted(body.v) {
            return Err(Refusal::Version {
                got: body.v,
                have: VERSION,
            });
        }
        let bounds = [
            ("incarnation", body.incarnation.0, 1, JSON_INTEGER_MAX),
            ("sequence", body.sequence.0, 1, JSON_INTEGER_MAX),
            ("terms/revision", body.terms.revision.0, 0, JSON_INTEGER_MAX),
            ("terms/limit", body.terms.limit, 1, JSON_INTEGER_MAX),
            (
                "wants",
                body.wants.len() as u64,
                0,
                EXCHANGE_ENTRIES_MAX as u64,
            ),
            (
                "returns",
                body.returns.len() as u64,
                0,
                EXCHANGE_ENTRIES_MAX as u64,
            ),
        ];
        for (field, got, min, max) in bounds {
            if !(min..=max).contains(&got) {
                return Err(malformed(field));
            }
        }
        let pool = PoolName::try_from(body.budget.as_str()).map_err(|_| malformed("budget"))?;
        let schedule = Schedule::try_from(&body.terms)
            .map_err(|refused| malformed(&format!("terms{}", refused.field)))?;
        let labels = body.returns.iter().map(|back| back.window);
        if labels
            .chain(body.window)
            .any(|label| label.0 > JSON_INTEGER_MAX)
        {
            return Err(malformed("window"));
        }
        // Sums of these stay below 64 x 2^53, far from overflow.
        for want in &body.wants {
            if want.waiting > COST_MAX || want.expected > COST_MAX || want.smallest > want.waiting {
                return Err(malformed("wants"));
            }
            if want.held > JSON_INTEGER_MAX || want.denied > JSON_INTEGER_MAX {
                return Err(malformed("wants"));
            }
        }
        for (field, units) in [("ahead", body.ahead), ("idle", body.idle)] {
            if units > COST_MAX {
                return Err(malformed(field));
            }
        }
        if body.returns.iter().any(|back| back.units > COST_MAX) {
            return Err(malformed("returns"));
        }
        let sharing = body.terms.sharing.as_ref().map(share_terms).transpose()?;
        let parties = body.wants.iter().map(|want| party(want, sharing.is_some()));
        let parties: Vec<Party> = parties.collect::<Result<_, _>>()?;
        let mut names = OrderedSet::new();
        if !parties.iter().all(|party| names.insert(party.name())) {
            return Err(malformed("wants/tenant"));
        }
        if body.terms.standing > AHEAD_WINDOWS_MAX as u64 {
            return Err(malformed("terms/standing"));
        }
        let lease = body.terms.lease;
        if lease.is_some_and(|lease| lease.min < 1 || lease.max < lease.min || lease.max > COST_MAX)
        {
            return Err(malformed("terms/lease"));
        }
        Ok(Self {
            body,
            pool,
            schedule,
            sharing,
            parties,
        })
    }
}

fn party(want: &Want, shared: bool) -> Result<Party, Refusal> {
    match (&want.tenant, &want.rank, shared) {
        (None, None, false) => Ok(Party::Everyone),
        (Some(_), _, false) => Err(Refusal::TenantNamed),
        (Some(tenant), Some(rank), true) => Ok(Claimant::try_from((tenant.as_str(), rank))?.into()),
        _ => Err(malformed("wants/tenant")),
    }
}

/// How tenants share a pool of such terms.
///
/// # Errors
/// [`Refusal::Malformed`] with the field that is outside its range.
pub fn share_terms(body: &SharingBody) -> Result<ShareTerms, Refusal> {
    let field = |_| malformed("terms/sharing/unknown_weight_max");
    if !(1..=TENANTS_MAX).contains(&body.tenants_max) {
        return Err(malformed("terms/sharing/tenants_max"));
    }
    Ok(ShareTerms {
        rule: body.rule.into(),
        tenants_max: body.tenants_max,
        unknown_weight_max: Weight::from_micros(body.unknown_weight_max).map_err(field)?,
        carried: true,
        floors: floors(body.floors)
            .map_err(|_| malformed("terms/sharing/floors"))?
            .units,
    })
}

fn malformed(field: &str) -> Refusal {
    Refusal::Malformed {
        field: field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::{HolderId, Incarnation, Revision, Sequence, WindowLabel};
    use weir_wire::exchange::{FloorsBody, Grant, LeaseBody, Return, RuleBody, Terms, WindowBody};

    use super::*;

    fn want() -> Want {
        Want {
            tenant: None,
            waiting: 4,
            smallest: 2,
            expected: 0,
            held: 0,
            denied: 0,
            rank: None,
        }
    }

    fn body() -> ExchangeBody {
        ExchangeBody {
            v: VERSION,
            budget: "tokens".to_owned(),
            terms: Terms {
                limit: 100,
                window_ms: 60_000,
                revision: Revision(1),
                cycle: None,
                sharing: None,
                lease: None,
                standing: 0,
            },
            holder: HolderId(1),
            incarnation: Incarnation(1),
            sequence: Sequence(1),
            seen: None,
            window: None,
            wants: vec![want()],
            returns: Vec::new(),
            ahead: 0,
            idle: 0,
            denied: 0,
        }
    }

    /// The field that is refused in a message that was changed.
    fn refused(change: impl FnOnce(&mut ExchangeBody)) -> Option<String> {
        let mut body = body();
        change(&mut body);
        match Message::try_from(body) {
            Ok(_) => None,
            Err(Refusal::Malformed { field }) => Some(field),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_number_of_a_message_is_taken_up_to_its_bound_and_refused_beyond() {
        type Set = fn(&mut ExchangeBody, u64);
        let cases: [(&str, u64, Set); 14] = [
            ("incarnation", JSON_INTEGER_MAX, |body, n| {
                body.incarnation = Incarnation(n)
            }),
            ("sequence", JSON_INTEGER_MAX, |body, n| {
                body.sequence = Sequence(n)
            }),
            ("terms/revision", JSON_INTEGER_MAX, |body, n| {
                body.terms.revision = Revision(n)
            }),
            ("terms/limit", JSON_INTEGER_MAX, |body, n| {
                body.terms.limit = n
            }),
            ("window", JSON_INTEGER_MAX, |body, n| {
                body.window = Some(WindowLabel(n))
            }),
            ("wants", COST_MAX, |body, n| body.wants[0].waiting = n),
            ("wants", COST_MAX, |body, n| body.wants[0].expected = n),
            ("wants", 4, |body, n| body.wants[0].smallest = n),
            ("wants", JSON_INTEGER_MAX, |body, n| body.wants[0].held = n),
            ("wants", JSON_INTEGER_MAX, |body, n| {
                body.wants[0].denied = n
            }),
            ("ahead", COST_MAX, |body, n| body.ahead = n),
            ("idle", COST_MAX, |body, n| body.idle = n),
            ("terms/standing", AHEAD_WINDOWS_MAX as u64, |body, n| {
                body.terms.standing = n
            }),
            ("terms/lease", COST_MAX, |body, n| {
                body.terms.lease = Some(LeaseBody { min: 1, max: n });
            }),
        ];
        for (field, bound, set) in cases {
            assert_eq!(refused(|body| set(body, bound)), None, "{field}");
            let beyond = refused(|body| set(body, bound + 1));
            assert_eq!(beyond.as_deref(), Some(field));
        }
    }

    #[test]
    fn what_is_returned_and_the_bounds_of_leases_are_checked() {
        let back = |window, units| Return {
            window: WindowLabel(window),
            units,
        };
        let returns = |back: Return| refused(|body| body.returns.push(back));
        assert_eq!(returns(back(JSON_INTEGER_MAX, COST_MAX)), None);
        assert_eq!(returns(back(1, COST_MAX + 1)).unwrap(), "returns");
        assert_eq!(returns(back(JSON_INTEGER_MAX + 1, 1)).unwrap(), "window");
        let many = |count| refused(|body| body.returns = vec![back(1, 1); count]);
        assert_eq!(many(EXCHANGE_ENTRIES_MAX), None);
        assert_eq!(many(EXCHANGE_ENTRIES_MAX + 1).unwrap(), "returns");
        let lease = |min, max| refused(|body| body.terms.lease = Some(LeaseBody { min, max }));
        assert_eq!([lease(1, 1), lease(3, 4)], [None, None]);
        assert_eq!(lease(0, 4).unwrap(), "terms/lease");
        assert_eq!(lease(5, 4).unwrap(), "terms/lease");
    }

    #[test]
    fn who_waits_is_served_when_all_that_waits_is_lent() {
        let message = Message::try_from(body()).unwrap();
        let unserved = |units| {
            let reply = ReplyBody {
                v: VERSION,
                to: message.reply_name(),
                window: WindowBody {
                    label: WindowLabel(1),
                    remaining_ms: 60_000,
                    limit: 100,
                },
                grants: vec![Grant {
                    tenant: None,
                    units,
                    ceiling: 100,
                    used: 0,
                    left: 0,
                    allowance: 0,
                    contended: false,
                    retry_ms: None,
                }],
                ahead: Vec::new(),
                left: 0,
                outage: false,
                next_contact_ms: 500,
                retry_ms: None,
            };
            message.unserved(&reply)
        };
        assert_eq!([3, 4, 5].map(unserved), [true, false, false]);
        assert_eq!((message.waiting(), message.smallest()), (4, 2));
    }

    #[test]
    fn what_is_expected_is_told_beside_what_is_waited_for() {
        let tenants = [("a", 4, 9), ("b", 0, 5)].map(|(name, waiting, expected)| {
            let claimant = Claimant::plain(name);
            Want {
                tenant: Some(name.to_owned()),
                waiting,
                smallest: waiting,
                expected,
                rank: Some((&claimant).into()),
                ..want()
            }
        });
        let mut body = body();
        body.terms.sharing = Some(SharingBody {
            rule: RuleBody::Paced,
            tenants_max: 10,
            unknown_weight_max: 1_000_000,
            floors: FloorsBody::default(),
        });
        body.wants = tenants.to_vec();
        let message = Message::try_from(body).unwrap();
        assert_eq!((message.waiting(), message.expected()), (4, 14));
        assert_eq!(message.smallest(), 4);
    }
}
