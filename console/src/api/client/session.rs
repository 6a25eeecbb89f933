//! Who is logged in, and the tokens to log in with.

use gloo::net::http::Method;
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::operator::tokens::TokensReply;
use weir_shared::wire::operator::{SessionReply, SessionRequest};

use super::{Call, Client};
use crate::api::ask::segment;
use crate::api::error::ApiError;

const SESSION: &str = "/session";

impl Client {
    /// `POST /operator/v1/session`: logs in.
    pub async fn log_in(self, token: &str) -> Result<SessionReply, ApiError> {
        let body = SessionRequest {
            token: token.to_owned(),
        };
        Call::new(Method::POST, SESSION).json(&body)?.read().await
    }

    /// `GET /operator/v1/session`: who is logged in.
    pub async fn session(self) -> Result<SessionReply, ApiError> {
        Call::get(SESSION).read().await
    }

    /// `DELETE /operator/v1/session`: logs out.
    pub async fn log_out(self) -> Result<(), ApiError> {
        Call::new(Method::DELETE, SESSION).done().await
    }

    /// `POST /operator/v1/sessions/revoke`: logs everybody out.
    pub async fn end_sessions(self, why: Option<&str>) -> Result<(), ApiError> {
        let call = Call::new(Method::POST, "/sessions/revoke");
        call.because(why).done().await
    }

    /// `GET /operator/v1/tokens`: one page of the tokens, as the query string with its `?` says.
    pub async fn tokens(self, query: &str) -> Result<TokensReply, ApiError> {
        Call::get(format!("/tokens{query}")).read().await
    }

    /// `POST /operator/v1/tokens`: a new token, whose text this answer alone has.
    pub async fn create_token(self, token: &TokenRequest) -> Result<TokenReply, ApiError> {
        Call::new(Method::POST, "/tokens").json(token)?.read().await
    }

    /// `DELETE /operator/v1/tokens/{id}`: revokes a token.
    pub async fn revoke_token(self, id: &str, why: Option<&str>) -> Result<(), ApiError> {
        let path = format!("/tokens/{}", segment(id));
        Call::new(Method::DELETE, path).because(why).done().await
    }
}
