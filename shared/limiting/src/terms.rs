//! The rules that travel with each question, and those that a shard knows by them.

use weir_algorithms::Algorithm;
use weir_algorithms::composite::StateKey;
use weir_algorithms::scale::Scaled;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::SHARD_RULES_MAX;
use weir_core::ordered::OrderedMap;
use weir_core::units::Revision;
use weir_policy::limit::{Rule, rule_of};
use weir_wire::limit_terms::LimitTerms;

use super::owner::print_of;

fn of_limit(terms: &LimitTerms) -> Result<Scaled, Invalid> {
    Ok(match rule_of(&terms.body, terms.scale)? {
        Rule::Single(single) => single.machine,
        Rule::Shaper(shaper) => shaper.machine,
        Rule::Composite(_) => return Err(unknown(&terms.name)),
    })
}

/// What keeps a key by `terms`: those of a meter, a guard, or of a limit that is not made of others.
///
/// # Errors
/// When they are not valid.
///
/// ```
/// use weir_limiting::terms::machine_of;
/// use weir_core::units::Revision;
/// use weir_wire::decimal::Decimal;
/// use weir_wire::limit_terms::{LimitTerms, MeterTerms};
/// let meter = MeterTerms { per_sec: Decimal(100.0), burst_seconds: Decimal(1.0), max_debt_ms: 60_000 };
/// let machine = machine_of(&LimitTerms::of_meter("results", Revision(7), meter)).unwrap();
/// assert_eq!(machine.ceiling(), 6_100);
/// ```
pub fn machine_of(terms: &LimitTerms) -> Result<Scaled, Invalid> {
    let algorithm = match (&terms.meter, &terms.guard) {
        (Some(_), Some(_)) => {
            let by = "meter";
            return Err(Invalid::new("/guard", Fault::Excluded { by }));
        }
        (Some(meter), None) => Algorithm::DeficitBucket(meter.try_into()?),
        (None, Some(guard)) => Algorithm::Guard(guard.try_into()?),
        (None, None) => return of_limit(terms),
    };
    let scaled = Scaled::new(&algorithm, terms.scale);
    let no_room = || Fault::OutOfRange {
        got: terms.scale.to_string(),
        min: "1".to_owned(),
        max: "1".to_owned(),
    };
    scaled.ok_or_else(|| Invalid::new("/scale", no_room()))
}

/// What keeps a key, with the revision, the instant and the scale of its rules: the greater ones count.
#[derive(Debug, Clone)]
struct Heard {
    age: (Revision, u64, u64),
    machine: Scaled,
    /// Tells them from other rules, where they are those of a single key.
    own: Option<u64>,
}

/// The rules of one limit: those of all keys, and those of single keys.
#[derive(Debug, Clone, Default)]
struct Rules {
    all: Option<Heard>,
    own: OrderedMap<String, Heard>,
}

/// The rules that a shard has heard.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    limits: OrderedMap<String, Rules>,
    /// How many rules they are together.
    count: usize,
}

impl Known {
    /// Takes the rules that are newer than those known.
    ///
    /// # Errors
    /// When rules are not valid; those before them are taken.
    pub fn learn(&mut self, limits: &[LimitTerms]) -> Result<(), Invalid> {
        self.make_room(limits.len());
        for terms in limits {
            let age = (terms.revision, terms.since, terms.scale);
            let known = self.limits.get(&terms.name);
            let known = known.and_then(|rules| rules.of(terms.key.as_deref()));
            if known.is_some_and(|known| known.age >= age) {
                continue;
            }
            let machine = machine_of(terms)?;
            let rules = self.limits.entry(terms.name.clone()).or_default();
            let own = terms.key.is_some().then(|| print(terms));
            let heard = Heard { age, machine, own };
            let before = rules.put(terms.key.as_deref(), heard);
            self.count += usize::from(before.is_none());
        }
        Ok(())
    }

    /// Rules come again with every question: those of older revisions make room, then all.
    fn make_room(&mut self, wanted: usize) {
        if self.count + wanted <= SHARD_RULES_MAX {
            return;
        }
        let heard = self.limits.values().flat_map(Rules::iter);
        let newest = heard.map(|heard| heard.age.0).max();
        let older = |heard: &Heard| Some(heard.age.0) != newest;
        for rules in self.limits.values_mut() {
            rules.all.take_if(|heard| older(heard));
            rules.own.retain(|_, heard| !older(heard));
        }
        self.limits.retain(|_, rules| rules.iter().next().is_some());
        self.count = self.limits.values().flat_map(Rules::iter).count();
        if self.count + wanted > SHARD_RULES_MAX {
            self.limits.clear();
            self.count = 0;
        }
    }

    /// What keeps a key: the newer of its own rules and of those of all keys, its own if they are of one age. A key for
    /// which neither is known is an overflow that a hold of an older version names: any rules of the limit do.
    ///
    /// # Errors
    /// When no rules of it are known.
    pub fn decides(&self, key: &StateKey) -> Result<&Scaled, Invalid> {
        let heard = self.heard(key);
        let machine = heard.map(|heard| &heard.machine);
        machine.ok_or_else(|| unknown(&key.limit))
    }

    /// What tells the rules of a key from those of others, where they are its own.
    pub fn own(&self, key: &StateKey) -> Option<u64> {
        self.heard(key)?.own
    }

    fn heard(&self, key: &StateKey) -> Option<&Heard> {
        let rules = self.limits.get(&key.limit)?;
        let newer = match (rules.own.get(&key.key), rules.all.as_ref()) {
            (Some(own), Some(all)) if all.since() > own.since() => Some(all),
            (own, all) => own.or(all),
        };
        let any = || rules.iter().next();
        newer.or_else(any)
    }
}

impl Rules {
    fn of(&self, key: Option<&str>) -> Option<&Heard> {
        match key {
            Some(key) => self.own.get(key),
            None => self.all.as_ref(),
        }
    }

    /// What it replaces.
    fn put(&mut self, key: Option<&str>, heard: Heard) -> Option<Heard> {
        match key {
            Some(key) => self.own.insert(key.to_owned(), heard),
            None => self.all.replace(heard),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Heard> {
        self.all.iter().chain(self.own.values())
    }
}

impl Heard {
    fn since(&self) -> (Revision, u64) {
        (self.age.0, self.age.1)
    }
}

/// A number for the rules themselves, whatever key and revision they are of.
fn print(terms: &LimitTerms) -> u64 {
    let rules = (&terms.body, &terms.meter, &terms.guard);
    // Plain data is always written.
    print_of(&serde_json::to_string(&rules).unwrap_or_default())
}

/// A limit of a question without its rules.
pub(super) fn unknown(limit: &str) -> Invalid {
    let fault = Fault::Unknown {
        name: limit.to_owned(),
        what: "limit of this question",
    };
    Invalid::new("/limits", fault)
}

#[cfg(test)]
mod tests {
    use weir_wire::decimal::Decimal;
    use weir_wire::limit_terms::{GuardTerms, MeterTerms};

    use super::*;

    fn terms(key: Option<&str>, revision: u64, since: u64, per_sec: f64) -> LimitTerms {
        let meter = MeterTerms {
            per_sec: Decimal(per_sec),
            burst_seconds: Decimal(1.0),
            max_debt_ms: 1_000,
        };
        LimitTerms {
            key: key.map(str::to_owned),
            since,
            ..LimitTerms::of_meter("m", Revision(revision), meter)
        }
    }

    fn key(key: &str) -> StateKey {
        StateKey {
            limit: "meter\u{1}m".to_owned(),
            key: key.to_owned(),
        }
    }

    /// The ceiling that applies to a key after the rules were heard in that order: twice the rate.
    fn applied(heard: &[LimitTerms], to: &str) -> u64 {
        let mut known = Known::default();
        heard.iter().for_each(|terms| {
            known.learn(std::slice::from_ref(terms)).unwrap();
        });
        known.decides(&key(to)).unwrap().ceiling() / 2
    }

    #[test]
    fn the_newest_rules_count_in_whatever_order_they_come() {
        let all = terms(None, 7, 0, 10.0);
        let own = terms(Some("acme"), 7, 0, 20.0);
        let phase = terms(Some("acme"), 7, 5_000, 30.0);
        let later = terms(None, 8, 0, 40.0);
        let cases: [(&[&LimitTerms], u64, u64); 5] = [
            (&[&all], 10, 10),
            (&[&all, &own], 20, 10),
            (&[&all, &own, &phase], 30, 10),
            (&[&all, &own, &phase, &later], 40, 40),
            (&[&own, &phase], 30, 30),
        ];
        for (heard, acme, other) in cases {
            let mut heard: Vec<_> = heard.iter().map(|terms| (*terms).clone()).collect();
            for _ in 0..heard.len() {
                heard.rotate_left(1);
                assert_eq!(applied(&heard, "acme"), acme, "{heard:?}");
                if heard.iter().any(|terms| terms.key.is_none()) {
                    assert_eq!(applied(&heard, "globex"), other, "{heard:?}");
                }
            }
        }
    }

    #[test]
    fn an_overflow_is_decided_though_only_single_keys_have_rules() {
        let own = terms(Some("acme"), 7, 0, 20.0);
        let shared = super::super::owner::overflow_key(None);
        assert_eq!(applied(&[own], &shared), 20);
        assert!(Known::default().decides(&key("acme")).is_err());
    }

    #[test]
    fn rules_of_two_kinds_at_once_and_parts_of_a_slot_are_refused() {
        let guard = GuardTerms {
            concurrency: Some(1),
            per_minute: None,
            lease_ms: 30_000,
        };
        let both = LimitTerms {
            guard: Some(guard),
            ..terms(None, 1, 0, 10.0)
        };
        assert_eq!(machine_of(&both).unwrap_err().field, "/guard");
        let parts = LimitTerms {
            scale: 2,
            ..LimitTerms::of_guard("g", Revision(1), guard)
        };
        assert_eq!(machine_of(&parts).unwrap_err().field, "/scale");
    }

    #[test]
    fn rules_have_a_bound_and_those_of_the_newest_revision_stay_longest() {
        let mut known = Known::default();
        for number in 0..SHARD_RULES_MAX + 10 {
            let revision = 1 + (number % 2) as u64;
            let own = terms(Some(&number.to_string()), revision, 0, 10.0);
            known.learn(&[own]).unwrap();
            assert!(known.count <= SHARD_RULES_MAX);
        }
        let counted = known.limits.values().flat_map(Rules::iter).count();
        assert_eq!(known.count, counted);
        let rules = &known.limits["meter\u{1}m"].own;
        assert!(rules.contains_key("1") && !rules.contains_key("0"));
    }

    #[test]
    fn rules_of_older_revisions_make_room_and_those_of_the_newest_stay_while_there_is_room() {
        let named = |name: usize, revision| LimitTerms {
            name: format!("m{name}"),
            ..terms(None, revision, 0, 10.0)
        };
        let key = |name: usize| StateKey {
            limit: format!("m{name}"),
            key: "acme".to_owned(),
        };
        let mut known = Known::default();
        known.learn(&[named(0, 6)]).unwrap();
        for name in 1..SHARD_RULES_MAX {
            known.learn(&[named(name, 7)]).unwrap();
        }
        assert!(known.decides(&key(0)).is_ok(), "there is room for all");
        known.learn(&[named(SHARD_RULES_MAX, 7)]).unwrap();
        assert!(known.decides(&key(0)).is_err());
        for name in [1, SHARD_RULES_MAX] {
            assert!(known.decides(&key(name)).is_ok(), "m{name}");
        }
        known.learn(&[named(SHARD_RULES_MAX + 1, 7)]).unwrap();
        assert!(known.decides(&key(1)).is_err(), "all are as new");
        assert!(known.decides(&key(SHARD_RULES_MAX + 1)).is_ok());
    }
}
