//! Slots of guards as text: which slot, of whom, and where, with a MAC that any isolate verifies by itself.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::slot::Slot;
use worker::Env;

use super::sealed;
use crate::http::failure::Failure;

const PURPOSE: &str = "weir slot 1";

/// The text of a slot.
///
/// # Errors
/// When the deployment has no secret, which no authenticated request meets.
pub fn seal(env: &Env, slot: &Slot) -> Result<String, Failure> {
    sealed::seal(env, PURPOSE, slot)
}

/// The slot of a text, which has to be one of `guard`.
///
/// # Errors
/// 400 for a text that this deployment did not make, or made for another guard.
pub fn open(env: &Env, text: &str, guard: &str) -> Result<Slot, Failure> {
    let slot: Option<Slot> = sealed::open(env, PURPOSE, text);
    slot.filter(|slot| slot.guard == guard).ok_or_else(|| {
        let fault = Fault::Unknown {
            name: text.chars().take(16).collect(),
            what: "slot of this guard",
        };
        Invalid::new("/slot", fault).into()
    })
}
