//! A request that waits for its turn: it has a seat meanwhile, and gives back what it was charged when its client goes.

use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::seats::{Seat, Seats};
use weir_shared::limits::{DECIDE_WAIT_MS_MAX, WAITING_LEFT_MS};
use worker::console_error;

use super::Refused;
use super::decision::Passed;
use super::ticket::{Desk, Used};
use crate::http::failure::Failure;
use crate::isolate::client::Client;
use crate::isolate::turn::Turn;
use crate::isolate::{now, seats};

/// A request that may wait, with its seat.
pub struct Waiting<'a> {
    client: &'a Client,
    seat: Seat,
}

impl<'a> Waiting<'a> {
    /// Takes a seat for as long as a request may wait until it is decided. `None` while as many wait as may.
    ///
    /// # Errors
    /// When the isolate is at work on itself.
    pub fn enter(client: &'a Client, ms: u64) -> Result<Option<Self>, Failure> {
        let until = now().plus(ms).plus(2 * DECIDE_WAIT_MS_MAX);
        let seat = seats(|seats, now| seats.take(until, now))?;
        Ok(seat.map(|seat| Self { client, seat }))
    }

    /// Waits for the turn of a request that was let through.
    ///
    /// # Errors
    /// When its client goes away before: its place is another's then, and what it reserved is free.
    pub async fn for_turn(
        mut self,
        desk: Desk,
        passed: Passed,
        turn: Turn,
    ) -> Result<Passed, Refused> {
        if turn.delay_ms == 0 {
            return Ok(passed);
        }
        let until = now().plus(turn.delay_ms).plus(WAITING_LEFT_MS);
        self.seat = seats(|seats, _| seats.keep(self.seat, until))?;
        let _running = desk.handles.keep_running();
        let waiting = self.client.stays_for(turn.delay_ms);
        if passed.ticket.holding(&desk, waiting).await {
            return Ok(passed);
        }
        let handles = desk.handles.share();
        handles.detach(give_back(desk, passed, turn));
        Err(Refusal::client_gone().into())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // An isolate that cannot be reached has no seats either.
        let _free = seats(|seats: &mut Seats, _| seats.leave(self.seat));
    }
}

/// Gives back what was charged to a request that nobody waits for.
async fn give_back(desk: Desk, passed: Passed, turn: Turn) {
    let place = (desk.region.as_str(), &desk.loaded);
    if let Err(failure) = turn.give_back(&desk.handles, place).await {
        console_error!("a place in a queue: {failure:?}");
    }
    passed.ticket.settle(&desk, |_| Used::Units(0)).await;
    passed.ticket.release(&desk).await;
}
