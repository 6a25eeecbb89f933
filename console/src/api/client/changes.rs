//! What is changed: the policy, its tenants, and state that is put back to its start.

use gloo::net::http::Method;
use weir_shared::wire::operator::reset::{ResetReply, ResetRequest};
use weir_shared::wire::operator::tenants::{TenantReply, TenantsReply};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::preview::PreviewBody;
use weir_shared::wire::replay::{ReplayBody, ReplayRequest};
use weir_shared::wire::tenant::TenantPatch;

use super::{Call, Client};
use crate::api::ask::{TenantsAsk, segment};
use crate::api::error::ApiError;
use crate::api::tagged::Tagged;

const POLICY: &str = "/policy";

impl Client {
    /// `GET /operator/v1/policy`: the document in force.
    pub async fn policy(self) -> Result<Tagged<PolicyDocument>, ApiError> {
        Call::get(POLICY).slow().tagged().await
    }

    /// `PUT /operator/v1/policy`: another document, if the one in force is still the one that was read.
    pub async fn save_policy(
        self,
        document: &PolicyDocument,
        if_match: &str,
        why: Option<&str>,
    ) -> Result<Tagged<PolicyDocument>, ApiError> {
        let call = Call::new(Method::PUT, POLICY).json(document)?;
        call.if_match(if_match).because(why).slow().tagged().await
    }

    /// `POST /operator/v1/policy/preview`: who would gain and who would lose. Changes nothing.
    pub async fn preview_policy(self, document: &PolicyDocument) -> Result<PreviewBody, ApiError> {
        let call = Call::new(Method::POST, format!("{POLICY}/preview")).json(document)?;
        call.slow().read().await
    }

    /// `POST /operator/v1/replay`: what both policies would have admitted. Changes nothing.
    pub async fn replay(self, request: &ReplayRequest) -> Result<ReplayBody, ApiError> {
        let call = Call::new(Method::POST, "/replay").json(request)?;
        call.slow().read().await
    }

    /// `GET /operator/v1/tenants`: one page of the tenants.
    pub async fn tenants(self, ask: &TenantsAsk) -> Result<TenantsReply, ApiError> {
        Call::get(format!("/tenants{}", ask.query_string()))
            .read()
            .await
    }

    /// `GET /operator/v1/tenants/{id}`: one tenant.
    pub async fn tenant(self, tenant: &str) -> Result<Tagged<TenantReply>, ApiError> {
        Call::get(one(tenant)).tagged().await
    }

    /// `PATCH /operator/v1/tenants/{id}`: changes the fields that the patch names; it also says why.
    pub async fn patch_tenant(
        self,
        tenant: &str,
        patch: &TenantPatch,
        if_match: &str,
    ) -> Result<Tagged<TenantReply>, ApiError> {
        let call = Call::new(Method::PATCH, one(tenant)).json(patch)?;
        let why = patch.why.as_deref();
        call.if_match(if_match).because(why).slow().tagged().await
    }

    /// `DELETE /operator/v1/tenants/{id}`: takes a tenant out of the policy.
    pub async fn delete_tenant(
        self,
        tenant: &str,
        if_match: &str,
        why: Option<&str>,
    ) -> Result<(), ApiError> {
        let call = Call::new(Method::DELETE, one(tenant));
        call.if_match(if_match).because(why).slow().done().await
    }

    /// `POST /operator/v1/reset`: puts a key, a meter, a guard or a tenant back to its start; the request says why.
    pub async fn reset(self, request: &ResetRequest) -> Result<ResetReply, ApiError> {
        let call = Call::new(Method::POST, "/reset").json(request)?;
        call.slow().read().await
    }
}

fn one(tenant: &str) -> String {
    format!("/tenants/{}", segment(tenant))
}
