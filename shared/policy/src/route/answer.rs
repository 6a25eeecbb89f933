//! What answers the requests that a route admits.

use weir_core::invalid::{Fault, Invalid};
use weir_wire::route::{AnswerBody, RouteBody};

use super::check::{RouteCheck, RouteTarget};
use super::origin::Origin;

/// What answers the requests that a route admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answerer {
    /// An origin.
    Origin(Origin),
    /// Weir: the models that the tenant may use.
    Models,
}

/// The methods that Weir answers itself.
const READING: [&str; 2] = ["GET", "HEAD"];

impl Answerer {
    /// What a route says of it.
    ///
    /// # Errors
    /// At `/origin/..`; where Weir answers, at what is for an origin.
    pub(super) fn read(body: &RouteBody) -> Result<Self, Invalid> {
        let Some(AnswerBody::Models) = body.answer else {
            return Origin::read(body.origin.as_ref(), "/origin").map(Self::Origin);
        };
        let given = [
            ("/origin", body.origin.is_some()),
            ("/fallback", !body.fallback.is_empty()),
            ("/retry_unsafe", body.retry_unsafe.is_some()),
            ("/inject_usage", body.inject_usage.is_some()),
            ("/forward_credential", body.forward_credential.is_some()),
            ("/models", body.models.is_some()),
            ("/websocket_ms", body.websocket_ms.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(Self::Models),
            Some((at, _)) => Err(Invalid::new(at, Fault::Excluded { by: "answer" })),
        }
    }

    /// Refuses methods that Weir does not answer, and checks of what is still to be done once it has answered.
    pub(super) fn permit(&self, body: &RouteBody, checks: &[RouteCheck]) -> Result<(), Invalid> {
        if *self != Self::Models {
            return Ok(());
        }
        let foreign = |at: String| {
            let to = "a route that Weir answers itself".to_owned();
            Err(Invalid::new(at, Fault::Foreign { to }))
        };
        let mut methods = body.methods.iter().flatten();
        if let Some(at) = methods.position(|method| !READING.contains(&method.as_str())) {
            return foreign(format!("/methods/{at}"));
        }
        let outlasts = |check: &RouteCheck| match check.target {
            RouteTarget::Guard(_) | RouteTarget::Overload(_) => true,
            _ => check.cost.settles(),
        };
        match checks.iter().position(outlasts) {
            None => Ok(()),
            Some(at) => foreign(format!("/checks/{at}")),
        }
    }

    /// Whether it answers a method.
    #[must_use]
    pub fn takes(&self, method: &str) -> bool {
        *self != Self::Models || READING.contains(&method)
    }
}
