//! Overloaded resources in a region: what its isolates tell is put together here, and with that of the other regions
//! at home. An isolate gets what all have with the answer to its contact.

use std::rc::Rc;

use weir_shared::limits::CALL_MS_MAX;
use weir_shared::units::HolderId;
use weir_shared::wire::shares::{SharesBody, SharesReply};
use worker::console_error;

use super::Core;
use crate::objects::binding::{Address, call};
use crate::objects::server::Refused;

impl Core {
    /// Takes what an isolate has to say, and answers with what all have.
    pub(super) fn take_shares(&self, body: &SharesBody) -> Result<SharesReply, Refused> {
        let (life, now) = self.with(|machine, now| (machine.escrow_life, now))?;
        self.hubs.take(body, life, now)
    }

    /// Tells the hub at home what is new, and takes what all regions have. False when there was nothing to tell.
    pub(super) async fn flush_shares(self: &Rc<Self>) -> Result<bool, Refused> {
        if self.hubs.is_empty() {
            return Ok(false);
        }
        let (name, home, now) = self.with(|machine, now| {
            let loaded = machine.rules.policy();
            let home = loaded.map(|loaded| loaded.policy.home.clone());
            (machine.name.clone(), home, now)
        })?;
        let shares = self.hubs.shares(now)?;
        let Some(home) = home.filter(|_| !shares.is_empty()) else {
            return Ok(false);
        };
        let body = SharesBody {
            holder: HolderId::of_name(&name),
            shares,
        };
        match call(&self.env, Address::hub(&home), &body, CALL_MS_MAX).await {
            Ok(reply) => {
                let now = self.with(|_, now| now)?;
                self.hubs.learn(&reply.replies, now)?;
            }
            // What was not answered is told again.
            Err(error) => console_error!("overload: {error}"),
        }
        Ok(true)
    }
}
