//! What an isolate knows of the tokens of one region.

use std::rc::Rc;

use serde_json::Value;
use weir_shared::access::table::AccessTable;
use weir_shared::access::uses::Uses;
use weir_shared::access::wanted::{Step, Wanted, seal_wanted};
use weir_shared::json;
use weir_shared::limits::TOKEN_USE_MS;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{BOOTSTRAP, SavedAccess};
use worker::console_error;

/// What an isolate knows of the tokens of one region.
pub struct Tokens {
    table: Option<Rc<AccessTable>>,
    /// What was used of them and was not told yet.
    pub uses: Uses,
    pub(super) wanted: Wanted,
    pub(super) seals_wanted: Wanted,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            table: None,
            uses: Uses::new(TOKEN_USE_MS),
            wanted: Wanted::default(),
            seals_wanted: Wanted::default(),
        }
    }
}

impl Tokens {
    /// The revision of the table; 0 for none.
    #[must_use]
    pub fn revision(&self) -> Revision {
        let table = self.table.as_ref();
        table.map_or(Revision(0), |table| table.revision())
    }

    /// The revision that is told to be given more: none where an earlier version left the keys out.
    #[must_use]
    pub fn told(&self) -> Revision {
        if self.has_seals() {
            self.revision()
        } else {
            Revision(0)
        }
    }

    fn has_seals(&self) -> bool {
        let table = self.table.as_ref();
        table.is_some_and(|table| !table.seals().is_empty())
    }

    /// The table; `None` where none was ever seen.
    #[must_use]
    pub fn table(&self) -> Option<&Rc<AccessTable>> {
        self.table.as_ref()
    }

    /// Takes a table that is newer than the one in force. One that this code cannot read is reported, and the last one
    /// that was seen keeps applying.
    pub fn adopt(&mut self, access: &Value) {
        let saved = match json::from_value::<SavedAccess>(access) {
            Ok(saved) => saved,
            Err(error) => return console_error!("tokens: {error}"),
        };
        if !saved.is_news(self.revision(), self.has_seals()) {
            return;
        }
        match AccessTable::try_from(&saved) {
            Ok(table) => {
                self.uses.retain(|id| id == BOOTSTRAP || table.has(id));
                self.table = Some(Rc::new(table));
            }
            Err(error) => console_error!("tokens: {error}"),
        }
    }

    /// What comes next for a token that may not be in the table.
    pub(super) fn step(&mut self, id: &str, now: EpochMs) -> Step {
        if self.table.as_ref().is_some_and(|table| table.has(id)) {
            return Step::Known;
        }
        self.wanted.step(id, now)
    }

    /// What comes next for a text that may be sealed by a key that is newer than the table.
    pub(super) fn seal_step(&mut self, version: u64, now: EpochMs) -> Step {
        let newest = self
            .table
            .as_ref()
            .map_or(0, |table| table.seals().newest());
        if newest >= version {
            return Step::Known;
        }
        self.seals_wanted.step(&seal_wanted(version), now)
    }
}
