//! What a request that was let through still owes: its slot, what it reserved, and the word on how its origin did.

use std::pin::pin;

use futures_util::future::{Either, join_all, pending, select};
use weir_shared::gateway::cost::Settled;
use weir_shared::gateway::outcome::{Ending, outcome};
use weir_shared::limiting::messages::GuardAction;
use weir_shared::limiting::reservation::Reservation;
use weir_shared::limiting::spare_slots::renewal_ms;
use weir_shared::limits::{FOLLOW_UP_MS, FOLLOW_UPS_MAX, OVERLOAD_SLOT_MS};
use weir_shared::overload::slots::Slots;
use weir_shared::units::EpochMs;
use worker::console_error;

use crate::isolate::loaded::Loaded;
use crate::isolate::overload::report;
use crate::isolate::request::RequestHandles;
use crate::isolate::settle::{keep, settle};
use crate::isolate::slot::{Taken, act};
use crate::isolate::{now, with};
use crate::objects::deadline::sleep;

/// What one request owes. Empty for one that nothing was asked about.
#[derive(Default)]
pub struct Ticket {
    /// Whose it is.
    pub tenant: String,
    /// The slot that it holds.
    pub slot: Option<Taken>,
    /// What is settled once it is known.
    pub reservations: Vec<(Reservation, Settled)>,
    /// The overload resources that hear how the origin did.
    pub overload: Vec<String>,
    /// The slots that it has at some of them, by their names.
    pub resource_slots: Vec<(String, u64)>,
}

/// What a request is known to have used of what it reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// So many units.
    Units(u64),
    /// All of it, as nobody will say how much.
    AsReserved,
    /// That is not known yet.
    Unknown,
}

/// Where a ticket is worked off.
pub struct Desk {
    /// The platform.
    pub handles: RequestHandles,
    /// The region that decided.
    pub region: String,
    /// Its policy.
    pub loaded: Loaded,
}

impl Ticket {
    /// Whether anything waits for the end of the answer.
    pub fn waits_for_end(&self) -> bool {
        self.slot.is_some() || !self.overload.is_empty()
    }

    /// Does `work` and renews the slot meanwhile.
    pub async fn holding<F: Future>(&self, desk: &Desk, work: F) -> F::Output {
        let held = self.slot.as_ref().filter(|taken| taken.slot.held.is_some());
        if held.is_none() && self.resource_slots.is_empty() {
            return work.await;
        }
        let renewing = async {
            match held {
                Some(taken) => renew(desk, taken).await,
                None => pending().await,
            }
        };
        let keeping = self.keep_resource_slots(desk);
        match select(pin!(work), select(pin!(renewing), pin!(keeping))).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never.factor_first().0 {},
        }
    }

    /// Says of its slots at overload resources that they are in use, for as long as it is polled.
    async fn keep_resource_slots(&self, desk: &Desk) -> Never {
        if self.resource_slots.is_empty() {
            return pending().await;
        }
        loop {
            sleep(OVERLOAD_SLOT_MS / 3).await;
            self.at_resources(desk, Slots::keep);
        }
    }

    fn at_resources(&self, desk: &Desk, step: impl Fn(&mut Slots, u64, EpochMs)) {
        let at = now();
        // A view that cannot be reached has no slots either.
        let _done = with(&desk.region, |view| {
            for (resource, slot) in &self.resource_slots {
                step(view.overload.slots(resource), *slot, at);
            }
        });
    }

    /// Gives its slots back.
    pub async fn release(&self, desk: &Desk) {
        self.at_resources(desk, Slots::free);
        let Some(taken) = self.slot.as_ref().filter(|taken| taken.slot.held.is_some()) else {
            return;
        };
        if taken.stays(&desk.handles, &desk.region) {
            return;
        }
        for _ in 0..FOLLOW_UPS_MAX {
            let place = (desk.region.as_str(), &desk.loaded);
            match act(&desk.handles, place, &taken.slot, GuardAction::Release).await {
                Ok(_) => return,
                Err(failure) => console_error!("release: {failure:?}"),
            }
            sleep(FOLLOW_UP_MS).await;
        }
    }

    /// Settles what `used` knows of.
    pub async fn settle(&self, desk: &Desk, used: impl Fn(&Settled) -> Used) {
        let due = self
            .reservations
            .iter()
            .filter_map(|(reservation, how)| match used(how) {
                _ if reservation.is_empty() => None,
                Used::Units(units) => Some(settled(desk, reservation, units)),
                Used::AsReserved => {
                    if let Err(failure) = keep(&desk.handles, &desk.loaded, reservation) {
                        console_error!("settlement: {failure:?}");
                    }
                    None
                }
                Used::Unknown => None,
            });
        join_all(due).await;
    }

    /// Tells the overload resources how the origin did, where that says something of it.
    pub fn report(&self, desk: &Desk, ending: Ending) {
        for resource in &self.overload {
            self.report_to(desk, resource, ending);
        }
    }

    /// Tells one overload resource.
    pub fn report_to(&self, desk: &Desk, resource: &str, ending: Ending) {
        let Some(outcome) = outcome(ending) else {
            return;
        };
        let whose = (resource, self.tenant.as_str());
        if let Err(failure) = report(&desk.handles, &desk.region, &desk.loaded, whose, outcome) {
            console_error!("report: {failure:?}");
        }
    }
}

/// A settlement counts once, however often it is tried.
async fn settled(desk: &Desk, reservation: &Reservation, units: u64) {
    for _ in 0..FOLLOW_UPS_MAX {
        match settle(&desk.handles, &desk.loaded, reservation, units).await {
            Ok(_) => return,
            Err(failure) => console_error!("settlement: {failure:?}"),
        }
        sleep(FOLLOW_UP_MS).await;
    }
}

enum Never {}

/// Renews a slot for as long as it is polled: twice within each lease, so that one call may be lost.
async fn renew(desk: &Desk, taken: &Taken) -> Never {
    let mut after_ms = taken.renews_in_ms();
    loop {
        sleep(after_ms).await;
        let place = (desk.region.as_str(), &desk.loaded);
        if let Err(failure) = taken.renew(&desk.handles, place).await {
            console_error!("renewal: {failure:?}");
        }
        after_ms = renewal_ms(taken.lease_ms);
    }
}
