//! The escrows of pools: woken from their rows, written, and dropped when nobody asks for them any more.

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::limiting::owner::Account;
use weir_shared::limits::{CLOCK_STEP_MS_MAX, PURGE_MS};
use weir_shared::node::escrow::EscrowNode;
use weir_shared::units::{HolderId, Incarnation};
use weir_shared::wire::stored::read_row;

use super::Core;
use crate::objects::server::Refused;
use crate::objects::storage::{Statement, number, report_damaged, text, wrong_type};

/// What writes an escrow's row.
///
/// # Errors
/// When the row is no JSON.
pub(super) fn statement(pool: &str, row: &StoredEscrow) -> Result<Statement, Refused> {
    // A row that is there stays where it is: one that is replaced is written twice, with its index.
    let statement = "INSERT INTO escrows (pool, ends_at, body) VALUES (?, ?, ?) \
         ON CONFLICT (pool) DO UPDATE SET ends_at = excluded.ends_at, body = excluded.body";
    let body = serde_json::to_string(row)?;
    let values = vec![pool.into(), number(row.over_at().0), body.into()];
    Ok((statement, values))
}

impl Core {
    /// Wakes the escrow of a pool of the policy, once a life, or makes it. False when there is no room for another on that
    /// account.
    pub(super) fn load_escrow(&self, budget: &str, account: &Account) -> Result<bool, Refused> {
        self.escrow(budget, account, true)
    }

    /// The same of one that there is; false for one of which nothing is known, too.
    pub(super) fn known_escrow(&self, budget: &str, account: &Account) -> Result<bool, Refused> {
        self.escrow(budget, account, false)
    }

    fn escrow(&self, budget: &str, account: &Account, makes: bool) -> Result<bool, Refused> {
        if self.with(|machine, _| machine.escrows.contains_key(budget))? {
            return Ok(true);
        }
        self.drop_idle()?;
        if !self.with(|machine, _| machine.roll.admits(budget, account))? {
            return Ok(false);
        }
        let stored = self.stored_escrow(budget);
        self.with(|machine, _| {
            let stored = match stored {
                Ok(Some(stored)) => Some(stored),
                Ok(None) if makes => None,
                // What is not kept takes no room.
                nothing => {
                    machine.roll.release(budget);
                    return nothing.map(|_| false);
                }
            };
            let id = HolderId::of_name(&machine.name);
            let escrow = Escrow::wake(budget.to_owned(), id, machine.escrow_life, stored);
            let node = EscrowNode::new(escrow);
            machine.escrows.insert(budget.to_owned(), node);
            Ok(true)
        })?
    }

    /// What is stored of an escrow, as far as it can be read.
    fn stored_escrow(&self, budget: &str) -> Result<Option<StoredEscrow>, Refused> {
        let query = "SELECT body FROM escrows WHERE pool = ?";
        let row = self.database.first(query, vec![budget.into()])?;
        Ok(row.and_then(|row| {
            let body = text(row.first()).ok_or_else(|| wrong_type("body"));
            match body.and_then(read_row::<StoredEscrow>) {
                Ok(stored) => Some(stored),
                Err(damaged) => {
                    report_damaged(&format!("escrow of {budget}"), &damaged);
                    None
                }
            }
        }))
    }

    /// Drops the escrows of keys that nobody asks for any more, once a minute at most. One that comes back is another
    /// life: its first message must not be taken for one of the life before.
    fn drop_idle(&self) -> Result<(), Refused> {
        let dropped_at = self.with(|machine, now| {
            if now.since(machine.purged_at) < PURGE_MS {
                return None;
            }
            machine.purged_at = now;
            machine.escrow_life = Incarnation(machine.escrow_life.0 + 1);
            let is_needed = |node: &EscrowNode<_>| !(node.is_quiet() && node.escrow().idle(now));
            machine.escrows.retain(|_, node| is_needed(node));
            let escrows = &machine.escrows;
            machine.roll.retain(|pool| escrows.contains_key(pool));
            Some(now)
        })?;
        let Some(now) = dropped_at else {
            return Ok(());
        };
        // A row of a window that is long over says nothing that a wake would need.
        let over = now.0.saturating_sub(CLOCK_STEP_MS_MAX);
        let values = vec![number(over)];
        self.database
            .run("DELETE FROM escrows WHERE ends_at <= ?", values)
    }
}
