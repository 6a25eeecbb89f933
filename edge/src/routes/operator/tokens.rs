//! `/operator/v1/tokens`: made, listed, revoked.

use weir_shared::access::grant::NewToken;
use weir_shared::audit::Action;
use weir_shared::limits::OPERATOR_BODY_BYTES_MAX;
use weir_shared::paging::{Paging, Sizes};
use weir_shared::report::tokens::list as listed;
use weir_shared::wire::access::TokenRequest;
use worker::{Request, Response, ResponseBuilder};

use super::change::{Change, invalid, too_often};
use super::{query, registry};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::request::RequestHandles;
use crate::objects::calls::{CreateToken, Created, ListTokens, RevokeToken, Revoked};

/// One page of the tokens.
///
/// # Errors
/// 400, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let paging = Paging::read(&mut query, Sizes::default())?;
    query.finish("page, page_size, sort, search")?;
    let tokens = registry(handles, &ListTokens {}).await?;
    reply::json(200, &listed(tokens, &paging))
}

/// Makes a token, whose text this answer alone has.
///
/// # Errors
/// 400 naming the field, 409 when the name is taken or there are as many as there may be, 413, 415, 503.
pub async fn create(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let change = Change::new(request, handles, caller, Action::TokenCreate)?;
    let token = change.asked(asked(request).await)?;
    let body = CreateToken {
        token,
        author: change.author(),
    };
    match registry(handles, &body).await? {
        Created::Done(reply) => reply::json(201, &reply),
        Created::Taken { name } => Err(Failure::Conflict {
            detail: format!(
                "\"{name}\" is taken: the audit log tells live tokens apart by their names."
            ),
        }),
        Created::Full { max } => Err(Failure::Conflict {
            detail: format!("There are {max} tokens, as many as there may be: revoke one first."),
        }),
        Created::TooOften { after_ms } => Err(too_often(after_ms)),
        Created::Invalid { field, message } => Err(invalid(field, message)),
    }
}

async fn asked(request: &mut Request) -> Result<TokenRequest, Failure> {
    let token: TokenRequest = body::json(request, OPERATOR_BODY_BYTES_MAX).await?;
    NewToken::try_from(token.clone())?;
    Ok(token)
}

/// Revokes a token: it opens nothing any more, everywhere within a second.
///
/// # Errors
/// 404 for an id that no token has, 503.
pub async fn revoke(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let change = Change::new(request, handles, caller, Action::TokenRevoke)?;
    let body = RevokeToken {
        id: caller.name.clone(),
        author: change.author(),
    };
    match registry(handles, &body).await? {
        Revoked::Done => Ok(ResponseBuilder::new()
            .with_status(204)
            .with_header("cache-control", "no-store")?
            .empty()),
        Revoked::Unknown => Err(Failure::NotFound {
            what: "token",
            field: None,
        }),
    }
}
