//! A shard of a region's keys: decides questions, holds what is not committed yet, settles reservations.
//!
//! Every event gives the rows to write, at once and before the answer leaves.

use weir_algorithms::State;
use weir_algorithms::composite::{Dimension, Group, Source, StateKey, evaluate};
use weir_algorithms::scale::{Scaled, ScaledState};
use weir_core::invalid::Invalid;
use weir_core::limits::{CALL_MS_MAX, HOLD_MS};
use weir_core::units::{EpochMs, OpId};
use weir_decision::Decision;
use weir_wire::limit_terms::LimitTerms;

use super::asked_scale::{in_scale, out_of_scale};
use super::hold::{Charge, Holds, Recent};
use super::reply::{charges, name_places, nothing, reply};
use super::reset::{Resets, charged_at};
use super::rows::{Draft, KeyPlacement, Put, Row, Rows, draft};
use super::slots::tell_slots;
use super::terms::{Known, unknown};
use crate::messages::{
    AskedBody, DebtBody, DecideBody, DecideReply, DrawnBody, FinishBody, FinishReply, ReturnBody,
    SettleKeysBody, SettledKeys, ShapeBody, ShapeReply,
};
use crate::stored::StoredHold;

/// A shard.
#[derive(Debug, Clone, Default)]
pub struct Shard {
    pub(super) known: Known,
    pub(super) holds: Holds,
    pub(super) recent: Recent,
    pub(super) resets: Resets,
}

impl Shard {
    /// A shard that wakes with the holds that were stored.
    #[must_use]
    pub fn wake(holds: impl IntoIterator<Item = (OpId, StoredHold)>) -> Self {
        Self {
            holds: Holds::wake(holds),
            ..Self::default()
        }
    }

    /// Decides a question.
    ///
    /// # Errors
    /// When its rules are not valid, or it names a limit without its rules; nothing is changed.
    pub fn decide(
        &mut self,
        body: &DecideBody,
        rows: &mut impl Rows,
        now: EpochMs,
    ) -> Result<(DecideReply, Vec<Put>), Invalid> {
        self.known.learn(&body.limits)?;
        let mut draft = draft(rows);
        self.lapse(&mut draft, now);
        for back in &body.returns {
            self.give_back(&mut draft, back, now)?;
        }
        let account = body.account();
        // One that comes again is charged already.
        let again = self.holds.get(body.op).is_some() || self.recent.has_charged(body.op);
        let refused = again
            || self.recent.was_undone(body.op)
            || (body.hold && !self.holds.has_room(account));
        if refused {
            return Ok((nothing(), self.finish_draft(draft)));
        }
        let groups = self.groups(body, &mut draft, now)?;
        let load = |key: &StateKey| {
            let machine = self.known.decides(draft.asked(key)).ok()?;
            draft.state(machine, key, now)
        };
        let mut verdict = evaluate(&groups, load, now);
        name_places(&groups, &draft, &mut verdict);
        let mut charges = charges(&groups, &draft, &verdict);
        let mut reply = reply(&verdict);
        draft.touched.extend(verdict.writes);
        tell_slots(&groups, &mut draft, &mut reply, now);
        let drawn = self.draw(body, &groups, &mut draft, &mut reply, now);
        if body.hold && reply.admitted {
            let lapses_at = now.plus(HOLD_MS);
            let row =
                StoredHold::new(&body.limits, (&charges, &drawn), lapses_at).of(account.clone());
            self.holds.put(body.op, row.clone());
            draft.puts.push(Put::Hold {
                op: body.op,
                row: Some(row),
            });
        } else {
            // Undone only when its answer is lost, and what was drawn with it.
            charges.extend(drawn);
            self.recent.charged(body.op, charges, now);
        }
        Ok((reply, self.finish_draft(draft)))
    }

    /// Ends a question: its charges stand, or are undone. One that has not arrived yet is undone when it does.
    pub fn finish(
        &mut self,
        body: FinishBody,
        rows: &mut impl Rows,
        now: EpochMs,
    ) -> (FinishReply, Vec<Put>) {
        let mut draft = draft(rows);
        self.lapse(&mut draft, now);
        let op = body.op;
        let standing = match (body.commit, self.holds.take(op)) {
            (true, Some(row)) => {
                // Kept for a while longer: another shard may still fail to commit.
                let row = row.committed(now.plus(HOLD_MS + 2 * CALL_MS_MAX));
                self.holds.put(op, row.clone());
                let row = Some(row);
                draft.puts.push(Put::Hold { op, row });
                true
            }
            (true, None) => false,
            (false, held) => {
                if let Some(row) = held {
                    self.undo_hold(&mut draft, &row, now);
                    if !body.heard {
                        self.take_back(&mut draft, &row.draws, now);
                    }
                    draft.puts.push(Put::Hold { op, row: None });
                }
                for charge in self.recent.undo(op, now) {
                    // A limit that is not known any more has no state either.
                    let _taken = self.give_back(&mut draft, &ReturnBody::from(&charge), now);
                }
                false
            }
        };
        (FinishReply { standing }, self.finish_draft(draft))
    }

    /// Settles what a reservation charged here, once: a second settlement answers the first result.
    ///
    /// # Errors
    /// As [`Shard::decide`].
    pub fn settle(
        &mut self,
        body: &SettleKeysBody,
        rows: &mut impl Rows,
        now: EpochMs,
    ) -> Result<(SettledKeys, Vec<Put>), Invalid> {
        self.known.learn(&body.limits)?;
        if let Some(result) = rows.settled(body.op) {
            return Ok((result, Vec::new()));
        }
        let mut draft = draft(rows);
        self.lapse(&mut draft, now);
        let mut result = SettledKeys::default();
        let charged_at = charged_at(body);
        for back in &body.returns {
            let void = self.resets.void_charge(&kept_of(back), charged_at);
            let taken = if void {
                0
            } else {
                self.give_back(&mut draft, back, now)?
            };
            result.returned.push(taken);
        }
        for debt in &body.debts {
            let charged = self.charge_debt(&mut draft, debt, &body.limits, now)?;
            result.charged.push(charged);
        }
        draft.puts.push(Put::Settled {
            op: body.op,
            result: result.clone(),
            expires_at: body.expires_at,
        });
        Ok((result, self.finish_draft(draft)))
    }

    /// Gives a place in the queue of a leaky bucket.
    ///
    /// # Errors
    /// As [`Shard::decide`].
    pub fn shape(
        &mut self,
        body: &ShapeBody,
        rows: &mut impl Rows,
        now: EpochMs,
    ) -> Result<(ShapeReply, Vec<Put>), Invalid> {
        self.known.learn(std::slice::from_ref(&body.limit))?;
        let key = StateKey {
            limit: body.limit.name.clone(),
            key: body.key.clone(),
        };
        let machine = self.known.decides(&key)?;
        let Some(bucket) = machine.queue() else {
            return Err(unknown(&body.limit.name));
        };
        let placement = KeyPlacement {
            only: body.known,
            account: &body.account,
            rules: self.known.own(&key),
        };
        let key = rows.place(key, placement);
        let row = rows.state(&key);
        let (state, rewritten) = match &row {
            Row::Warm(ScaledState {
                state: State::LeakyBucket(state),
                ..
            }) => (Some(state.clone()), false),
            Row::Warm(other) => (bucket.carried(other, now), true),
            Row::Damaged => (Some(bucket.exhausted(now)), true),
            Row::Cold => (None, false),
        };
        let reserved = bucket.reserve(state.as_ref(), body.cost, now);
        // A row that cannot be read is written as a full queue, so that it comes to an end; one of other rules by these.
        let kept = reserved.next.or(state.filter(|_| rewritten));
        let puts = kept.map(|next| Put::State {
            key,
            expires_at: bucket.expires_at(&next),
            state: ScaledState::whole(State::LeakyBucket(next)),
        });
        let outcome = reserved.outcome;
        let reply = ShapeReply {
            accepted: outcome.accepted,
            delay_ms: outcome.delay_ms,
            retry_after_ms: outcome.retry.after_ms(),
        };
        Ok((reply, puts.into_iter().collect()))
    }

    /// Gives back what was held too long; the rows to write.
    pub fn expire(&mut self, rows: &mut impl Rows, now: EpochMs) -> Vec<Put> {
        let mut draft = draft(rows);
        self.lapse(&mut draft, now);
        self.finish_draft(draft)
    }

    fn groups<R: Rows>(
        &self,
        body: &DecideBody,
        draft: &mut Draft<'_, R>,
        now: EpochMs,
    ) -> Result<Vec<Group<'_>>, Invalid> {
        let mut groups = Vec::with_capacity(body.groups.len());
        for group in &body.groups {
            let mut dimensions = Vec::with_capacity(group.dimensions.len());
            for asked in &group.dimensions {
                dimensions.push(self.dimension(asked, &body.limits, draft, now)?);
            }
            groups.push(Group {
                mode: group.mode,
                dimensions,
            });
        }
        Ok(groups)
    }

    fn dimension<R: Rows>(
        &self,
        asked: &AskedBody,
        limits: &[LimitTerms],
        draft: &mut Draft<'_, R>,
        now: EpochMs,
    ) -> Result<Dimension<'_>, Invalid> {
        Ok(match asked {
            AskedBody::Decided { decision, shadow } => Dimension {
                source: Source::Elsewhere(Decision::from(*decision)),
                shadow: *shadow,
            },
            AskedBody::Key {
                limit,
                key,
                cost,
                look,
                shadow,
                known,
                account,
                ahead: _,
            } => {
                let key = StateKey {
                    limit: limit.clone(),
                    key: key.clone(),
                };
                let machine = self.known.decides(&key)?;
                let parts = in_scale(*cost, limit, limits, machine);
                let placement = KeyPlacement {
                    only: *known,
                    account,
                    rules: self.known.own(&key),
                };
                let place = draft.rows.place(key.clone(), placement);
                let stays = place != key && denies(draft.rows, machine, &key, parts, now);
                let place = if stays { key.clone() } else { place };
                let key = draft.keep(key, place);
                let source = if *look {
                    Source::Look {
                        machine,
                        key,
                        parts,
                    }
                } else {
                    Source::Here {
                        machine,
                        key,
                        cost: parts,
                    }
                };
                Dimension {
                    source,
                    shadow: *shadow,
                }
            }
        })
    }

    /// Charges what the asker wants ahead of each key, as far as it lasts, and answers the charges. Only where units are
    /// counted whole.
    fn draw<R: Rows>(
        &self,
        body: &DecideBody,
        groups: &[Group<'_>],
        draft: &mut Draft<'_, R>,
        reply: &mut DecideReply,
        now: EpochMs,
    ) -> Vec<Charge> {
        let mut charges = Vec::new();
        if !reply.admitted {
            return charges;
        }
        let groups = body.groups.iter().zip(groups).zip(&mut reply.groups);
        for ((asked, group), answers) in groups {
            let dimensions = asked.dimensions.iter().zip(&group.dimensions);
            for ((asked, dimension), answer) in dimensions.zip(answers) {
                let (AskedBody::Key { ahead, .. }, Source::Here { machine, key, .. }) =
                    (asked, &dimension.source)
                else {
                    continue;
                };
                let units = (*ahead).min(answer.decision.remaining);
                if units == 0 || machine.scale() != 1 || answer.receipt.is_none() {
                    continue;
                }
                let state = draft.state(machine, key, now);
                let checked = machine.check(state.as_ref(), units, now);
                let Some(next) = checked.next else {
                    continue;
                };
                let asked = draft.asked(key).clone();
                let receipt = machine.receipt(&next).kept_under(&key.key, &asked.key);
                let until = machine.spendable_until(&next, now);
                if until <= now {
                    continue;
                }
                draft.touched.insert(key.clone(), next);
                charges.push(Charge {
                    key: asked,
                    units,
                    receipt: receipt.clone(),
                });
                answer.drawn = Some(DrawnBody {
                    units,
                    spendable_ms: (until != EpochMs(u64::MAX)).then(|| until.since(now)),
                    receipt,
                });
            }
        }
        charges
    }

    /// Units taken back; 0 when their window is over.
    fn give_back<R: Rows>(
        &self,
        draft: &mut Draft<'_, R>,
        back: &ReturnBody,
        now: EpochMs,
    ) -> Result<u64, Invalid> {
        let asked = StateKey {
            limit: back.limit.clone(),
            key: back.key.clone(),
        };
        let machine = self.known.decides(&asked)?;
        let key = draft.keep(asked, kept_of(back));
        if self.resets.void_draw(&key, now) {
            return Ok(0);
        }
        let Some(state) = draft.state(machine, &key, now) else {
            return Ok(0);
        };
        let Some(next) = machine.refund(&state, &back.receipt, back.units, now) else {
            return Ok(0);
        };
        draft.touched.insert(key, next);
        Ok(back.units)
    }

    /// Units charged of a debt: what the state admits at this instant, and never more.
    fn charge_debt<R: Rows>(
        &self,
        draft: &mut Draft<'_, R>,
        debt: &DebtBody,
        limits: &[LimitTerms],
        now: EpochMs,
    ) -> Result<u64, Invalid> {
        let asked = StateKey {
            limit: debt.limit.clone(),
            key: debt.key.clone(),
        };
        let machine = self.known.decides(&asked)?;
        if machine.guard().is_some() {
            // A slot is held by what runs; what ran longer or cost more holds none.
            return Ok(0);
        }
        let kept = StateKey {
            limit: debt.limit.clone(),
            key: debt.kept.as_ref().unwrap_or(&debt.key).clone(),
        };
        let key = draft.keep(asked, kept);
        let state = draft.state(machine, &key, now);
        let open = machine.remaining(state.as_ref(), now);
        let wanted = in_scale(debt.units, &debt.limit, limits, machine);
        let parts = wanted.min(open);
        if parts == 0 {
            return Ok(0);
        }
        let checked = machine.check(state.as_ref(), parts, now);
        let Some(next) = checked.next else {
            return Ok(0);
        };
        draft.touched.insert(key, next);
        let all = parts == wanted;
        Ok(if all {
            debt.units
        } else {
            out_of_scale(parts, &debt.limit, limits, machine)
        })
    }

    pub(super) fn lapse<R: Rows>(&mut self, draft: &mut Draft<'_, R>, now: EpochMs) {
        for (op, row) in self.holds.lapsed(now) {
            if !row.committed {
                self.undo_hold(draft, &row, now);
            }
            draft.puts.push(Put::Hold { op, row: None });
        }
    }

    /// Gives back what a hold charged. Its rules came with it: the shard may have woken since.
    fn undo_hold<R: Rows>(&mut self, draft: &mut Draft<'_, R>, row: &StoredHold, now: EpochMs) {
        // Rules that were valid when they were stored are valid still.
        let _known = self.known.learn(&row.limits);
        self.take_back(draft, &row.charges, now);
    }

    fn take_back<R: Rows>(&self, draft: &mut Draft<'_, R>, returns: &[ReturnBody], now: EpochMs) {
        for back in returns {
            // A limit that is not known any more has no state either.
            let _taken = self.give_back(draft, back, now);
        }
    }

    pub(super) fn finish_draft<R>(&self, mut draft: Draft<'_, R>) -> Vec<Put> {
        for (key, state) in std::mem::take(&mut draft.touched) {
            // A limit that was touched is known.
            let Ok(machine) = self.known.decides(draft.asked(&key)) else {
                continue;
            };
            draft.puts.push(Put::State {
                expires_at: machine.expires_at(&state),
                key,
                state,
            });
        }
        draft.puts
    }
}

/// Whether the state that a key has of its own denies. What was charged to it counts, also where it has no room to grow.
fn denies<R: Rows>(
    rows: &mut R,
    machine: &Scaled,
    key: &StateKey,
    parts: u64,
    now: EpochMs,
) -> bool {
    match rows.state(key) {
        Row::Cold => false,
        Row::Warm(state) => {
            let state = machine.carried(&state, now).unwrap_or(state);
            !machine.look(Some(&state), parts, now).admitted()
        }
        Row::Damaged => true,
    }
}

/// The key under which what is given back was charged.
fn kept_of(back: &ReturnBody) -> StateKey {
    StateKey {
        limit: back.limit.clone(),
        key: back.receipt.key(&back.key).to_owned(),
    }
}
