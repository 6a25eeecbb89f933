//! What callers and operators send.

use serde::de::DeserializeOwned;
use weir_shared::access::grant::NewToken;
use weir_shared::check::batch::Batch;
use weir_shared::check::guard::{Acquire, Slot};
use weir_shared::check::report::Report;
use weir_shared::check::reserve::Reserve;
use weir_shared::check::settle::Settle;
use weir_shared::check::short::Short;
use weir_shared::check::{Check, Target};
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::limits::COST_MAX;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::batch::BatchRequest;
use weir_shared::wire::check::CheckRequest;
use weir_shared::wire::guard::{AcquireRequest, SlotRequest};
use weir_shared::wire::operator::reset::ResetRequest;
use weir_shared::wire::operator::session::SessionRequest;
use weir_shared::wire::report::ReportRequest;
use weir_shared::wire::reserve::ReserveRequest;
use weir_shared::wire::settle::SettleRequest;
use weir_shared::wire::tenant::TenantPatch;

use super::{lanes, law::form};
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "check" => check,
    "short" => short,
    "batch" => checked::<BatchRequest, Batch>,
    "reserve" => checked::<ReserveRequest, Reserve>,
    "settle" => checked::<SettleRequest, Settle>,
    "report" => checked::<ReportRequest, Report>,
    "acquire" => checked::<AcquireRequest, Acquire>,
    "slot" => checked::<SlotRequest, Slot>,
    "token" => checked::<TokenRequest, NewToken>,
    "check form" => form::<CheckRequest>,
    "patch" => form::<TenantPatch>,
    "reset" => form::<ResetRequest>,
    "session" => form::<SessionRequest>,
};

/// What is asked keeps its bounds: a cost, what a guard takes, how many items there are.
fn check(input: &[u8]) -> bool {
    let Ok(check) = read_json::<CheckRequest>(input).and_then(Check::try_from) else {
        return false;
    };
    assert!((1..=16).contains(&check.items.len()), "{check:?}");
    for item in &check.items {
        let most = if matches!(item.target, Target::Guard { .. }) {
            1
        } else {
            COST_MAX
        };
        assert!(item.cost <= most, "{item:?}");
    }
    true
}

/// What is read in place is what is read in whole.
fn short(input: &[u8]) -> bool {
    let Some(short) = Short::read(input) else {
        return false;
    };
    let request: CheckRequest = read_json(input).expect("what is read in place is JSON");
    assert_eq!(request.tenant.as_deref(), short.tenant);
    assert_eq!(request.budget.as_deref(), Some(short.budget));
    assert_eq!(request.cost.unwrap_or(1), short.cost);
    if let Ok(check) = Check::try_from(request) {
        assert_eq!(check.items.first().map(|item| item.cost), Some(short.cost));
    }
    true
}

/// A form is taken or refused, the same each time.
fn checked<F, T>(input: &[u8]) -> bool
where
    F: DeserializeOwned + Clone,
    T: TryFrom<F, Error = Invalid> + PartialEq,
{
    let Ok(read) = read_json::<F>(input) else {
        return false;
    };
    let (once, again) = (T::try_from(read.clone()), T::try_from(read));
    match (once, again) {
        (Ok(once), Ok(again)) => assert!(once == again),
        (Err(once), Err(again)) => assert_eq!(once, again),
        _ => panic!("a form is taken once and refused once"),
    }
    true
}
