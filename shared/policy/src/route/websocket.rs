//! How long a WebSocket may be open.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{WEBSOCKET_MS_MAX, WEBSOCKET_MS_MIN, WEBSOCKET_SETTLED_MS_MAX};

use super::Route;
use crate::between;

/// Refuses a time that is out of range: one in which what is reserved could not be settled any more is, too. Refuses it where
/// no request can ask for a WebSocket.
pub(super) fn permit(route: &Route) -> Result<(), Invalid> {
    let Some(ms) = route.websocket_ms else {
        return Ok(());
    };
    let at = "/websocket_ms";
    if !route.methods.is_empty() && !route.methods.contains("GET") {
        let to = "a route without the method GET".to_owned();
        return Err(Invalid::new(at, Fault::Foreign { to }));
    }
    let settles = route.checks.iter().any(|check| check.cost.settles());
    let most = match settles {
        true => WEBSOCKET_SETTLED_MS_MAX,
        false => WEBSOCKET_MS_MAX,
    };
    between(at, ms, WEBSOCKET_MS_MIN, most).map(drop)
}
