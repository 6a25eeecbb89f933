//! What the id of a denial leads to: whose it is, where to look, and whether what was counted bears it out.

use weir_core::limits::{HOUR_MS, HOURS_KEPT_MS, MINUTE_MS, MINUTES_KEPT_MS};
use weir_core::units::EpochMs;
use weir_decision::id::DecisionId;
use weir_policy::Policy;
use weir_wire::accounting::TenantCounters;
use weir_wire::count::Count;
use weir_wire::operator::explained::ExplainedDecision;
use weir_wire::rule_kind::RuleKind;
use weir_wire::series::{SeriesBody, SeriesReply};

/// The tenant of an id, among names that are known.
///
/// ```
/// use weir_decision::id::DecisionId;
/// use weir_operations::report::explained::tenant_of;
/// let id = DecisionId::try_from("17.5a0a02d29c9c2c19.weur.cap_reached.budget.tokens").unwrap();
/// assert_eq!(tenant_of(&id, ["globex", "acme"]), Some("acme"));
/// assert_eq!(tenant_of(&id, ["globex"]), None);
/// ```
#[must_use]
pub fn tenant_of<'a>(id: &DecisionId, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names.into_iter().find(|name| id.is_of(name))
}

/// What the ledger of the region is asked to bear an id out; `None` where it can know nothing: of a time to come, and of one
/// that is longer ago than anything is kept.
///
/// ```
/// use weir_decision::id::DecisionId;
/// use weir_operations::report::explained::question;
/// use weir_core::units::EpochMs;
/// let id = DecisionId::try_from("90000.5a0a02d29c9c2c19.weur.cap_reached.budget.tokens").unwrap();
/// let asked = question(&id, "acme", EpochMs(95_000)).unwrap();
/// // Counters reach the ledger a little later: in the next minute, it may be.
/// assert_eq!((asked.from, asked.to, asked.step_ms), (EpochMs(60_000), EpochMs(180_000), 60_000));
/// ```
#[must_use]
pub fn question(id: &DecisionId, tenant: &str, now: EpochMs) -> Option<SeriesBody> {
    let age_ms = now.since(id.at);
    // A region's clock may be a little ahead.
    let known = id.at <= now.plus(MINUTE_MS) && age_ms <= HOURS_KEPT_MS;
    let (step_ms, steps) = match age_ms < MINUTES_KEPT_MS - HOUR_MS {
        true => (MINUTE_MS, 2),
        false => (HOUR_MS, 1),
    };
    let from = id.at.0 / step_ms * step_ms;
    known.then(|| SeriesBody {
        from: EpochMs(from),
        to: EpochMs(from + steps * step_ms),
        step_ms,
        tenant: Some(tenant.to_owned()),
    })
}

/// An id with what is known of it. `counted` is the ledger's answer to [`question`], where there was one.
#[must_use]
pub fn explained(
    id: &DecisionId,
    policy: &Policy,
    tenant: Option<&str>,
    counted: Option<&SeriesReply>,
) -> ExplainedDecision {
    let rule = id.rule.as_str();
    let in_force = match id.kind {
        RuleKind::Budget => policy.budgets.contains_key(rule),
        RuleKind::Limit => policy.limits.contains_key(rule),
        RuleKind::Meter => policy.meters.contains_key(rule),
        RuleKind::Guard => policy.guards.contains_key(rule),
        RuleKind::Overload => policy.overload.contains_key(rule),
    };
    let budget = policy
        .budgets
        .get(rule)
        .filter(|_| id.kind == RuleKind::Budget);
    let window_ms = budget.map_or(0, |budget| budget.window_ms);
    ExplainedDecision {
        decision: id.to_string(),
        at: id.at,
        region: id.region.clone(),
        reason: id.reason,
        kind: id.kind,
        rule: rule.to_owned(),
        in_force,
        tenant: tenant.map(str::to_owned),
        from: id.at,
        to: id.at.plus(window_ms.max(2 * MINUTE_MS)),
        denied_calls: counted.map(|reply| {
            let points = reply.points.values();
            Count(points.map(|point| denied_calls(point, id.kind, rule)).sum())
        }),
    }
}

fn denied_calls(counters: &TenantCounters, kind: RuleKind, rule: &str) -> u128 {
    let tally = match kind {
        RuleKind::Budget => counters.budgets.get(rule),
        RuleKind::Limit => counters.limits.get(rule),
        RuleKind::Overload => counters.overload.get(rule),
        RuleKind::Meter => {
            return counters
                .meters
                .get(rule)
                .map_or(0, |meter| meter.shed_calls.0);
        }
        RuleKind::Guard => {
            return counters.guards.get(rule).map_or(0, |guard| {
                guard.rejected_concurrency.0 + guard.rejected_budget.0 + guard.rejected_other.0
            });
        }
    };
    tally.map_or(0, |tally| tally.denied_calls.0)
}

#[cfg(test)]
mod tests {
    use weir_accounting::counters::{Charged, Decided, count};
    use weir_core::invalid::read_json;
    use weir_core::limits::DAY_MS;
    use weir_decision::id::Denial;
    use weir_wire::accounting::Counters;
    use weir_wire::check::Reason;
    use weir_wire::policy::PolicyDocument;

    use super::*;

    const AT: u64 = 100 * DAY_MS + 90_000;

    fn id(kind: RuleKind, rule: &str) -> DecisionId {
        let denial = Denial {
            at: EpochMs(AT),
            tenant: "acme",
            region: "weur",
            reason: Reason::LimitExceeded,
            kind,
            rule,
        };
        DecisionId::try_from(denial.to_string().as_str()).unwrap()
    }

    fn policy() -> Policy {
        let document: PolicyDocument = read_json(
            br#"{ "regions": ["weur"], "home": "weur", "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
                "budgets": { "tokens": { "limit": 100, "window_ms": 600000, "sharing": "first_come", "scope": "global" } },
                "limits": { "per_ip": { "limit": 5, "period_ms": 1000, "scope": "region" } } }"#,
        )
        .unwrap();
        Policy::try_from(&document).unwrap()
    }

    #[test]
    fn every_kind_of_rule_is_borne_out_by_its_own_counter() {
        for (charged, kind) in [
            (Charged::Budget("x"), RuleKind::Budget),
            (Charged::Limit("x"), RuleKind::Limit),
            (Charged::Meter("x"), RuleKind::Meter),
            (Charged::Guard("x"), RuleKind::Guard),
            (Charged::Overload("x"), RuleKind::Overload),
        ] {
            let mut counters = Counters::new();
            for reason in [Reason::LimitExceeded, Reason::Admitted, Reason::Unavailable] {
                let decided = Decided {
                    tenant: "acme",
                    known: true,
                    charged,
                    reason,
                    units: 3,
                };
                count(&mut counters, &decided, 8);
            }
            let mut reply = SeriesReply::default();
            reply.points.insert(EpochMs(AT), counters["acme"].clone());
            let told = |kind| {
                let told = explained(&id(kind, "x"), &policy(), Some("acme"), Some(&reply));
                told.denied_calls
            };
            for other in RuleKind::ALL {
                let due = if other == kind { 2 } else { 0 };
                assert_eq!(told(other), Some(Count(due)), "{kind:?} {other:?}");
            }
        }
    }

    #[test]
    fn where_to_look_is_the_window_that_was_open() {
        let (tokens, per_ip) = (
            id(RuleKind::Budget, "tokens"),
            id(RuleKind::Limit, "per_ip"),
        );
        let told = explained(&tokens, &policy(), None, None);
        assert_eq!((told.from.0, told.to.0), (AT, AT + 600_000));
        assert!(told.in_force && told.tenant.is_none() && told.denied_calls.is_none());
        let told = explained(&per_ip, &policy(), None, None);
        assert_eq!(
            (told.from.0, told.to.0, told.in_force),
            (AT, AT + 120_000, true)
        );
        // A limit by the name of a budget is none.
        assert!(!explained(&id(RuleKind::Limit, "tokens"), &policy(), None, None).in_force);
    }

    #[test]
    fn nothing_is_asked_that_nobody_can_know() {
        let id = id(RuleKind::Limit, "per_ip");
        let asked =
            |now| question(&id, "acme", EpochMs(now)).map(|asked| (asked.from.0, asked.to.0));
        assert_eq!(asked(AT), Some((AT - 30_000, AT + 90_000)));
        assert_eq!(asked(AT - MINUTE_MS), Some((AT - 30_000, AT + 90_000)));
        assert_eq!(asked(AT - MINUTE_MS - 1), None);
        let hour = AT / HOUR_MS * HOUR_MS;
        assert_eq!(asked(AT + DAY_MS), Some((hour, hour + HOUR_MS)));
        assert!(asked(AT + HOURS_KEPT_MS).is_some());
        assert_eq!(asked(AT + HOURS_KEPT_MS + 1), None);
    }
}
