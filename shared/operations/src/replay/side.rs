//! One policy as a single holder decides it, who sees every request.

use std::borrow::Cow;

use weir_algorithms::State;
use weir_algorithms::composite::{Dimension, Group, Mode, Source, StateKey, bind, evaluate};
use weir_algorithms::leaky_bucket::LeakyBucket;
use weir_algorithms::scale::{Scaled, ScaledState};
use weir_core::name::{full_key, meter_name};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};
use weir_decision::Decision;
use weir_fairness::ask::{Claimant, Party};
use weir_fairness::local::{LocalBudget, LocalTerms};
use weir_fairness::share::ShareTerms;
use weir_federation::message::share_terms;
use weir_limiting::terms::machine_of;
use weir_policy::Policy;
use weir_policy::budget::Budget;
use weir_policy::limit::{Limit, Rule};
use weir_wire::accounting::Tally;
use weir_wire::count::Count;
use weir_wire::limit_terms::LimitTerms;
use weir_wire::replay::ReplayKind;

use super::Entry;

/// A policy, and all that is known by it.
#[derive(Debug, Clone)]
pub(crate) struct Side<'a> {
    pub policy: &'a Policy,
    budgets: OrderedMap<&'a str, LocalBudget>,
    states: OrderedMap<StateKey, ScaledState>,
    /// Machines of meters, by their rules: most tenants have the same.
    meters: OrderedMap<&'a str, (LimitTerms, Scaled)>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy)]
struct Played {
    admitted: bool,
    /// Units for which there is room, where it was denied.
    room: u64,
}

/// What was known before an entry was played.
enum Known {
    Budget(String, Option<Box<LocalBudget>>),
    States(Vec<(StateKey, Option<ScaledState>)>),
}

/// Whether everything passed, a shadow's denials taken for denials.
pub(crate) fn passes(tally: &Tally) -> bool {
    tally.denied_calls.is_zero() && tally.would_deny_calls.is_zero()
}

/// Nothing bounds it.
const OPEN: Played = Played {
    admitted: true,
    room: 0,
};

/// The policy does not know the tenant.
const REFUSED: Played = Played {
    admitted: false,
    room: 0,
};

impl From<Decision> for Played {
    fn from(decision: Decision) -> Self {
        Self {
            admitted: decision.admitted(),
            room: decision.remaining,
        }
    }
}

impl<'a> Side<'a> {
    pub fn new(policy: &'a Policy) -> Self {
        Self {
            policy,
            budgets: OrderedMap::new(),
            states: OrderedMap::new(),
            meters: OrderedMap::new(),
        }
    }

    /// Decides and charges an entry. Of one that stands for several calls and is denied as a whole, as many are admitted as
    /// there is room for.
    pub fn play(&mut self, entry: &Entry) -> Tally {
        let tenant = entry.tenant.as_deref();
        if tenant.is_some_and(|tenant| self.policy.resolve(tenant, entry.at).is_none()) {
            return tally(entry, (0, 0), false);
        }
        let whole = self.decide(entry, entry.units);
        if whole.admitted {
            return tally(entry, (entry.calls, entry.units), false);
        }
        let shadow = self.is_shadow(entry);
        let calls = part(whole.room, entry.calls, entry.units).min(entry.calls.saturating_sub(1));
        let units = part(calls, entry.units, entry.calls.max(1));
        if units > 0 && self.decide(entry, units).admitted {
            return tally(entry, (calls, units), shadow);
        }
        tally(entry, (0, 0), shadow)
    }

    /// Decides and charges an entry so that it comes to `admitted`, if it does when it is made up to `clock_ms` earlier or
    /// later; else as it is. Returns what it comes to.
    pub fn follow(&mut self, entry: &Entry, admitted: bool, clock_ms: u64) -> bool {
        let before = self.known_of(entry);
        let plain = passes(&self.play(entry));
        if plain == admitted {
            return plain;
        }
        let at = entry.at.0;
        for moved_ms in [clock_ms / 2, clock_ms] {
            for at in [at.saturating_add(moved_ms), at.saturating_sub(moved_ms)] {
                self.put_back(&before);
                let moved = Entry {
                    at: EpochMs(at),
                    ..entry.clone()
                };
                if passes(&self.play(&moved)) == admitted {
                    return admitted;
                }
            }
        }
        self.put_back(&before);
        self.play(entry);
        plain
    }

    /// What an entry may change.
    fn known_of(&self, entry: &Entry) -> Known {
        let name = entry.name.as_str();
        let keys = match entry.kind {
            ReplayKind::Budget => {
                let budget = self.budgets.get(name).cloned();
                return Known::Budget(name.to_owned(), budget.map(Box::new));
            }
            ReplayKind::Meter => vec![StateKey {
                limit: meter_name(name),
                key: full_key(entry.tenant.as_deref(), ""),
            }],
            ReplayKind::Limit => self.keys_of(entry),
        };
        let states = keys.into_iter().map(|key| {
            let state = self.states.get(&key).cloned();
            (key, state)
        });
        Known::States(states.collect())
    }

    /// The keys that an entry at a limit charges.
    fn keys_of(&self, entry: &Entry) -> Vec<StateKey> {
        let names: Vec<&str> = match self.policy.limits.get(&entry.name).map(|limit| &limit.rule) {
            Some(Rule::Composite(composite)) => {
                let parts = composite.dimensions.iter();
                parts.map(|one| one.limit.as_str()).collect()
            }
            _ => vec![entry.name.as_str()],
        };
        let keys = names.into_iter().filter_map(|name| {
            let limit = self.policy.limits.get(name)?;
            Some(StateKey {
                limit: name.to_owned(),
                key: entry.key_in(limit),
            })
        });
        keys.collect()
    }

    fn put_back(&mut self, known: &Known) {
        match known {
            Known::Budget(name, before) => {
                let Some((name, _)) = self.policy.budgets.get_key_value(name) else {
                    return;
                };
                match before {
                    Some(budget) => self.budgets.insert(name, budget.as_ref().clone()),
                    None => self.budgets.remove(name.as_str()),
                };
            }
            Known::States(states) => {
                for (key, before) in states {
                    match before {
                        Some(state) => self.states.insert(key.clone(), state.clone()),
                        None => self.states.remove(key),
                    };
                }
            }
        }
    }

    fn is_shadow(&self, entry: &Entry) -> bool {
        let (policy, name) = (self.policy, entry.name.as_str());
        let shadow = match entry.kind {
            ReplayKind::Budget => policy.budgets.get(name).map(|budget| budget.shadow),
            ReplayKind::Limit => policy.limits.get(name).map(|limit| limit.shadow),
            ReplayKind::Meter => policy.meters.get(name).map(|meter| meter.shadow),
        };
        !policy.enforcing || shadow.unwrap_or(false)
    }

    fn decide(&mut self, entry: &Entry, units: u64) -> Played {
        let decided = match entry.kind {
            ReplayKind::Budget => self.budget(entry, units),
            ReplayKind::Limit => self.limit(entry, units),
            ReplayKind::Meter => self.meter(entry, units),
        };
        // Where the policy has no rule, none denies.
        decided.unwrap_or(OPEN)
    }

    fn budget(&mut self, entry: &Entry, units: u64) -> Option<Played> {
        let policy = self.policy;
        let (name, budget) = policy.budgets.get_key_value(&entry.name)?;
        let tenant = entry.tenant.as_deref();
        let party = match tenant.filter(|_| budget.rule().is_some()) {
            Some(tenant) => policy
                .claimant(tenant, Some(name), Revision(0), entry.at)
                .map(Party::from),
            None if budget.rule().is_some() => Some(Claimant::overflow().into()),
            None => Some(Party::Everyone),
        };
        let Some(party) = party else {
            return Some(REFUSED);
        };
        let terms = self.terms(name, budget, entry.at);
        let local = self
            .budgets
            .entry(name)
            .or_insert_with(|| LocalBudget::new(terms));
        if !policy.floors_are_constant(name) {
            local.retune(terms);
        }
        if units > budget.limit {
            // Refused before the tenant counts as there.
            let look = local.check(&party, 0, entry.at);
            return Some(Played {
                admitted: false,
                room: look.remaining,
            });
        }
        Some(local.check(&party, units, entry.at).into())
    }

    /// What a budget is at an instant, held by one.
    fn terms(&self, name: &str, budget: &Budget, at: EpochMs) -> LocalTerms {
        let policy = self.policy;
        let terms = budget.terms(Revision(0), policy.tenants_max, policy.unknown_weight_max);
        let share = terms.sharing.as_ref();
        let share = share.and_then(|sharing| share_terms(sharing).ok());
        LocalTerms {
            limit: terms.limit,
            window_ms: terms.window_ms,
            share: share.map(|share| ShareTerms {
                floors: policy.floors_at(name, at),
                ..share
            }),
        }
    }

    fn meter(&mut self, entry: &Entry, units: u64) -> Option<Played> {
        let policy = self.policy;
        let (name, _) = policy.meters.get_key_value(&entry.name)?;
        let tenant = entry.tenant.as_deref()?;
        let numbers = policy.meter_numbers(name, tenant, entry.at)?.terms()?;
        let terms = LimitTerms::of_meter(name, Revision(0), numbers);
        if self
            .meters
            .get(name.as_str())
            .is_none_or(|known| known.0 != terms)
        {
            let machine = machine_of(&terms).ok()?;
            self.meters.insert(name, (terms, machine));
        }
        let machine = &self.meters.get(name.as_str())?.1;
        let key = StateKey {
            limit: meter_name(name),
            key: full_key(Some(tenant), ""),
        };
        let checked = machine.check(self.states.get(&key), units, entry.at);
        if let Some(next) = checked.next {
            self.states.insert(key, next);
        }
        Some(checked.decision.into())
    }

    fn limit(&mut self, entry: &Entry, units: u64) -> Option<Played> {
        let policy = self.policy;
        let limit = policy.limits.get(&entry.name)?;
        let (mode, parts) = match &limit.rule {
            Rule::Composite(composite) => {
                let parts = composite.dimensions.iter();
                let parts = parts.map(|one| (one.limit.as_str(), Some(&one.weight)));
                (composite.mode, parts.collect())
            }
            Rule::Single(_) | Rule::Shaper(_) => (Mode::All, vec![(entry.name.as_str(), None)]),
        };
        let alone = parts.len() == 1;
        let at = |(name, weight)| {
            let limit = policy.limit_at(name, entry.tenant.as_deref(), entry.at)?;
            let key = StateKey {
                limit: name.to_owned(),
                key: entry.key_in(&limit),
            };
            Some((limit, key, weight))
        };
        let limits: Vec<(Cow<'_, Limit>, StateKey, _)> =
            parts.into_iter().map(at).collect::<Option<_>>()?;
        let mut dimensions = Vec::with_capacity(limits.len());
        for (limit, key, weight) in &limits {
            let single = match &limit.rule {
                Rule::Single(single) => single,
                Rule::Shaper(shaper) => return Some(self.queue(&shaper.bucket, key, units, entry)),
                Rule::Composite(_) => return None,
            };
            if let Some(state) = self.states.get_mut(key)
                && let Some(carried) = single.machine.carried(state, entry.at)
            {
                *state = carried;
            }
            dimensions.push(Dimension {
                source: Source::Here {
                    machine: &single.machine,
                    key: key.clone(),
                    cost: single.cost(*weight, units),
                },
                // One that stands alone decides, and is then counted as a shadow.
                shadow: limit.shadow && !alone,
            });
        }
        let groups = [Group { mode, dimensions }];
        let states = &self.states;
        let verdict = evaluate(&groups, |key| states.get(key).cloned(), entry.at);
        self.states.extend(verdict.writes);
        let decisions = verdict.decisions.first()?;
        let binding = bind(mode, decisions).and_then(|bound| decisions.get(bound.index));
        Some(Played {
            admitted: verdict.admitted,
            room: binding.filter(|_| alone).map_or(0, |one| one.remaining),
        })
    }

    /// A place in a queue, which is refused where it would be waited for too long.
    fn queue(&mut self, bucket: &LeakyBucket, key: &StateKey, units: u64, entry: &Entry) -> Played {
        let state = self.states.get(key).and_then(|kept| match &kept.state {
            State::LeakyBucket(state) => Some(state.clone()),
            _ => bucket.carried(kept, entry.at),
        });
        let reserved = bucket.reserve(state.as_ref(), units, entry.at);
        if let Some(next) = reserved.next {
            let next = ScaledState::whole(State::LeakyBucket(next));
            self.states.insert(key.clone(), next);
        }
        Played {
            admitted: reserved.outcome.accepted,
            room: 0,
        }
    }
}

/// So many of `of`, as `number` is of `among`, rounded down.
pub(crate) fn part(number: u64, of: u64, among: u64) -> u64 {
    let product = u128::from(number) * u128::from(of);
    u64::try_from(product / u128::from(among.max(1))).unwrap_or(u64::MAX)
}

/// What an entry is counted as, of which so many calls and units were admitted.
fn tally(entry: &Entry, (calls, units): (u64, u64), shadow: bool) -> Tally {
    let count = |number: u64| Count(number.into());
    let (rest_calls, rest_units) = (
        count(entry.calls.saturating_sub(calls)),
        count(entry.units.saturating_sub(units)),
    );
    let mut tally = Tally {
        admitted_calls: count(calls),
        admitted_units: count(units),
        ..Tally::default()
    };
    if shadow {
        (tally.would_deny_calls, tally.would_deny_units) = (rest_calls, rest_units);
    } else {
        (tally.denied_calls, tally.denied_units) = (rest_calls, rest_units);
    }
    tally
}
