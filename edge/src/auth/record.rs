//! Records of who was let in and who was not, for the audit log.

use serde_json::{Value, json};
use weir_shared::access::endpoint::Endpoint;
use weir_shared::access::grant::Principal;
use weir_shared::audit::Action;
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::wire::audit::{AuditOutcome, Author};
use worker::{Env, console_error};

use crate::http::failure::Failure;
use crate::isolate::place::home;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};
use crate::objects::calls::AppendAudit;

/// A record of an action of `by`, who may be nobody.
#[must_use]
pub fn record(
    by: Option<&Principal>,
    action: Action,
    target: &str,
    after: Value,
    outcome: AuditOutcome,
) -> AppendAudit {
    AppendAudit {
        author: by.map(Author::from).unwrap_or_default(),
        action: action.name().to_owned(),
        target: target.to_owned(),
        before: Value::Null,
        after,
        outcome,
    }
}

/// Writes a record.
///
/// # Errors
/// 503 when the registry does not answer.
pub async fn append(env: &Env, record: &AppendAudit) -> Result<(), Failure> {
    let home = home()?;
    let appended = call(env, Address::registry(&home), record, OPERATOR_CALL_MS_MAX);
    match appended.await {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Unavailable {
            what: error.to_string(),
        }),
    }
}

/// Writes a record after the answer, if it can be written.
pub fn append_later(handles: &RequestHandles, record: AppendAudit) {
    let env = handles.env.clone();
    handles.detach(async move {
        if let Err(failure) = append(&env, &record).await {
            console_error!("{} was not recorded: {failure:?}", record.action);
        }
    });
}

/// Records that somebody who operates the deployment asked for a change that their role does not permit. What tenants and
/// services ask for is not recorded: there may be very many of them.
pub fn denied(handles: &RequestHandles, by: &Principal, endpoint: Endpoint, target: &str) {
    let action = match endpoint {
        Endpoint::PolicySave => Action::PolicySave,
        Endpoint::TenantPatch => Action::TenantPatch,
        Endpoint::TenantDelete => Action::TenantDelete,
        Endpoint::TokenCreate => Action::TokenCreate,
        Endpoint::TokenRevoke => Action::TokenRevoke,
        Endpoint::SessionsRevoke => Action::SessionsRevoke,
        Endpoint::Reset => Action::StateReset,
        _ => return,
    };
    if by.role.operates() {
        let after = json!({ "status": 403 });
        let record = record(Some(by), action, target, after, AuditOutcome::Refused);
        append_later(handles, record);
    }
}
