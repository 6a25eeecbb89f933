//! A check of a pool, a budget or a key of a global limit: from the balance without waiting, else by one exchange with
//! the region. What is decided, asked and answered when is the [node's](weir_shared::node::lease) word; here requests
//! sleep and wake.

use std::borrow::Cow;

use weir_shared::decision::{Decision, Reason};
use weir_shared::fairness::ask::Party;
use weir_shared::limiting::owner::Account;
use weir_shared::node::Spent;
use weir_shared::node::lease::{Decided, HolderDecision, PoolAsk, Verdict, WaitingAsk};
use weir_shared::node::leases::{Caller, Polled};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::exchange::Terms;

use super::contact::send;
use super::look::Looks;
use super::memory::{now, with};
use super::region::RegionView;
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::objects::deadline::within;
use crate::objects::telemetry;

/// One check of one pool.
pub struct LeaseCheck<'a> {
    /// The region that decides.
    pub region: &'a str,
    /// The pool's name.
    pub pool: &'a str,
    /// Its terms.
    pub terms: &'a Terms,
    /// For whom.
    pub party: Cow<'a, Party>,
    /// On whose account it is kept, where it is a key's.
    pub account: &'a Account,
    /// Units to charge, in the terms' scale; 0 looks.
    pub cost: u64,
    /// Why it is denied when the window is used up.
    pub denial: Reason,
    /// Whether it was denied before and has waited.
    pub again: bool,
}

impl LeaseCheck<'_> {
    /// Decides, and asks for more in the background where units run low. `None` when a newer policy has no such pool
    /// any more.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn decide(&self, handles: &RequestHandles) -> Result<Option<Decided>, Failure> {
        let at = now();
        let ask = self.ask();
        let held = with(self.region, |view| {
            if !view.leases.has_room(self.pool, self.account, at) {
                return HolderDecision::Decided((self.out_of_reach(view, at), None));
            }
            if self.cost > self.terms.limit {
                return HolderDecision::Decided(view.leases.never(self.pool, &ask, at));
            }
            view.leases.check(self.pool, &ask, self.terms, at)
        })?;
        let decided = match held {
            HolderDecision::Decided(decided) => decided,
            HolderDecision::Unknown => {
                (with(self.region, |view| self.out_of_reach(view, at))?, None)
            }
            HolderDecision::Short => {
                let decided = self.wait(handles, at).await;
                telemetry::lease_waited(now().since(at));
                return decided;
            }
        };
        let _landing = send(handles, self.region, self.pool)?;
        Ok(Some(decided))
    }

    /// Gives back what a decision charged, as the request is denied elsewhere.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn undo(&self, label: WindowLabel) -> Result<(), Failure> {
        let (at, tenant, units) = (now(), self.party.name(), self.cost);
        let spent = Spent {
            label,
            tenant,
            units,
        };
        with(self.region, |view| view.leases.undo(self.pool, spent, at))
    }

    /// Waits for the answer of the node.
    async fn wait(
        &self,
        handles: &RequestHandles,
        at: EpochMs,
    ) -> Result<Option<Decided>, Failure> {
        let asked = WaitingAsk {
            party: self.party.as_ref().clone(),
            cost: self.cost,
            terms: self.terms.clone(),
            denial: self.denial,
            again: self.again,
        };
        let caller = with(self.region, |view| view.leases.wait(self.pool, asked, at))?;
        let wait = Wait {
            check: self,
            caller,
        };
        let mut looks = Looks::default();
        loop {
            let polled = wait.poll()?;
            // Whoever wakes first sends what is to be sent: only its own request may wait for a call.
            let landing = send(handles, self.region, self.pool)?;
            match (polled, landing) {
                (Polled::Answered(Verdict::Decided(decided)), _) => return Ok(Some(decided)),
                (Polled::Answered(Verdict::Unavailable), _) => {
                    let decision = with(self.region, |view| self.out_of_reach(view, now()))?;
                    return Ok(Some((decision, None)));
                }
                (Polled::Lost, _) if !self.still_known()? => return Ok(None),
                (Polled::Lost, _) => return self.unavailable(now()).map(Some),
                (Polled::Waits(left_ms), Some(landing)) => {
                    let _late = within(left_ms, landing).await;
                }
                (Polled::Waits(left_ms), None) => looks.again_within(left_ms).await,
            }
        }
    }

    fn ask(&self) -> PoolAsk<'_> {
        PoolAsk {
            party: &self.party,
            cost: self.cost,
            limit: self.terms.limit,
            denial: self.denial,
            again: self.again,
        }
    }

    /// Who could tell is out of reach.
    fn unavailable(&self, at: EpochMs) -> Result<Decided, Failure> {
        with(self.region, |view| {
            view.leases.deny(self.pool, &self.ask(), at);
            (self.out_of_reach(view, at), None)
        })
    }

    fn out_of_reach(&self, view: &RegionView, at: EpochMs) -> Decision {
        Decision::unavailable(self.terms.limit, at, view.contact_ms)
    }

    /// A policy that arrived meanwhile may not have the pool any more.
    fn still_known(&self) -> Result<bool, Failure> {
        let at = now();
        with(self.region, |view| {
            let loaded = view.loaded.as_ref();
            loaded.is_none_or(|loaded| {
                let revision = loaded.revision;
                let terms = loaded.policy.terms(self.pool, self.region, revision, at);
                terms.is_some()
            })
        })
    }
}

/// A request that waits; its node hears that it is gone when this goes out of scope, whatever ends the wait.
struct Wait<'a> {
    check: &'a LeaseCheck<'a>,
    caller: Caller,
}

impl Wait<'_> {
    fn poll(&self) -> Result<Polled, Failure> {
        let at = now();
        with(self.check.region, |view| {
            view.leases.poll(self.check.pool, self.caller, at)
        })
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let at = now();
        // A view that cannot be reached has no waiters either.
        let _gone = with(self.check.region, |view| {
            view.leases.leave(self.check.pool, self.caller, at);
        });
    }
}
