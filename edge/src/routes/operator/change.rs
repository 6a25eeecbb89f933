//! Changes: who makes them and why, what they expect, and a record of those that are refused before the registry sees
//! them. What the registry refuses it records itself.

use serde_json::{Value, json};
use weir_shared::audit::Action;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, REASON_CHARACTERS_MAX};
use weir_shared::wire::audit::{AuditOutcome, Author};
use worker::{Request, console_error};

use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::isolate::place::home;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};
use crate::objects::calls::AppendAudit;

/// The header that says why.
const REASON_HEADER: &str = "weir-reason";

/// A change that somebody asks for.
pub struct Change<'a> {
    handles: &'a RequestHandles,
    action: Action,
    target: String,
    author: Author,
}

impl<'a> Change<'a> {
    /// A change of `target` that `caller` asks for.
    ///
    /// # Errors
    /// 400 for a reason that is too long or has control characters, which is recorded without it.
    pub fn new(
        request: &Request,
        handles: &'a RequestHandles,
        caller: &Caller,
        action: Action,
    ) -> Result<Self, Failure> {
        let mut change = Self {
            handles,
            action,
            target: caller.name.clone(),
            author: Author::from(&*caller.principal),
        };
        let header = request.headers().get(REASON_HEADER)?;
        let why = reason(header, &format!("/{REASON_HEADER}")).map_err(Failure::from);
        change.author.why = change.asked(why)?;
        Ok(change)
    }

    /// The same change of something that the path does not name.
    #[must_use]
    pub fn of(mut self, target: String) -> Self {
        self.target = target;
        self
    }

    /// Who makes it.
    #[must_use]
    pub fn author(&self) -> Author {
        self.author.clone()
    }

    /// Takes the reason that came in the body, where there is one.
    ///
    /// # Errors
    /// 400 at `/why`.
    pub fn because(&mut self, why: Option<String>) -> Result<(), Failure> {
        if let Some(why) = reason(why, "/why")? {
            self.author.why = Some(why);
        }
        Ok(())
    }

    /// What was read of the request. If that failed, the refusal is recorded in the background.
    ///
    /// # Errors
    /// The failure itself.
    pub fn asked<T>(&self, read: Result<T, Failure>) -> Result<T, Failure> {
        read.inspect_err(|failure| self.refused(failure))
    }

    fn refused(&self, failure: &Failure) {
        let problem = failure.problem();
        // What a part of Weir could not do is nobody's refused change.
        if problem.status >= 500 {
            return;
        }
        let refused = json!({
            "status": problem.status, "detail": problem.detail, "field": problem.field,
        });
        let record = self.record(AuditOutcome::Refused, Value::Null, refused);
        let env = self.handles.env.clone();
        self.handles.detach(async move {
            let Ok(home) = home() else {
                return;
            };
            let address = Address::registry(&home);
            if let Err(error) = call(&env, address, &record, OPERATOR_CALL_MS_MAX).await {
                console_error!("a refused change was not recorded: {error}");
            }
        });
    }

    /// A record of it.
    #[must_use]
    pub fn record(&self, outcome: AuditOutcome, before: Value, after: Value) -> AppendAudit {
        AppendAudit {
            author: self.author(),
            action: self.action.name().to_owned(),
            target: self.target.clone(),
            before,
            after,
            outcome,
        }
    }
}

fn reason(text: Option<String>, at: &str) -> Result<Option<String>, Invalid> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let got = text.chars().count();
    let fault = if got > REASON_CHARACTERS_MAX {
        let (max, what) = (REASON_CHARACTERS_MAX, "characters");
        Some(Fault::TooMany { got, max, what })
    } else {
        let allowed = "all but control characters";
        let control = text.chars().find(|c| c.is_control());
        control.map(|got| Fault::Character { got, allowed })
    };
    match fault {
        Some(fault) => Err(Invalid::new(at, fault)),
        None => Ok(Some(text)),
    }
}

/// The tag of `If-Match`; `None` for `*` (RFC 9110, section 13.1.1). A weak tag never matches.
///
/// # Errors
/// 428 without the header.
pub fn if_match(request: &Request) -> Result<Option<String>, Failure> {
    let header = request.headers().get("if-match")?;
    let value = header.ok_or(Failure::PreconditionRequired)?;
    let value = value.trim();
    if value == "*" {
        return Ok(None);
    }
    let strong = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    // Any other text is the tag of nothing.
    Ok(Some(strong.unwrap_or_default().to_owned()))
}

/// What the registry refuses because the audit log would not say what it was.
#[must_use]
pub fn too_often(after_ms: u64) -> Failure {
    let detail =
        "One actor's changes of this kind within a day are as many as the audit log records.";
    Failure::TooMany { detail, after_ms }
}

/// What the registry says is not a valid policy.
#[must_use]
pub fn invalid(field: String, message: String) -> Failure {
    Failure::Invalid(Invalid::new(field, Fault::Form { message }))
}
