//! Every decided unit is counted once.

use std::time::Duration;

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::check::CheckRequest;
use weir_shared::wire::operator::FairnessReply;
use weir_tests::client::{Client, budget_check, limit_check};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT, gcra, policy, with};
use weir_tests::workerd::Setup;

use crate::check::{COUNTED, HOUR_MS, LONG_MS, deployment};

/// workerd puts an object to sleep ten seconds after its last call; the task that hands counters on ends a little later.
const ASLEEP_AFTER: Duration = Duration::from_secs(14);

/// The driver keeps its own books; the ledger's must be the same, per tenant, to the call and to the unit.
#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_counts_every_unit_once() {
    let document = with(policy(600, LONG_MS), "/limits/per_ip", gcra(6, HOUR_MS, 20));
    let (workerd, _) = deployment(Setup::three_regions(), document).await;
    let mut books = Books::default();
    let clients = workerd.clients().unwrap();
    for step in 0..240 {
        let client = &clients[step % 3];
        let tenant = ["enterprise:acme", "pro:hooli", "free:duff", "unnamed"][step % 4];
        let cost = 1 + (step as u64 * 5) % 7;
        let (name, request) = if step % 3 == 1 {
            let check = limit_check(LIMIT, &format!("key{}", step % 5), cost);
            (
                LIMIT,
                CheckRequest {
                    tenant: Some(tenant.to_owned()),
                    ..check
                },
            )
        } else {
            (BUDGET, budget_check(tenant, BUDGET, cost))
        };
        let decision = client.check(&request).await.unwrap().decision;
        books.count(tenant, name, decision.allowed, cost);
    }
    let [admitted, denied] = [books.total().admitted_calls.0, books.total().denied_calls.0];
    assert!(
        admitted > 50 && denied > 50,
        "both must occur: {admitted} admitted, {denied} denied"
    );
    let view = books.await_agreement(&workerd.client(0).unwrap()).await;
    let by_region = view
        .regions
        .iter()
        .fold(Tally::default(), |mut sum, region| {
            sum.add(&region.total);
            sum
        });
    let by_tenant = view
        .tenants
        .iter()
        .fold(Tally::default(), |mut sum, report| {
            sum.add(&report.total);
            sum
        });
    assert_eq!(by_region, by_tenant, "regions and tenants sum to the same");
    let acme = view
        .tenants
        .iter()
        .find(|report| report.tenant == "enterprise:acme")
        .unwrap();
    assert_eq!(
        (acme.tier.as_deref(), acme.weight.0),
        (Some("enterprise"), 4.0)
    );
    // Nothing is counted again later.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let later = report(&workerd.client(2).unwrap()).await;
    assert_eq!(books.difference(&later), None);
}

/// An object that nobody calls is put to sleep and forgets which frames it counted; that loses none.
#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_counts_on_after_the_regions_slept() {
    let (workerd, _) = deployment(Setup::three_regions(), policy(1_000, LONG_MS)).await;
    let clients = workerd.clients().unwrap();
    let mut books = Books::default();
    for round in 0..2 {
        if round > 0 {
            tokio::time::sleep(ASLEEP_AFTER).await;
        }
        for (index, client) in clients.iter().enumerate() {
            let cost = 1 + index as u64;
            let check = budget_check("pro:hooli", BUDGET, cost);
            let decision = client.check(&check).await.unwrap().decision;
            books.count("pro:hooli", BUDGET, decision.allowed, cost);
        }
        books.await_agreement(&workerd.client(0).unwrap()).await;
    }
}

/// The report of all regions: one whose ledger is late on a busy machine is left out for a moment.
async fn report(client: &Client) -> FairnessReply {
    let begun = now();
    loop {
        match client.fairness().await {
            Ok(view) if view.regions.iter().all(|region| region.reachable) => return view,
            other => assert!(begun.elapsed() < COUNTED, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Tallies by tenant and by what was charged.
#[derive(Default)]
struct Books(OrderedMap<(String, String), Tally>);

impl Books {
    fn count(&mut self, tenant: &str, name: &str, allowed: bool, cost: u64) {
        let tally = self
            .0
            .entry((tenant.to_owned(), name.to_owned()))
            .or_default();
        if allowed {
            tally.admitted_calls += 1;
            tally.admitted_units += cost;
        } else {
            tally.denied_calls += 1;
            tally.denied_units += cost;
        }
    }

    fn total(&self) -> Tally {
        self.0.values().fold(Tally::default(), |mut sum, tally| {
            sum.add(tally);
            sum
        })
    }

    /// The first entry that the view counts otherwise.
    fn difference(&self, view: &FairnessReply) -> Option<String> {
        let differs = |((tenant, name), tally): (&(String, String), &Tally)| {
            let report = view.tenants.iter().find(|report| report.tenant == *tenant);
            let budget = report
                .and_then(|report| report.budgets.get(name))
                .map(|budget| budget.total);
            let counted =
                budget.or_else(|| report.and_then(|report| report.limits.get(name)).copied());
            (counted != Some(*tally))
                .then(|| format!("{tenant}, {name}: {counted:?} instead of {tally:?}"))
        };
        self.0.iter().find_map(differs)
    }

    async fn await_agreement(&self, client: &Client) -> FairnessReply {
        let begun = now();
        loop {
            let view = report(client).await;
            let difference = self.difference(&view);
            if difference.is_none() {
                return view;
            }
            assert!(begun.elapsed() < COUNTED, "{difference:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
