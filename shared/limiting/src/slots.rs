//! The slots of guards at a shard: renewed, released, and told with each answer.

use weir_algorithms::State;
use weir_algorithms::composite::{Group, Source, StateKey};
use weir_algorithms::scale::ScaledState;
use weir_core::invalid::Invalid;
use weir_core::units::EpochMs;

use super::rows::{Draft, Put, Rows, draft};
use super::shard::Shard;
use super::terms::unknown;
use crate::messages::{DecideReply, GuardAction, GuardBody, GuardReply};

impl Shard {
    /// Renews or releases a slot of a guard.
    ///
    /// # Errors
    /// As [`Shard::decide`], and when the rules are not those of a guard.
    pub fn guard(
        &mut self,
        body: &GuardBody,
        rows: &mut impl Rows,
        now: EpochMs,
    ) -> Result<(GuardReply, Vec<Put>), Invalid> {
        self.known.learn(std::slice::from_ref(&body.terms))?;
        let mut draft = draft(rows);
        self.lapse(&mut draft, now);
        let state_key = |key: &String| StateKey {
            limit: body.terms.name.clone(),
            key: key.clone(),
        };
        let asked = state_key(&body.key);
        let machine = self.known.decides(&asked)?;
        let guard = machine.guard().ok_or_else(|| unknown(&asked.limit))?;
        let key = draft.keep(asked, state_key(body.kept.as_ref().unwrap_or(&body.key)));
        let mut state = draft.state(machine, &key, now);
        let mut held = None;
        if let Some(State::Guard(before)) = state.as_ref().map(|state| &state.state) {
            let slotted = match body.action {
                GuardAction::Renew => guard.renew(before, body.slot, now),
                GuardAction::Release => guard.release(before, body.slot, now),
            };
            held = slotted.expires_at;
            if let Some(next) = slotted.next {
                let next = ScaledState::whole(State::Guard(next));
                draft.touched.insert(key, next.clone());
                state = Some(next);
            }
        }
        let reply = GuardReply {
            held: held.is_some(),
            expires_at: held,
            in_flight: machine.in_flight(state.as_ref(), now),
        };
        Ok((reply, self.finish_draft(draft)))
    }
}

/// Tells how many slots of each guard are held after the question.
pub(super) fn tell_slots<R: Rows>(
    groups: &[Group<'_>],
    draft: &mut Draft<'_, R>,
    reply: &mut DecideReply,
    now: EpochMs,
) {
    for (group, answers) in groups.iter().zip(&mut reply.groups) {
        for (dimension, answer) in group.dimensions.iter().zip(answers) {
            let (Source::Here { machine, key, .. } | Source::Look { machine, key, .. }) =
                &dimension.source
            else {
                continue;
            };
            if machine.guard().is_some() {
                let state = draft.state(machine, key, now);
                answer.in_flight = machine.in_flight(state.as_ref(), now);
            }
        }
    }
}
