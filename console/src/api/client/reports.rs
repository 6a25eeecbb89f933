//! What was counted, and how the deployment is.

use serde_json::Value;
use weir_shared::wire::audit::AuditVerdict;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::operator::audit::AuditReply;
use weir_shared::wire::operator::budgets::BudgetsReply;
use weir_shared::wire::operator::costs::CostsReply;
use weir_shared::wire::operator::explained::ExplainedDecision;
use weir_shared::wire::operator::regions::RegionsReply;
use weir_shared::wire::operator::series::{SeriesView, WindowsView};

use super::{Call, Client};
use crate::api::ask::{AuditAsk, FairnessAsk, SeriesAsk, WindowsAsk, regions_query, segment};
use crate::api::error::ApiError;

impl Client {
    /// `GET /operator/v1/fairness`: the tenants seen, with what they got.
    pub async fn fairness(self, ask: &FairnessAsk) -> Result<FairnessReply, ApiError> {
        Call::get(format!("/fairness{}", ask.query_string()))
            .read()
            .await
    }

    /// `GET /operator/v1/budgets`: every budget of the policy.
    pub async fn budgets(self) -> Result<BudgetsReply, ApiError> {
        Call::get("/budgets").read().await
    }

    /// `GET /operator/v1/budgets/{name}/windows`: the windows that a budget had, newest first.
    pub async fn windows(self, budget: &str, ask: &WindowsAsk) -> Result<WindowsView, ApiError> {
        let budget = segment(budget);
        Call::get(format!("/budgets/{budget}/windows{}", ask.query_string()))
            .read()
            .await
    }

    /// `GET /operator/v1/regions`: the regions, each asked now.
    pub async fn regions(self) -> Result<RegionsReply, ApiError> {
        self.regions_of(None).await
    }

    /// The same of one budget alone, with what regions have of each of its tenants.
    pub async fn regions_of(self, budget: Option<&str>) -> Result<RegionsReply, ApiError> {
        Call::get(format!("/regions{}", regions_query(budget)))
            .read()
            .await
    }

    /// `GET /operator/v1/audit`: records of the audit log.
    pub async fn audit(self, ask: &AuditAsk) -> Result<AuditReply, ApiError> {
        Call::get(format!("/audit{}", ask.query_string()))
            .read()
            .await
    }

    /// The same, not read into its form: where little of it is looked at, that form's code does not come.
    pub async fn audit_as_it_is(self, ask: &AuditAsk) -> Result<Value, ApiError> {
        Call::get(format!("/audit{}", ask.query_string()))
            .read()
            .await
    }

    /// `GET /operator/v1/audit/verify`: whether the whole log is as it was written.
    pub async fn verify_audit(self) -> Result<AuditVerdict, ApiError> {
        Call::get("/audit/verify").slow().read().await
    }

    /// `GET /operator/v1/series`: counters over time.
    pub async fn series(self, ask: &SeriesAsk) -> Result<SeriesView, ApiError> {
        Call::get(format!("/series{}", ask.query_string()))
            .read()
            .await
    }

    /// `GET /operator/v1/decisions/{decision}`: what the id of a denial leads to.
    pub async fn explained(self, id: &str) -> Result<ExplainedDecision, ApiError> {
        Call::get(format!("/decisions/{}", segment(id)))
            .read()
            .await
    }

    /// `GET /operator/v1/costs`: what the deployment used of the platform.
    pub async fn costs(self) -> Result<CostsReply, ApiError> {
        Call::get("/costs").read().await
    }
}
