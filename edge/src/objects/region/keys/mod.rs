//! Limits: one row a key, bounded. A row is written only when a check was admitted.

use std::rc::Rc;

use weir_shared::algorithms::gcra::{Gcra, GcraState};
use weir_shared::limits::LIMIT_KEYS_MAX;
use weir_shared::policy::limit::Limit;
use weir_shared::units::EpochMs;
use weir_shared::wire::region::{DecideBody, DecideReply, DecidedBody};

use super::Core;
use crate::objects::server::Refused;
use crate::objects::storage::{integer, number, report_damaged, wrong_type};

/// Stands between tenant and key, and alone for the key that all share when there are too many: no name that a
/// request brings contains a control character.
const SEPARATOR: &str = "\u{1}";

/// Between two searches for expired keys, which read every row.
const PURGE_MS: u64 = 60_000;

/// How many keys are stored, once counted.
#[derive(Debug, Default)]
pub(super) struct KeyCount {
    keys: Option<u64>,
    purged_at: EpochMs,
}

impl Core {
    /// A check of one limit.
    pub(super) async fn decide(self: &Rc<Self>, call: DecideBody) -> Result<DecideReply, Refused> {
        let loaded = self.policy(&call.region).await?;
        let revision = loaded.saved.revision;
        let Some(limit) = loaded.policy.limits.get(&call.limit) else {
            return Ok(DecideReply {
                revision,
                decision: None,
            });
        };
        let now = self.with(|_, now| now)?;
        let decision = self.charge(&call, limit, now)?;
        Ok(DecideReply {
            revision,
            decision: Some(decision),
        })
    }

    fn charge(
        &self,
        call: &DecideBody,
        limit: &Limit,
        now: EpochMs,
    ) -> Result<DecidedBody, Refused> {
        let own = match &call.tenant {
            Some(tenant) => format!("{tenant}{SEPARATOR}{}", call.key),
            None => call.key.clone(),
        };
        let (key, state) = match self.load_key(&call.limit, &own, &limit.gcra, now)? {
            Some(state) => (own, Some(state)),
            None if self.has_room(now)? => (own, None),
            None => {
                let shared = SEPARATOR.to_owned();
                let state = self.load_key(&call.limit, &shared, &limit.gcra, now)?;
                (shared, state)
            }
        };
        let checked = limit.gcra.check(state, call.cost, now);
        if let Some(next) = checked.next {
            self.store_key(&call.limit, &key, next, state.is_none())?;
        }
        let decision = checked.decision;
        Ok(DecidedBody {
            reason: decision.reason,
            limit: decision.limit,
            remaining: decision.remaining,
            reset_at: decision.reset_at,
            retry_after_ms: decision.retry.after_ms(),
        })
    }

    /// The stored state; a row that cannot be read counts as a key that has used its burst.
    fn load_key(
        &self,
        limit: &str,
        key: &str,
        gcra: &Gcra,
        now: EpochMs,
    ) -> Result<Option<GcraState>, Refused> {
        let query = "SELECT ms, ticks, ticks_per_ms FROM keys WHERE name = ? AND key = ?";
        let row = self.database.first(query, vec![limit.into(), key.into()])?;
        let Some(row) = row else {
            return Ok(None);
        };
        let numbers = [0, 1, 2].map(|column| integer(row.get(column)));
        let [Some(ms), Some(ticks), Some(ticks_per_ms)] = numbers else {
            report_damaged(&format!("key of {limit}"), &wrong_type("ms"));
            return Ok(Some(gcra.exhausted(now)));
        };
        Ok(Some(GcraState {
            ms,
            ticks,
            ticks_per_ms,
        }))
    }

    fn store_key(
        &self,
        limit: &str,
        key: &str,
        state: GcraState,
        new: bool,
    ) -> Result<(), Refused> {
        let statement = "INSERT OR REPLACE INTO keys (name, key, ms, ticks, ticks_per_ms) \
                         VALUES (?, ?, ?, ?, ?)";
        let values = vec![
            limit.into(),
            key.into(),
            number(state.ms),
            number(state.ticks),
            number(state.ticks_per_ms),
        ];
        self.database.run(statement, values)?;
        self.with(|machine, _| {
            if let (Some(keys), true) = (machine.keys.keys.as_mut(), new) {
                *keys += 1;
            }
        })
    }

    /// Whether another key may be stored, after expired ones were removed if need be.
    fn has_room(&self, now: EpochMs) -> Result<bool, Refused> {
        let max = LIMIT_KEYS_MAX as u64;
        let known = self.with(|machine, _| machine.keys.keys)?;
        let keys = match known {
            Some(keys) => keys,
            None => self.count_keys()?,
        };
        if keys < max {
            return Ok(true);
        }
        let due = self.with(|machine, _| now.since(machine.keys.purged_at) >= PURGE_MS)?;
        if !due {
            return Ok(false);
        }
        // A key whose arrival time has passed is no different from one that was never seen.
        self.database
            .run("DELETE FROM keys WHERE ms < ?", vec![number(now.0)])?;
        self.with(|machine, _| machine.keys.purged_at = now)?;
        Ok(self.count_keys()? < max)
    }

    fn count_keys(&self) -> Result<u64, Refused> {
        let row = self.database.first("SELECT COUNT(*) FROM keys", vec![])?;
        let keys = row.and_then(|row| integer(row.first())).unwrap_or(0);
        self.with(|machine, _| machine.keys.keys = Some(keys))?;
        Ok(keys)
    }
}
