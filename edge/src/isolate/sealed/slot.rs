//! Slots of guards as text: which slot, of whom, and where, so that any isolate can renew and release it by itself.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::slot::Slot;

use crate::http::failure::Failure;
use crate::isolate::request::RequestHandles;

const PURPOSE: &str = "weir slot 2";

/// The text of a slot.
///
/// # Errors
/// 503 while the deployment's keys are not known.
pub fn seal(slot: &Slot) -> Result<String, Failure> {
    super::seal(PURPOSE, slot)
}

/// The slot of a text, which has to be one of `guard`.
///
/// # Errors
/// 400 for a text that this deployment did not make, or made for another guard, 503 while its keys are not known.
pub async fn open(
    handles: &RequestHandles,
    region: &str,
    text: &str,
    guard: &str,
) -> Result<Slot, Failure> {
    let slot: Option<Slot> = super::open(handles, region, PURPOSE, text).await?;
    slot.filter(|slot| slot.guard == guard).ok_or_else(|| {
        let fault = Fault::Unknown {
            name: text.chars().take(16).collect(),
            what: "slot of this guard",
        };
        Invalid::new("/slot", fault).into()
    })
}
