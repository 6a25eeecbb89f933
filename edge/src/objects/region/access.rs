//! The region's tokens: kept and handed on as the policy is.

use std::rc::Rc;

use weir_shared::access::stored::StoredAccess;
use weir_shared::access::table::AccessTable;
use weir_shared::units::Revision;
use weir_shared::wire::access::{SavedAccess, TokenUse};
use weir_shared::wire::stored::read_row;

use super::{Core, Machine};
use crate::objects::server::Refused;
use crate::objects::storage::{report_damaged, text, wrong_type};

impl Machine {
    /// The revision of the policy in force; 0 for none.
    pub(super) fn policy_revision(&self) -> Revision {
        let loaded = self.policy.as_ref();
        loaded.map_or(Revision(0), |loaded| loaded.saved.revision)
    }

    /// The revision of the tokens in force; 0 for none.
    pub(super) fn access_revision(&self) -> Revision {
        let access = self.access.as_ref();
        access.map_or(Revision(0), |access| access.revision)
    }

    /// The revision that the registry is told, to give what is newer: none where the keys are missing.
    pub(super) fn access_told(&self) -> Revision {
        self.access
            .as_ref()
            .map_or(Revision(0), |access| access.told())
    }

    /// Whether tokens say more than those in force.
    fn is_news(&self, saved: &SavedAccess) -> bool {
        let access = self.access.as_ref();
        let has_seals = access.is_some_and(|access| !access.seals.is_empty());
        saved.is_news(self.access_revision(), has_seals)
    }

    /// The tokens, for an isolate that has an older revision.
    pub(super) fn access_beyond(&self, revision: Revision) -> Option<Rc<SavedAccess>> {
        let access = self.access.as_ref();
        access
            .filter(|access| access.revision > revision)
            .map(Rc::clone)
    }

    /// Takes in which tokens an isolate saw.
    pub(super) fn note_uses(&mut self, told: &[TokenUse]) {
        told.iter().for_each(|told| self.uses.add(told));
    }
}

impl Core {
    /// Takes tokens that are newer than those in force: durable first, then in memory.
    pub(super) fn adopt_access(&self, saved: SavedAccess) -> Result<(), Refused> {
        if self.with(|machine, _| !machine.is_news(&saved))? {
            return Ok(());
        }
        // What an isolate could not read is not handed on.
        AccessTable::try_from(&saved)?;
        let stored = StoredAccess::new(saved);
        let statement = "INSERT OR REPLACE INTO access (id, body) VALUES (1, ?)";
        let body = serde_json::to_string(&stored)?;
        self.database.run(statement, vec![body.into()])?;
        self.with(|machine, _| machine.access = Some(Rc::new(stored.access)))
    }

    pub(super) fn restore_access(&self) -> Result<(), Refused> {
        let query = "SELECT body FROM access WHERE id = 1";
        let Some(row) = self.database.first(query, vec![])? else {
            return Ok(());
        };
        let body = text(row.first()).ok_or_else(|| wrong_type("body"));
        match body.and_then(read_row::<StoredAccess>) {
            Ok(stored) => self.with(|machine, _| machine.access = Some(Rc::new(stored.access))),
            Err(damaged) => {
                report_damaged("access", &damaged);
                Ok(())
            }
        }
    }
}
