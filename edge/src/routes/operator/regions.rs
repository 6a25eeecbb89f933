//! `GET /operator/v1/regions`: the regions of the policy, whether they answer, and where the units of budgets are.

use futures_util::future::{join, join_all};
use weir_shared::limits::{
    CALL_MS_MAX, COORDINATORS_ASKED_MAX, LABEL_BYTES_MAX, MINUTE_MS, RECORD_TENANTS_MAX,
};
use weir_shared::policy::Policy;
use weir_shared::units::EpochMs;
use weir_shared::wire::holdings::LentBody;
use weir_shared::wire::operator::regions::{CoordinatorStatus, RegionStatus, RegionsReply};
use weir_shared::wire::series::SeriesBody;
use worker::{Request, Response, console_error};

use super::{in_force, query};
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};
use crate::objects::calls::{PushRules, Rules};

/// The regions and the coordinators, each asked now. With `budget` of that one alone, and with its tenants.
///
/// # Errors
/// 400, 404 for a budget that the policy does not have, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let budget = query.text("budget", LABEL_BYTES_MAX)?;
    query.finish("budget")?;
    let found = in_force(handles).await?;
    let (look, unasked) = asked_for(&found.policy, budget.as_deref())?;
    let (here, _) = place(request, handles).await?;
    let asker = Asker {
        handles,
        policy: &found.policy,
        look: &look,
        tenants_max: budget.map_or(0, |_| RECORD_TENANTS_MAX as u64),
    };
    let (regions, coordinators) = asker.ask().await;
    reply::json(
        200,
        &RegionsReply {
            at: now(),
            policy_revision: found.revision,
            here,
            regions,
            coordinators,
            unasked,
        },
    )
}

/// What the regions and the coordinators of budgets say of themselves, as a scrape wants it. Budgets beyond the bound are not
/// asked about.
pub async fn health(
    handles: &RequestHandles,
    policy: &Policy,
) -> (Vec<RegionStatus>, Vec<CoordinatorStatus>) {
    let (look, _) = lent(policy, None);
    let asker = Asker {
        handles,
        policy,
        look: &look,
        tenants_max: 0,
    };
    asker.ask().await
}

/// The budgets to ask about, and how many are left out. Those that each isolate has for itself are nowhere else.
fn asked_for(policy: &Policy, budget: Option<&str>) -> Result<(Vec<String>, u64), Failure> {
    if budget.is_some_and(|name| !policy.budgets.contains_key(name)) {
        return Err(Failure::unknown("budget", ""));
    }
    Ok(lent(policy, budget))
}

fn lent(policy: &Policy, budget: Option<&str>) -> (Vec<String>, u64) {
    let names = policy.budgets.keys().filter(|name| policy.lends(name));
    let wanted = names.filter(|name| budget.is_none_or(|budget| budget == name.as_str()));
    let mut wanted: Vec<String> = wanted.cloned().collect();
    let unasked = wanted.len().saturating_sub(COORDINATORS_ASKED_MAX);
    wanted.truncate(COORDINATORS_ASKED_MAX);
    (wanted, unasked as u64)
}

/// Asks the objects.
struct Asker<'a> {
    handles: &'a RequestHandles,
    policy: &'a Policy,
    look: &'a [String],
    tenants_max: u64,
}

impl Asker<'_> {
    async fn ask(&self) -> (Vec<RegionStatus>, Vec<CoordinatorStatus>) {
        join(self.regions(), self.coordinators()).await
    }

    async fn regions(&self) -> Vec<RegionStatus> {
        let regions = self.policy.regions.iter();
        join_all(regions.map(|region| self.region(region))).await
    }

    /// A push of nothing tells what the region applies and holds, and changes nothing.
    async fn region(&self, region: &str) -> RegionStatus {
        let started = now();
        let push = PushRules {
            region: region.to_owned(),
            rules: Rules::default(),
            look: self.look.to_vec(),
        };
        let env = &self.handles.env;
        let asked = async {
            let answer = call(env, Address::region(region), &push, CALL_MS_MAX).await;
            (answer, now().since(started))
        };
        // Of no interval at all: it answers, or not.
        let nothing = SeriesBody {
            from: EpochMs(0),
            to: EpochMs(0),
            step_ms: MINUTE_MS,
            tenant: None,
        };
        let ledger = call(env, Address::ledger(region), &nothing, CALL_MS_MAX);
        let ((answer, answer_ms), ledger) = join(asked, ledger).await;
        if let Err(error) = &answer {
            console_error!("region {region}: {error}");
        }
        let answer = answer.ok();
        let applied = answer.as_ref().map(|pushed| pushed.policy);
        let holdings = answer
            .and_then(|pushed| pushed.holdings)
            .unwrap_or_default();
        let told_at = ledger.as_ref().ok().and_then(|ledger| ledger.told_at);
        RegionStatus {
            region: region.to_owned(),
            home: region == self.policy.home,
            reachable: applied.is_some(),
            answer_ms: applied.map(|_| answer_ms),
            policy_revision: applied,
            ledger_reachable: ledger.is_ok(),
            last_contact_at: holdings.heard_at.max(told_at),
            budgets: holdings.budgets,
        }
    }

    async fn coordinators(&self) -> Vec<CoordinatorStatus> {
        let budgets = self.look.iter();
        let coordinated = budgets.filter(|name| !self.policy.region_owns(name));
        join_all(coordinated.map(|name| self.coordinator(name))).await
    }

    async fn coordinator(&self, budget: &str) -> CoordinatorStatus {
        let started = now();
        let body = LentBody {
            budget: budget.to_owned(),
            regions: self.policy.regions.clone(),
            tenants_max: self.tenants_max,
        };
        let address = Address::coordinator(budget, &self.policy.home);
        let answer = call(&self.handles.env, address, &body, CALL_MS_MAX).await;
        let answer_ms = now().since(started);
        let budget = budget.to_owned();
        match answer {
            Ok(lent) => CoordinatorStatus {
                budget,
                reachable: true,
                answer_ms: Some(answer_ms),
                window: lent.window,
                ends_at: lent.ends_at,
                limit: lent.limit,
                lent: lent.lent,
                lent_total: lent.lent_total,
                free: lent.free,
                exact: lent.exact,
                tenants: lent.tenants,
            },
            Err(error) => {
                console_error!("coordinator of {budget}: {error}");
                CoordinatorStatus {
                    budget,
                    ..CoordinatorStatus::default()
                }
            }
        }
    }
}
