//! The last decisions that a ledger was shown: some of many, as isolates tell a few of each frame's.

use std::cmp::Reverse;
use std::collections::VecDeque;

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{DECISIONS_KEPT_MAX, LABEL_BYTES_MAX, NAME_BYTES_MAX};
use weir_core::ordered::sort_by_key;
use weir_core::query::Query;
use weir_core::units::EpochMs;
use weir_wire::check::Reason;
use weir_wire::operator::decisions::{
    DecisionOutcome, DecisionRow, DecisionsBody, DecisionsReply, DecisionsView,
};
use weir_wire::operator::live::DecisionSample;

/// The last [`DECISIONS_KEPT_MAX`] decisions, in memory alone.
#[derive(Debug, Clone, Default)]
pub struct RecentDecisions {
    kept: VecDeque<DecisionSample>,
}

impl RecentDecisions {
    /// Keeps what came last.
    pub fn keep(&mut self, samples: &[DecisionSample]) {
        for sample in samples {
            if self.kept.len() >= DECISIONS_KEPT_MAX {
                self.kept.pop_front();
            }
            self.kept.push_back(sample.clone());
        }
    }

    /// Those that are asked for, newest first.
    #[must_use]
    pub fn read(&self, asked: &DecisionsBody) -> DecisionsReply {
        let found = self.kept.iter().filter(|sample| is_asked(asked, sample));
        let mut samples: Vec<DecisionSample> = found.cloned().collect();
        // Isolates tell theirs at different times.
        sort_by_key(&mut samples, |sample| Reverse(sample.at));
        DecisionsReply { samples }
    }
}

fn is_asked(asked: &DecisionsBody, sample: &DecisionSample) -> bool {
    let outcome = DecisionOutcome::of(sample);
    asked.outcome.is_none_or(|asked| asked == outcome)
        && asked.reason.is_none_or(|reason| reason == sample.reason)
        && (asked.tenant.is_none() || asked.tenant == sample.tenant)
        && asked.search.as_ref().is_none_or(|part| {
            let tenant = sample.tenant.as_deref().unwrap_or_default();
            tenant.to_lowercase().contains(part)
        })
        && asked
            .binding
            .as_ref()
            .is_none_or(|name| *name == sample.binding)
}

/// Takes `tenant`, `search`, `outcome`, `reason` and `binding` out of a query.
///
/// # Errors
/// An outcome or a reason that there is none of, a name that cannot be one.
///
/// ```
/// use weir_core::query::Query;
/// use weir_operations::report::decisions::asked;
/// let mut query = Query::new([("outcome", "shed")]).unwrap();
/// assert_eq!(
///     asked(&mut query).unwrap_err().to_string(),
///     "/outcome: shed is not served; served: admitted, denied, would_deny"
/// );
/// ```
pub fn asked(query: &mut Query) -> Result<DecisionsBody, Invalid> {
    Ok(DecisionsBody {
        tenant: query.tenant("tenant")?,
        search: query
            .text("search", NAME_BYTES_MAX)?
            .map(|part| part.to_lowercase()),
        outcome: one_of(
            query,
            "outcome",
            DecisionOutcome::named,
            "admitted, denied, would_deny",
        )?,
        reason: one_of(
            query,
            "reason",
            Reason::named,
            "admitted, over_share, cap_reached, limit_exceeded, concurrency, overloaded, unavailable, never",
        )?,
        binding: query.text("binding", LABEL_BYTES_MAX)?,
    })
}

fn one_of<T>(
    query: &mut Query,
    name: &str,
    named: impl Fn(&str) -> Option<T>,
    served: &'static str,
) -> Result<Option<T>, Invalid> {
    let Some(text) = query.take(name) else {
        return Ok(None);
    };
    let found = named(&text).ok_or_else(|| {
        let got = text.chars().take(LABEL_BYTES_MAX).collect();
        Invalid::new(format!("/{name}"), Fault::Unserved { got, served })
    })?;
    Ok(Some(found))
}

/// The answers of all regions in one, newest first; a region without one is named.
#[must_use]
pub fn merged(
    at: EpochMs,
    answers: impl IntoIterator<Item = (String, Option<DecisionsReply>)>,
) -> DecisionsView {
    let mut decisions = Vec::new();
    let mut unreachable = Vec::new();
    for (region, answer) in answers {
        let Some(answer) = answer else {
            unreachable.push(region);
            continue;
        };
        decisions.extend(answer.samples.into_iter().map(|sample| DecisionRow {
            region: region.clone(),
            outcome: DecisionOutcome::of(&sample),
            sample,
        }));
    }
    sort_by_key(&mut decisions, |row| Reverse(row.sample.at));
    DecisionsView {
        at,
        unreachable,
        decisions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, tenant: &str, reason: Reason, would_deny: bool) -> DecisionSample {
        DecisionSample {
            at: EpochMs(at),
            tenant: Some(tenant.to_owned()),
            allowed: reason == Reason::Admitted || would_deny,
            decision: None,
            binding: "tokens".to_owned(),
            reason,
            would_deny,
        }
    }

    fn times(reply: &DecisionsReply) -> Vec<u64> {
        reply.samples.iter().map(|sample| sample.at.0).collect()
    }

    #[test]
    fn the_newest_come_first_and_what_is_too_old_is_gone() {
        let mut recent = RecentDecisions::default();
        for at in 0..DECISIONS_KEPT_MAX as u64 + 2 {
            recent.keep(&[sample(at, "acme", Reason::Admitted, false)]);
        }
        let told = times(&recent.read(&DecisionsBody::default()));
        assert_eq!(told.len(), DECISIONS_KEPT_MAX);
        assert_eq!(told.first(), Some(&(DECISIONS_KEPT_MAX as u64 + 1)));
        assert_eq!(told.last(), Some(&2));
    }

    #[test]
    fn each_filter_keeps_what_it_names() {
        let mut recent = RecentDecisions::default();
        recent.keep(&[
            sample(3, "acme", Reason::Admitted, false),
            sample(1, "acme", Reason::OverShare, false),
            sample(2, "flood", Reason::OverShare, true),
        ]);
        for (pairs, expected) in [
            (vec![], vec![3, 2, 1]),
            (vec![("tenant", "acme")], vec![3, 1]),
            (vec![("search", "FLO")], vec![2]),
            (vec![("outcome", "admitted")], vec![3]),
            (vec![("outcome", "would_deny")], vec![2]),
            (vec![("outcome", "denied")], vec![1]),
            (vec![("reason", "over_share")], vec![2, 1]),
            (vec![("binding", "tokens"), ("tenant", "flood")], vec![2]),
            (vec![("binding", "token")], vec![]),
        ] {
            let mut query = Query::new(pairs.iter().copied()).unwrap();
            let body = asked(&mut query).unwrap();
            assert_eq!(times(&recent.read(&body)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn names_in_queries_are_those_on_the_wire() {
        for reason in Reason::ALL {
            let wire = serde_json::to_value(reason).unwrap();
            assert_eq!(wire, reason.name());
            assert_eq!(Reason::named(reason.name()), Some(reason));
        }
        for outcome in DecisionOutcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }

    #[test]
    fn regions_are_one_list_and_a_silent_one_is_named() {
        let reply = |at| {
            Some(DecisionsReply {
                samples: vec![sample(at, "acme", Reason::Admitted, false)],
            })
        };
        let answers = [
            ("weur".to_owned(), reply(1)),
            ("oc".to_owned(), None),
            ("enam".to_owned(), reply(2)),
        ];
        let view = merged(EpochMs(9), answers);
        let told: Vec<&str> = view
            .decisions
            .iter()
            .map(|row| row.region.as_str())
            .collect();
        assert_eq!(told, ["enam", "weur"]);
        assert_eq!(view.unreachable, ["oc"]);
        let json = serde_json::to_value(&view.decisions[0]).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "region": "enam", "outcome": "admitted", "at": 2, "tenant": "acme", "allowed": true,
                "binding": "tokens", "reason": "admitted"
            })
        );
    }
}
