//! Checks in the background, so that there is something to look at.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use weir_shared::wire::check::CheckRequest;
use weir_tests::client::{Client, budget_check, limit_check};
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::workerd::REGIONS;

/// Traffic until it is dropped.
pub(crate) struct Traffic(JoinHandle<()>);

impl Traffic {
    /// So many checks a second, of so many units and up to five times that, by the tenants in turn and in all regions.
    pub(crate) fn start(client: &Client, tenants: &[&str], per_s: u32, units: u64) -> Self {
        let tenants = tenants.iter().map(|name| (*name).to_owned()).collect();
        Self(tokio::spawn(run(client.clone(), tenants, per_s, units)))
    }

    /// So many checks a second of the shared budget alone, of one tenant, in all regions.
    pub(crate) fn of_budget(client: &Client, tenant: &str, per_s: u32, units: u64) -> Self {
        let (client, tenant) = (client.clone(), tenant.to_owned());
        Self(tokio::spawn(async move {
            let regions = REGIONS.map(|region| client.in_region(region));
            let mut ticks = interval(Duration::from_secs(1) / per_s);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            for step in 0.. {
                ticks.tick().await;
                let region = &regions[step % regions.len()];
                let _answer = region.check(&budget_check(&tenant, BUDGET, units)).await;
            }
        }))
    }

    /// Of all tiers, some admitted and some denied.
    pub(crate) fn of_all_tiers(client: &Client) -> Self {
        let tenants = [
            "enterprise:acme",
            "enterprise:acme-labs",
            "enterprise:globex",
            "pro:hooli",
            "free:duff",
            "free:flood",
            "société",
            "free:flood",
        ];
        Self::start(client, &tenants, 20, 1)
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn run(client: Client, tenants: Vec<String>, per_s: u32, units: u64) {
    let regions = REGIONS.map(|region| client.in_region(region));
    let mut ticks = interval(Duration::from_secs(1) / per_s);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for step in 0.. {
        ticks.tick().await;
        let request = request(&tenants[step % tenants.len()], step, units);
        // A server that is gone, as on a bad day, answers nothing.
        let _answer = regions[step % regions.len()].check(&request).await;
    }
}

/// Every fifth check is of the limit, every seventh of the meter.
fn request(tenant: &str, step: usize, units: u64) -> CheckRequest {
    let cost = 1 + step as u64 % 5;
    if step % 5 == 4 {
        return CheckRequest {
            tenant: Some(tenant.to_owned()),
            ..limit_check(LIMIT, &format!("203.0.113.{}", step % 3), cost)
        };
    }
    if step % 7 == 6 {
        return CheckRequest {
            tenant: Some(tenant.to_owned()),
            meter: Some("bytes".to_owned()),
            cost: Some(100 * cost),
            ..CheckRequest::default()
        };
    }
    budget_check(tenant, BUDGET, cost * units)
}
