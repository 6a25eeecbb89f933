//! What a question asks of shards: the keys that it claims, so that one request asks for all that wait, and one question
//! for each shard.

use std::rc::Rc;

use weir_shared::algorithms::composite::StateKey;
use weir_shared::decision::{Decision, Retry};
use weir_shared::limiting::key_cache::KeyCache;
use weir_shared::limiting::messages::{AskedBody, DecideBody, DecidedBody, GroupBody, ReturnBody};
use weir_shared::limiting::owner::Account;
use weir_shared::node::question::answers::{Answers, At, Part};
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::LimitTerms;

use super::memory::{now, with};
use super::plan::{Dimension, Kind, Place};
use super::question::RequestQuestion;
use super::shard::question_id;
use crate::http::failure::Failure;
use crate::objects::binding::KeyShard;

/// Keys that a question asks for. Others wait for those of units until this goes out of scope; for slots some may ask at
/// the same time.
pub struct Claim {
    region: String,
    keys: Vec<Open>,
    slots: Vec<Open>,
}

/// A key that is open, and on whose account it is kept.
type Open = (StateKey, Rc<Account>);

impl Drop for Claim {
    fn drop(&mut self) {
        // A view that cannot be reached has no key caches either.
        let _gone = with(&self.region, |view| {
            for (key, _) in &self.keys {
                // One that was forgotten meanwhile asks for nothing.
                let _failed = view.known_key_cache(key).map(KeyCache::fail);
            }
            for (key, _) in &self.slots {
                view.lines.leave(key);
            }
        });
    }
}

impl RequestQuestion<'_> {
    /// Whether another request asks for a key that is open, or too many ask for slots of one.
    pub(super) fn busy(&self, answers: &Answers) -> Result<bool, Failure> {
        let (keys, slots, at) = (self.open_keys(answers), self.open_slots(answers), now());
        with(self.region, |view| {
            let asked = keys.iter().any(|(key, _)| {
                let cache = view.known_key_cache(key);
                cache.is_some_and(|cache| cache.asking(at))
            });
            asked || slots.iter().any(|(key, _)| view.lines.is_full(key))
        })
    }

    /// Claims every key that is open, or none when another request asks for one of them, or too many do.
    pub(super) fn claim(&self, answers: &Answers) -> Result<Option<Claim>, Failure> {
        if self.busy(answers)? {
            return Ok(None);
        }
        let (keys, slots, at) = (self.open_keys(answers), self.open_slots(answers), now());
        with(self.region, |view| {
            for (key, account) in &keys {
                view.key_cache(key, account, at).claim(at);
            }
            for (key, account) in &slots {
                view.lines.enter(key, account, at);
            }
            Some(Claim {
                region: self.region.to_owned(),
                keys,
                slots,
            })
        })
    }

    fn open_keys(&self, answers: &Answers) -> Vec<Open> {
        self.open(answers, |kind| kind == Kind::Units)
    }

    fn open_slots(&self, answers: &Answers) -> Vec<Open> {
        self.open(answers, |kind| kind != Kind::Units)
    }

    fn open(&self, answers: &Answers, which: impl Fn(Kind) -> bool) -> Vec<Open> {
        let open = self.places().filter(|at| answers.get(*at).is_none());
        open.filter_map(|at| match &self.dimension(at).place {
            Place::Shard {
                key, kind, account, ..
            } if which(*kind) => Some((key.clone(), Rc::clone(account))),
            _ => None,
        })
        .collect()
    }

    /// The questions to the shards, one each.
    pub(super) fn parts(&self, answers: &Answers) -> Result<Vec<Part<KeyShard>>, Failure> {
        let mut open: OrderedMap<&KeyShard, Vec<At>> = OrderedMap::new();
        for at in self.places() {
            if let (Place::Shard { shard, .. }, None) = (&self.dimension(at).place, answers.get(at))
            {
                open.entry(shard).or_default().push(at);
            }
        }
        let several = open.len() > 1;
        open.into_iter()
            .map(|(shard, keys)| self.part(shard.clone(), &keys, several, answers))
            .collect()
    }

    fn part(
        &self,
        shard: KeyShard,
        open: &[At],
        several: bool,
        answers: &Answers,
    ) -> Result<Part<KeyShard>, Failure> {
        let at_ms = now();
        // A tenant may have rules of its own for some keys of a limit.
        let mut limits: OrderedMap<(&str, Option<&str>), &LimitTerms> = OrderedMap::new();
        let mut groups = Vec::new();
        let mut keys = Vec::new();
        let mut returns = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let mut dimensions = Vec::new();
            for (inner, dimension) in step.dimensions.iter().enumerate() {
                let at = (index, inner);
                let shadow = dimension.rules.shadow || !step.enforced;
                if let (
                    Place::Shard {
                        key,
                        terms,
                        kind,
                        known,
                        account,
                        ..
                    },
                    true,
                ) = (&dimension.place, open.contains(&at))
                {
                    limits.insert((&terms.name, terms.key.as_deref()), terms);
                    let (back, ahead) = match dimension.look || *kind != Kind::Units {
                        true => (None, 0),
                        false => with(self.region, |view| {
                            let cache = view.key_cache(key, account, at_ms);
                            (cache.take_back(), cache.interval(at_ms))
                        })?,
                    };
                    if let Some((units, receipt)) = back {
                        returns.push(ReturnBody {
                            limit: key.limit.clone(),
                            key: key.key.clone(),
                            units,
                            receipt,
                        });
                    }
                    keys.push((at, (groups.len(), dimensions.len())));
                    dimensions.push(AskedBody::Key {
                        limit: key.limit.clone(),
                        key: key.key.clone(),
                        cost: dimension.units,
                        look: dimension.look,
                        ahead,
                        shadow,
                        known: *known,
                        account: account.as_ref().clone(),
                    });
                } else if let Some(answer) = answers.get(at) {
                    dimensions.push(AskedBody::Decided {
                        decision: as_it_counts(dimension, answer.decision),
                        shadow,
                    });
                } else {
                    // Another shard decides it. Whether the whole admits is known when all have answered: until then
                    // it stands in no one's way.
                    dimensions.push(AskedBody::Decided {
                        decision: Decision::IDENTITY.into(),
                        shadow,
                    });
                }
            }
            groups.push(GroupBody {
                mode: step.mode,
                dimensions,
            });
        }
        Ok(Part {
            shard,
            body: DecideBody {
                v: VERSION,
                op: question_id(),
                limits: limits.into_values().cloned().collect(),
                returns,
                groups,
                hold: several,
            },
            keys,
        })
    }
}

/// A decision as it counts for the others: one that is excused does not deny.
fn as_it_counts(dimension: &Dimension<'_>, decision: Decision) -> DecidedBody {
    if dimension.rules.passes(&decision) && !decision.admitted() && !dimension.rules.shadow {
        return Decision {
            retry: Retry::Now,
            ..Decision::IDENTITY
        }
        .into();
    }
    decision.into()
}
