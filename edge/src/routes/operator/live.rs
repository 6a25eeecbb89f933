//! `GET /operator/v1/live`: the way to the live socket of a region's ledger. That the page which asks is Weir's own was
//! checked before.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limits::{LABEL_BYTES_MAX, OPERATOR_CALL_MS_MAX};
use weir_shared::units::Sequence;
use weir_shared::wire::operator::live::{Channel, LiveAsk};
use worker::{Request, Response};

use super::{live_lines, query};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, upgrade};

/// Opens a socket.
///
/// # Errors
/// 400 for what is not asked for as it should be, 426 for a request that is none for a WebSocket, 503.
pub async fn open(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let channels = channels(query.take("channels"))?;
    let lines = query.flag("lines")? == Some(true);
    let (after, region) = match lines {
        true => (None, None),
        false => (
            query.number("after")?.map(Sequence),
            query.text("region", LABEL_BYTES_MAX)?,
        ),
    };
    query.finish(match lines {
        true => "channels, lines",
        false => "channels, lines, after, region",
    })?;
    let (here, loaded) = place(request, handles).await?;
    let region = region.unwrap_or(here);
    if !loaded.policy.regions.contains(&region) {
        let what = "region of the policy";
        let fault = Fault::Unknown { name: region, what };
        return Err(Invalid::new("/region", fault).into());
    }
    let asked_for = request.headers().get("upgrade")?.unwrap_or_default();
    if !asked_for.eq_ignore_ascii_case("websocket") {
        return Err(Failure::Upgrade);
    }
    let ask = LiveAsk {
        region,
        channels,
        after,
        holder: Some(caller.live_holder()),
    };
    if lines {
        return live_lines::open(handles, ask, loaded.policy.regions.clone());
    }
    let address = Address::ledger(&ask.region);
    let opened = upgrade(&handles.env, address, &ask, OPERATOR_CALL_MS_MAX).await;
    opened.map_err(|error| Failure::Unavailable {
        what: error.to_string(),
    })
}

/// Names with commas between; all without a word.
fn channels(text: Option<String>) -> Result<Vec<Channel>, Invalid> {
    let Some(text) = text else {
        return Ok(Channel::ALL.to_vec());
    };
    let mut channels = Vec::new();
    for name in text.split(',') {
        let channel = Channel::named(name).ok_or_else(|| {
            let got = format!(
                "{:?}",
                name.chars().take(LABEL_BYTES_MAX).collect::<String>()
            );
            let served = "accounting, decisions, health";
            Invalid::new("/channels", Fault::Unserved { got, served })
        })?;
        if channels.contains(&channel) {
            let got = name.to_owned();
            return Err(Invalid::new("/channels", Fault::Duplicate { got }));
        }
        channels.push(channel);
    }
    Ok(channels)
}
