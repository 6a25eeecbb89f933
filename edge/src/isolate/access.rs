//! The tokens as this isolate knows them: they come with the answers of the region, as the policy does.

use std::rc::Rc;

use serde_json::Value;
use weir_shared::access::table::AccessTable;
use weir_shared::access::uses::Uses;
use weir_shared::access::wanted::{Step, Wanted, seal_wanted};
use weir_shared::json;
use weir_shared::limits::{CALL_MS_MAX, TOKEN_USE_MS};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{BOOTSTRAP, SavedAccess};
use worker::console_error;

use super::request::RequestHandles;
use super::{contact, now, with};
use crate::http::failure::Failure;
use crate::objects::deadline::{sleep, within};

/// What an isolate knows of the tokens of one region.
pub struct Tokens {
    table: Option<Rc<AccessTable>>,
    /// What was used of them and was not told yet.
    pub uses: Uses,
    wanted: Wanted,
    seals_wanted: Wanted,
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
    fn step(&mut self, id: &str, now: EpochMs) -> Step {
        if self.table.as_ref().is_some_and(|table| table.has(id)) {
            return Step::Known;
        }
        self.wanted.step(id, now)
    }

    /// What comes next for a text that may be sealed by a key that is newer than the table.
    fn seal_step(&mut self, version: u64, now: EpochMs) -> Step {
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

/// The tokens, as old as the policy may be; `None` where the region has none and was never heard of with any.
///
/// # Errors
/// When the isolate decides for too many regions.
pub async fn access(
    handles: &RequestHandles,
    region: &str,
) -> Result<Option<Rc<AccessTable>>, Failure> {
    contact::policy(handles, region).await?;
    known_access(region)
}

/// The tokens as they are known, however old, without a question.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn known_access(region: &str) -> Result<Option<Rc<AccessTable>>, Failure> {
    with(region, |view| view.tokens.table.clone())
}

/// The tokens after the region was asked for the one of that id, whose MAC is true, unless it was asked for it a
/// moment ago: a token may be newer than the table.
///
/// # Errors
/// When the isolate decides for too many regions.
pub async fn access_with(
    handles: &RequestHandles,
    region: &str,
    id: &str,
) -> Result<Option<Rc<AccessTable>>, Failure> {
    let asking = Asking {
        step: &|tokens, at| tokens.step(id, at),
        wanted: id.to_owned(),
        answered: &|tokens| tokens.wanted.answered(),
    };
    asking.ask(handles, region).await
}

/// The tokens after the region was asked for the key of that version, in the same way: what was sealed may be sealed by
/// a newer key than the table has.
///
/// # Errors
/// When the isolate decides for too many regions.
pub async fn access_sealed(
    handles: &RequestHandles,
    region: &str,
    version: u64,
) -> Result<Option<Rc<AccessTable>>, Failure> {
    let asking = Asking {
        step: &|tokens, at| tokens.seal_step(version, at),
        wanted: seal_wanted(version),
        answered: &|tokens| tokens.seals_wanted.answered(),
    };
    asking.ask(handles, region).await
}

/// A question of the region for something that the table does not have.
struct Asking<'a> {
    step: &'a dyn Fn(&mut Tokens, EpochMs) -> Step,
    wanted: String,
    answered: &'a dyn Fn(&mut Tokens),
}

impl Asking<'_> {
    async fn ask(
        self,
        handles: &RequestHandles,
        region: &str,
    ) -> Result<Option<Rc<AccessTable>>, Failure> {
        let started = now();
        loop {
            let at = now();
            match with(region, |view| (self.step)(&mut view.tokens, at))? {
                Step::Known => break,
                _ if at.since(started) >= CALL_MS_MAX => break,
                Step::Wait => sleep(5).await,
                Step::Ask => {
                    let wanted = Some(self.wanted.clone());
                    let landing = contact::start_for(handles, region, Vec::new(), wanted)?;
                    let _late = within(CALL_MS_MAX, landing).await;
                    with(region, |view| (self.answered)(&mut view.tokens))?;
                    break;
                }
            }
        }
        known_access(region)
    }
}

/// Counts one use of a token, or of the bootstrap token ([`BOOTSTRAP`]); it is told with one of the next contacts.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn used(handles: &RequestHandles, region: &str, id: &str, now: EpochMs) -> Result<(), Failure> {
    with(region, |view| view.tokens.uses.mark(id, now))?;
    contact::schedule_flush(handles, region)
}
