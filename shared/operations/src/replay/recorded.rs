//! What ledgers counted by minute, as requests.
//!
//! What a tenant asked for in a minute at a budget or meter is spread evenly over it: `n` requests, the first at its
//! start and each `60,000 / n` ms after the one before, of which the first `i` have `i / n` of the calls and units, rounded
//! down. `n` is the number of calls, but at most [`REPLAY_STEPS_MAX`], and less where all would be more than
//! [`REPLAY_ENTRIES_MAX`]; a request then stands for several calls. Requests of different tenants that fall on one instant
//! come in the order of their names.
//!
//! Counters of limits have no keys, and how long calls ran at guards is not counted: neither is played. Of tenants that are
//! not told apart, budgets are played as of one more tenant, meters are not.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{MINUTE_MS, REPLAY_ENTRIES_MAX, REPLAY_STEPS_MAX, REPLAY_TENANTS_MAX};
use weir_core::name::tenant_name;
use weir_core::ordered::{OrderedMap, sort_by};
use weir_core::units::EpochMs;
use weir_wire::accounting::{Counters, TenantCounters};
use weir_wire::count::Count;
use weir_wire::replay::ReplayKind;
use weir_wire::series::SeriesReply;

use super::side::part;
use super::{Entry, in_order};

/// The tenants whose counters are played by name: those with the most calls.
#[must_use]
pub fn busiest(counters: &Counters) -> Vec<String> {
    let named = counters.iter().filter(|(name, counted)| {
        let asked = !counted.budgets.is_empty() || !counted.meters.is_empty();
        asked && tenant_name(name).is_ok()
    });
    let mut ranked: Vec<_> = named
        .map(|(name, counted)| (counted.calls(), name))
        .collect();
    sort_by(&mut ranked, |one, other| {
        other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1))
    });
    let first = ranked.into_iter().take(REPLAY_TENANTS_MAX);
    first.map(|(_, name)| name.clone()).collect()
}

/// What was asked for in one minute.
#[derive(Debug, Clone, Copy, Default)]
struct MinuteDemand {
    calls: u64,
    units: u64,
}

/// A minute, whose it is, and what it was asked of.
type Place<'a> = (EpochMs, Option<&'a str>, ReplayKind, &'a str);

/// Counters as requests in the order of time, as [`Replay::recorded`](super::Replay::recorded) says.
pub(super) fn recorded(
    series: &[(Option<String>, SeriesReply)],
    knows: &dyn Fn(ReplayKind, &str) -> bool,
) -> Result<Vec<Entry>, Invalid> {
    let mut asked: OrderedMap<Place<'_>, MinuteDemand> = OrderedMap::new();
    for (tenant, reply) in series {
        for (at, counters) in &reply.points {
            each(counters, tenant.is_some(), &mut |kind, name, one| {
                let place = (*at, tenant.as_deref(), kind, name);
                let sum = asked.entry(place).or_default();
                sum.calls = sum.calls.saturating_add(one.calls);
                sum.units = sum.units.saturating_add(one.units);
            });
        }
    }
    // Of all tenants, those that are told apart are counted already.
    let named: Vec<(Place<'_>, MinuteDemand)> =
        asked.iter().map(|(place, one)| (*place, *one)).collect();
    for ((at, tenant, kind, name), one) in named {
        if tenant.is_some()
            && let Some(all) = asked.get_mut(&(at, None, kind, name))
        {
            all.calls = all.calls.saturating_sub(one.calls);
            all.units = all.units.saturating_sub(one.units);
        }
    }
    asked.retain(|(_, _, kind, name), one| one.units > 0 && knows(*kind, name));
    if asked.len() > REPLAY_ENTRIES_MAX {
        let (got, max) = (asked.len(), REPLAY_ENTRIES_MAX);
        let what = "minutes of tenants at budgets and meters";
        return Err(Invalid::new("/to", Fault::TooMany { got, max, what }));
    }
    let room = (REPLAY_ENTRIES_MAX / asked.len().max(1)) as u64;
    let mut entries = Vec::new();
    for ((at, tenant, kind, name), one) in asked {
        let steps = one
            .calls
            .clamp(1, room.min(REPLAY_STEPS_MAX))
            .min(one.units);
        for step in 0..steps {
            let until = |number: u64, of: u64| part(of, number, steps);
            let share = |of: u64| until(step + 1, of) - until(step, of);
            entries.push(Entry {
                at: at.plus(until(step, MINUTE_MS)),
                kind,
                name: name.to_owned(),
                tenant: tenant.map(str::to_owned),
                key: None,
                calls: share(one.calls),
                units: share(one.units),
            });
        }
    }
    in_order(&mut entries);
    Ok(entries)
}

/// What was asked for at each budget, and at each meter of one tenant.
fn each<'a>(
    counters: &'a TenantCounters,
    of_one: bool,
    take: &mut dyn FnMut(ReplayKind, &'a str, MinuteDemand),
) {
    for (name, tally) in &counters.budgets {
        let asked = MinuteDemand {
            calls: sum([
                tally.admitted_calls,
                tally.denied_calls,
                tally.would_deny_calls,
            ]),
            units: sum([
                tally.admitted_units,
                tally.denied_units,
                tally.would_deny_units,
            ]),
        };
        take(ReplayKind::Budget, name, asked);
    }
    for (name, tally) in counters.meters.iter().filter(|_| of_one) {
        let asked = MinuteDemand {
            calls: sum([
                tally.admitted_calls,
                tally.shed_calls,
                tally.would_deny_calls,
            ]),
            units: sum([
                tally.admitted_units,
                tally.shed_units,
                tally.would_deny_units,
            ]),
        };
        take(ReplayKind::Meter, name, asked);
    }
}

fn sum(counts: [Count; 3]) -> u64 {
    let sum = counts
        .iter()
        .fold(0_u128, |sum, one| sum.saturating_add(one.0));
    u64::try_from(sum).unwrap_or(u64::MAX)
}
