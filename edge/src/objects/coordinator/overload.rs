//! The hub at home: what the regions have together of every overloaded resource. One object for all resources.

use weir_shared::units::{EpochMs, Incarnation};
use weir_shared::wire::shares::{SharesBody, SharesReply};
use worker::Date;

use super::Coordinator;
use crate::objects::server::Refused;

impl Coordinator {
    /// Takes what a region has to say, and answers with what all have.
    pub(super) fn take_shares(&self, body: &SharesBody) -> Result<SharesReply, Refused> {
        let now = EpochMs(Date::now().as_millis());
        // It tells nobody else, so that no life of it has to be later than another.
        self.hubs.take(body, Incarnation(now.0), now)
    }
}
