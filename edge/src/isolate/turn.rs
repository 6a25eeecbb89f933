//! The turn of a request that has a place in the queue of a shaper: how long it waits, and what gives its place to another
//! when nobody waits for it any more.

use std::rc::Rc;

use futures_util::future::join_all;
use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::{Scaled, ScaledReceipt};
use weir_shared::limiting::key_cache::KeyCache;
use weir_shared::limiting::owner::Account;
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::node::question::answers::{Answers, At, Charge};
use worker::console_error;

use super::contact::return_bodies;
use super::loaded::Loaded;
use super::local::LocalCheck;
use super::memory::{now, with};
use super::plan::{Place, Step};
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::objects::binding::{Address, call};

/// A place in a queue.
pub struct Turn {
    /// How long it was until the request's turn when the place was taken.
    pub delay_ms: u64,
    key: StateKey,
    units: u64,
    receipt: ScaledReceipt,
    /// By what this isolate keeps the key, where no shard does.
    here: Option<(Scaled, Rc<Account>)>,
}

impl Turn {
    /// The place that an admitted question has taken. `None` where it took none, or one that is only counted.
    pub fn of(steps: &[Step<'_>], answers: &Answers) -> Option<Self> {
        let numbered = steps.iter().enumerate();
        let limits = numbered.filter(|(_, step)| {
            step.enforced && matches!(step.charged, Charged::Limit(_)) && step.cost > 0
        });
        let mut turns = limits.filter_map(|(index, step)| {
            let inner = step.dimensions.iter().position(|one| one.delays())?;
            Self::at((index, inner), step, answers)
        });
        turns.next()
    }

    fn at(at: At, step: &Step<'_>, answers: &Answers) -> Option<Self> {
        let dimension = &step.dimensions[at.1];
        let (key, here, receipt) = match (&dimension.place, &answers.get(at)?.charge) {
            (
                Place::Isolate {
                    key,
                    machine,
                    account,
                    ..
                },
                Charge::Local(receipt),
            ) => {
                let here = (machine.as_ref().clone(), Rc::clone(account));
                (key, Some(here), receipt)
            }
            (Place::Shard { key, .. }, Charge::Shard(receipt)) => (key, None, receipt),
            _ => return None,
        };
        Some(Self {
            delay_ms: receipt.delay_ms(),
            key: key.clone(),
            units: dimension.units,
            receipt: receipt.clone(),
            here,
        })
    }

    /// Gives the place back: whoever comes next may have it.
    ///
    /// # Errors
    /// When the isolate decides for too many regions. What does not reach its shard stays taken.
    pub async fn give_back(
        &self,
        handles: &RequestHandles,
        (region, loaded): (&str, &Loaded),
    ) -> Result<(), Failure> {
        if let Some((machine, account)) = &self.here {
            let check = LocalCheck {
                region,
                key: &self.key,
                machine,
                own: false,
                known: false,
                account,
            };
            return check.undo(&self.receipt, self.units);
        }
        let back = (self.key.clone(), self.units, self.receipt.clone());
        let bodies = return_bodies(loaded, region, vec![back], now());
        let calls = bodies.into_iter().map(|(shard, body)| async move {
            let answer = call(&handles.env, Address::keys(&shard), &body, CALL_MS_MAX).await;
            if let Err(error) = answer {
                console_error!("a place at {shard}: {error}");
            }
        });
        join_all(calls).await;
        // A refusal that stood for want of a place may stand no more.
        with(region, |view| {
            view.known_key_cache(&self.key).map(KeyCache::ask_again)
        })?;
        Ok(())
    }
}
