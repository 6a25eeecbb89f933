//! The answer of a shard, and what it charged for it.

use weir_algorithms::composite::{Group, Source, Verdict};
use weir_wire::exchange::VERSION;

use super::hold::Charge;
use super::rows::Draft;
use crate::messages::{AnsweredBody, DecideReply};

/// The answer to a question that was not taken.
pub(super) fn nothing() -> DecideReply {
    DecideReply {
        v: VERSION,
        taken: false,
        admitted: false,
        groups: Vec::new(),
    }
}

/// The answer that a verdict comes to, nothing drawn.
pub(super) fn reply(verdict: &Verdict) -> DecideReply {
    let groups = verdict.decisions.iter().zip(&verdict.receipts);
    let groups = groups.map(|(decisions, receipts)| {
        let answers = decisions.iter().zip(receipts);
        answers
            .map(|(decision, receipt)| AnsweredBody {
                decision: (*decision).into(),
                receipt: receipt.clone(),
                drawn: None,
                in_flight: None,
            })
            .collect()
    });
    DecideReply {
        v: VERSION,
        taken: true,
        admitted: verdict.admitted,
        groups: groups.collect(),
    }
}

/// Has each receipt say where its charge is kept, where that is not where it was asked for.
pub(super) fn name_places<R>(groups: &[Group<'_>], draft: &Draft<'_, R>, verdict: &mut Verdict) {
    for (group, receipts) in groups.iter().zip(&mut verdict.receipts) {
        for (dimension, receipt) in group.dimensions.iter().zip(receipts) {
            if let (Source::Here { key, .. }, Some(charged)) = (&dimension.source, receipt.take()) {
                *receipt = Some(charged.kept_under(&key.key, &draft.asked(key).key));
            }
        }
    }
}

/// What was charged here, to be given back if the question is undone.
pub(super) fn charges<R>(
    groups: &[Group<'_>],
    draft: &Draft<'_, R>,
    verdict: &Verdict,
) -> Vec<Charge> {
    let mut charges = Vec::new();
    for (group, receipts) in groups.iter().zip(&verdict.receipts) {
        for (dimension, receipt) in group.dimensions.iter().zip(receipts) {
            if let (Source::Here { key, cost, .. }, Some(receipt)) = (&dimension.source, receipt) {
                charges.push(Charge {
                    key: draft.asked(key).clone(),
                    units: *cost,
                    receipt: receipt.clone(),
                });
            }
        }
    }
    charges
}
