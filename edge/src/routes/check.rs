//! `POST /v1/check`: one decision.

use weir_shared::accounting::counters::Charged;
use weir_shared::check::{Check, Target};
use weir_shared::decision::{Decision, Reason};
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::policy::Policy;
use weir_shared::policy::name::label;
use weir_shared::policy::region::{Arrival, choose, nearest};
use weir_shared::units::{Revision, WindowLabel};
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::check::{CheckRequest, DecisionBody};
use weir_shared::wire::policy::OnUnavailable;
use weir_shared::wire::region::DecideBody;
use worker::js_sys::Reflect;
use worker::{Env, Request, Response};

use crate::auth;
use crate::http::failure::Failure;
use crate::http::ratelimit::{Promise, headers};
use crate::http::{body, reply};
use crate::isolate::budget::BudgetCheck;
use crate::isolate::contact::{count, policy};
use crate::isolate::region::Loaded;
use crate::isolate::request::RequestHandles;
use crate::isolate::{any_policy, forget, limit, now};

/// The header that names the region of a request, where `ALLOW_REGION_HEADER` is 1.
const REGION_HEADER: &str = "weir-region";

/// Answers one check. A decision is always 200.
///
/// # Errors
/// 400, 401, 404, 413 or 415, with the field at fault.
pub async fn check(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    auth::bearer(request, &handles.env)?;
    let question: CheckRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    let check = Check::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let asked = Asked {
        handles,
        region: &region,
        loaded: &loaded,
        check: &check,
    };
    let (decided, promise) = asked.decide().await?;
    let builder = reply::builder(200)?;
    let builder = headers(builder, &decided, promise, now().0)?;
    reply::with_body(builder, &decided)
}

/// A checked question at the place that decides it.
struct Asked<'a> {
    handles: &'a RequestHandles,
    region: &'a str,
    loaded: &'a Loaded,
    check: &'a Check,
}

/// A decision of a budget or limit, with what its rules say of it.
struct Ruled<'a> {
    charged: Charged<'a>,
    decision: Decision,
    window: Option<WindowLabel>,
    revision: Revision,
    promise: Promise,
    shadow: bool,
    on_unavailable: OnUnavailable,
}

impl Asked<'_> {
    async fn decide(&self) -> Result<(DecisionBody, Promise), Failure> {
        let tenant = self.check.tenant.as_deref();
        if tenant.is_some_and(|tenant| self.loaded.policy.tiers.resolve(tenant).is_none()) {
            return Err(Failure::unknown("tenant", ""));
        }
        let ruled = match &self.check.target {
            Target::Budget(name) => self.budget(name).await?,
            Target::Limit { name, key } => self.limit(name, key.as_deref()).await?,
        };
        let excused = ruled.decision.reason == Reason::Unavailable
            && ruled.on_unavailable == OnUnavailable::Allow;
        let admitted = ruled.decision.admitted() || excused;
        let tenant = tenant.unwrap_or(ANONYMOUS);
        count(
            self.handles,
            self.region,
            tenant,
            (ruled.charged, admitted, self.check.cost),
        )?;
        let enforced = self.loaded.policy.enforcing && !ruled.shadow;
        let promise = ruled.promise;
        Ok((self.body(ruled, admitted || !enforced), promise))
    }

    async fn budget<'a>(&'a self, name: &'a str) -> Result<Ruled<'a>, Failure> {
        let budgets = &self.loaded.policy.budgets;
        let budget = budgets.get(name).ok_or_else(|| self.unknown("budget"))?;
        let check = BudgetCheck {
            region: self.region,
            loaded: self.loaded,
            name,
            budget,
            cost: self.check.cost,
            at: self.check.at,
        };
        let (decision, window) = check.decide(self.handles).await?;
        Ok(Ruled {
            charged: Charged::Budget(name),
            decision,
            window,
            revision: self.loaded.revision,
            promise: Promise {
                quota: budget.limit,
                window_ms: budget.window_ms,
            },
            shadow: budget.shadow,
            on_unavailable: budget.on_unavailable,
        })
    }

    async fn limit<'a>(&'a self, name: &'a str, key: Option<&str>) -> Result<Ruled<'a>, Failure> {
        let limits = &self.loaded.policy.limits;
        let limit = limits.get(name).ok_or_else(|| self.unknown("limit"))?;
        let missing = |field: String| Failure::Invalid(Invalid::new(field, Fault::Missing));
        let tenant = match (limit.per_tenant, &self.check.tenant) {
            (true, None) => return Err(missing("/tenant".to_owned())),
            (true, Some(tenant)) => Some(tenant.clone()),
            (false, _) => None,
        };
        let key = match key {
            Some(key) => key,
            None if limit.per_tenant => "",
            None => return Err(missing(format!("{}/key", self.check.at))),
        };
        let question = DecideBody {
            region: self.region.to_owned(),
            limit: name.to_owned(),
            tenant,
            key: key.to_owned(),
            cost: self.check.cost,
        };
        let decided = limit::decide(self.handles, &question, limit, self.loaded.revision).await?;
        let (decision, revision) = decided;
        Ok(Ruled {
            charged: Charged::Limit(name),
            decision: decision.ok_or_else(|| self.unknown("limit"))?,
            window: None,
            revision,
            promise: Promise {
                quota: limit.quota,
                window_ms: limit.period_ms,
            },
            shadow: limit.shadow,
            on_unavailable: limit.on_unavailable,
        })
    }

    fn unknown(&self, what: &'static str) -> Failure {
        Failure::unknown(what, self.check.at)
    }

    /// The decision as it is answered. What is not enforced passes, with its true reason.
    fn body(&self, ruled: Ruled<'_>, allowed: bool) -> DecisionBody {
        let Ruled { decision, .. } = ruled;
        let (Charged::Budget(binding) | Charged::Limit(binding)) = ruled.charged;
        DecisionBody {
            allowed,
            limit: decision.limit,
            remaining: decision.remaining,
            reset_at: decision.reset_at.0,
            retry_after_ms: if allowed {
                Some(0)
            } else {
                decision.retry.after_ms()
            },
            binding: binding.to_owned(),
            reason: decision.reason,
            region: self.region.to_owned(),
            window: ruled.window.map(|label| label.0),
            policy_revision: ruled.revision.0,
        }
    }
}

/// The region that decides, with its policy. A region that the deployment pins or a test names is taken as it is, if
/// the policy has it; otherwise the nearest that the policy has. An isolate that knows no policy yet asks the nearest
/// of all.
async fn place(request: &Request, handles: &RequestHandles) -> Result<(String, Loaded), Failure> {
    if let Some(region) = named_region(request, &handles.env)? {
        let loaded = policy(handles, &region).await?;
        if loaded.policy.regions.contains(&region) {
            return Ok((region, loaded));
        }
        forget(&region);
        return Err(Failure::Invalid(Invalid::new(
            format!("/{REGION_HEADER}"),
            Fault::Unknown {
                name: region,
                what: "region of the policy",
            },
        )));
    }
    let origin = Origin::of(request);
    let arrival = origin.arrival();
    let choose = |policy: &Policy| choose(arrival, &policy.regions, &policy.home).to_owned();
    let first = any_policy().map_or_else(|| nearest(arrival)[0].to_owned(), |known| choose(&known));
    let loaded = policy(handles, &first).await?;
    let region = choose(&loaded.policy);
    if region == first {
        return Ok((region, loaded));
    }
    let loaded = policy(handles, &region).await?;
    Ok((region, loaded))
}

fn named_region(request: &Request, env: &Env) -> Result<Option<String>, Failure> {
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let header = if variable("ALLOW_REGION_HEADER").as_deref() == Some("1") {
        request.headers().get(REGION_HEADER)?
    } else {
        None
    };
    let Some(region) = header.or_else(|| variable("REGION")) else {
        return Ok(None);
    };
    label(&region).map_err(|fault| Invalid::new(format!("/{REGION_HEADER}"), fault))?;
    Ok(Some(region))
}

/// Where the platform says that a request arrived. Read field by field: a Worker that calls over a service binding
/// may send anything.
struct Origin {
    continent: Option<String>,
    longitude: Option<f64>,
}

impl Origin {
    fn of(request: &Request) -> Self {
        let field = |name: &str| {
            let cf = Reflect::get(request.inner(), &"cf".into()).ok()?;
            Reflect::get(&cf, &name.into()).ok()?.as_string()
        };
        Self {
            continent: field("continent"),
            longitude: field("longitude").and_then(|text| text.parse().ok()),
        }
    }

    fn arrival(&self) -> Arrival<'_> {
        Arrival {
            continent: self.continent.as_deref(),
            longitude: self.longitude,
        }
    }
}
