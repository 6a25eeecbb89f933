//! The tokens as this isolate knows them: they come with the answers of the region, as the policy does.

use std::rc::Rc;

use weir_shared::access::table::AccessTable;
use weir_shared::access::wanted::{Step, seal_wanted};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::units::EpochMs;

use super::contact;
use super::memory::{now, with};
use super::request::RequestHandles;
use super::tokens::Tokens;
use crate::http::failure::Failure;
use crate::objects::deadline::{sleep, within};

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
    with(region, |view| view.tokens.table().cloned())
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
                    let landing = contact::ask(handles, region, wanted)?;
                    let _late = within(CALL_MS_MAX, landing).await;
                    with(region, |view| (self.answered)(&mut view.tokens))?;
                    break;
                }
            }
        }
        known_access(region)
    }
}

/// Counts one use of a token, or of the bootstrap token ([`BOOTSTRAP`](weir_shared::wire::access::BOOTSTRAP)); it is told with one of the next contacts.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn used(handles: &RequestHandles, region: &str, id: &str, now: EpochMs) -> Result<(), Failure> {
    with(region, |view| view.tokens.uses.mark(id, now))?;
    contact::schedule_flush(handles, region)
}
