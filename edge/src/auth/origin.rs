//! Where a browser's page comes from. A WebSocket is not kept from other sites by the rules that hold for other requests,
//! so its `Origin` (RFC 6455, section 10.2) is compared with the address that it asks.

use worker::Request;

use crate::http::failure::Failure;
use crate::http::location::Location;

const FOREIGN: Failure = Failure::CrossSite {
    detail: "The page is of another site: its `Origin` is not the address of Weir.",
};

/// Refuses a page of another site. Where the browser proves by itself who asks (`ambient`), there has to be an origin.
///
/// # Errors
/// 403 for another origin, or for none where one is needed.
pub fn check(request: &Request, ambient: bool) -> Result<(), Failure> {
    let Some(origin) = request.headers().get("origin")? else {
        return if ambient { Err(FOREIGN) } else { Ok(()) };
    };
    let own = Location::of(request).origin();
    if origin.eq_ignore_ascii_case(&own) {
        Ok(())
    } else {
        Err(FOREIGN)
    }
}
