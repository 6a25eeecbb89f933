//! `GET /operator/v1/regions`: the regions of the policy, and whether they answer.

use futures_util::future::{join, join_all};
use weir_shared::limits::{CALL_MS_MAX, MINUTE_MS};
use weir_shared::units::EpochMs;
use weir_shared::wire::operator::regions::{RegionStatus, RegionsReply};
use weir_shared::wire::series::SeriesBody;
use worker::{Env, Request, Response, console_error};

use super::{in_force, query};
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};
use crate::objects::calls::{PushRules, Rules};
use crate::routes::place::place;

/// The regions, each asked now.
///
/// # Errors
/// 400, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    query(request)?.finish("none")?;
    let found = in_force(handles).await?;
    let (here, _) = place(request, handles).await?;
    let home = &found.policy.home;
    let regions = &found.policy.regions;
    let asked = regions
        .iter()
        .map(|region| status(&handles.env, region, home));
    let regions = join_all(asked).await;
    reply::json(
        200,
        &RegionsReply {
            at: now(),
            policy_revision: found.revision,
            here,
            regions,
        },
    )
}

/// A push of nothing tells what the region applies, and changes nothing.
async fn status(env: &Env, region: &str, home: &str) -> RegionStatus {
    let started = now();
    let push = PushRules {
        region: region.to_owned(),
        rules: Rules::default(),
    };
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
    let applied = answer.ok().map(|pushed| pushed.policy);
    RegionStatus {
        region: region.to_owned(),
        home: region == home,
        reachable: applied.is_some(),
        answer_ms: applied.map(|_| answer_ms),
        policy_revision: applied,
        ledger_reachable: ledger.is_ok(),
    }
}
