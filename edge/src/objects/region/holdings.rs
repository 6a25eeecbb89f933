//! What the region holds of budgets, for operators.

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::units::{EpochMs, HolderId};
use weir_shared::wire::holdings::{Holdings, RegionBudget};
use weir_shared::wire::stored::read_row;
use worker::Date;

use super::Core;
use crate::objects::pool_rows::{self, PoolRow};
use crate::objects::server::Refused;
use crate::objects::storage::text;

impl Core {
    /// What is held of each of `budgets`, those left out of which the region knows nothing. Lends nothing and writes
    /// nothing: what is not in memory is read and put down again.
    pub(super) fn holdings(&self, budgets: &[String]) -> Result<Holdings, Refused> {
        let mut holdings = Holdings {
            heard_at: self.with(|machine, _| machine.heard_at)?,
            budgets: Vec::new(),
        };
        for budget in budgets {
            let own = self.with(|machine, _| {
                let loaded = machine.rules.policy();
                loaded.is_some_and(|loaded| loaded.policy.region_owns(budget))
            })?;
            let held = if own {
                self.own_holding(budget)?
            } else {
                self.escrow_holding(budget)?
            };
            holdings.budgets.extend(held);
        }
        // Isolates of branches are no holders here.
        self.with(|machine, now| {
            if machine
                .branches
                .number()
                .is_some_and(|branches| branches > 0)
            {
                let isolates = machine.heard.isolates(now);
                let budgets = holdings.budgets.iter_mut();
                budgets.for_each(|held| held.isolates = isolates);
            }
        })?;
        Ok(holdings)
    }

    fn own_holding(&self, budget: &str) -> Result<Option<RegionBudget>, Refused> {
        let now = EpochMs(Date::now().as_millis());
        let known = self.with(|machine, _| {
            let node = machine.own.get(budget);
            node.map(|node| node.pool().holding(budget, now))
        })?;
        if known.is_some() {
            return Ok(known);
        }
        // Of a row that cannot be read whoever asks for units will report.
        Ok(match pool_rows::read(&self.database, budget)? {
            Some(PoolRow::Stored(stored)) => Some(Pool::wake(&stored).holding(budget, now)),
            _ => None,
        })
    }

    fn escrow_holding(&self, budget: &str) -> Result<Option<RegionBudget>, Refused> {
        let known = self.with(|machine, now| {
            let node = machine.escrows.get_mut(budget);
            node.map(|node| node.escrow_mut().holding(budget, now))
        })?;
        if known.is_some() {
            return Ok(known);
        }
        let query = "SELECT body FROM escrows WHERE pool = ?";
        let row = self.database.first(query, vec![budget.into()])?;
        let body = row.as_ref().and_then(|row| text(row.first()));
        let stored = body.and_then(|body| read_row::<StoredEscrow>(body).ok());
        stored
            .map(|stored| {
                self.with(|machine, now| {
                    let id = HolderId::of_name(&machine.name);
                    let life = machine.escrow_life;
                    Escrow::wake(budget.to_owned(), id, life, Some(stored)).holding(budget, now)
                })
            })
            .transpose()
    }
}
