//! The tenant's view, the operator's and the scrape tell the same, and that is what the driver did.

use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::operator::own::OwnReply;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT};

use crate::ledger::books::{Books, Own};
use crate::ledger::scrape::{Scrape, scrape, sum};
use crate::ledger::{GUARD, LONG_MS, METER, SETTLING, document, start};

const TENANTS: [&str; 4] = ["enterprise:acme", "pro:hooli", "free:du\"ff\\", "unnamed"];

/// The first difference between the driver's books and a surface.
pub async fn difference(books: &Books, client: &Client) -> Option<String> {
    let operator = client.fairness().await.unwrap();
    let metrics = scrape(client).await;
    for (tenant, own) in &books.0 {
        let path = format!("/v1/fairness?tenant={}", encoded(tenant));
        let view: OwnReply = client.get(&path).await.unwrap().ok().unwrap();
        let found = [
            ("tenant", of_tenant(&view)),
            ("operator", of_operator(&operator, tenant)),
            ("metrics", of_metrics(&metrics, tenant)),
        ];
        for (surface, seen) in found {
            if seen.as_ref() != Some(own) {
                return Some(format!("{surface}, {tenant}: {seen:?} instead of {own:?}"));
            }
        }
    }
    None
}

/// Waits until every surface says what the driver did.
pub async fn agree(books: &Books, client: &Client) {
    let started = now();
    loop {
        let Some(difference) = difference(books, client).await else {
            return;
        };
        assert!(
            started.elapsed() < SETTLING,
            "after {SETTLING:?}: {difference}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

fn of_tenant(reply: &OwnReply) -> Option<Own> {
    let view = reply.view.as_ref()?;
    let mut budget = view.budgets.get(BUDGET)?.total;
    budget.borrowed_units = Default::default();
    let guard = view.guards.get(GUARD)?;
    Some(Own {
        budget,
        limit: *view.limits.get(LIMIT)?,
        meter: *view.ingest.get(METER)?,
        allowed: guard.allowed,
        rejected_concurrency: guard.rejected_concurrency,
    })
}

fn of_operator(reply: &FairnessReply, tenant: &str) -> Option<Own> {
    let report = reply
        .tenants
        .iter()
        .find(|report| report.tenant == tenant)?;
    let mut budget = report.budgets.get(BUDGET)?.total;
    budget.borrowed_units = Default::default();
    let guard = report.guards.get(GUARD)?;
    Some(Own {
        budget,
        limit: *report.limits.get(LIMIT)?,
        meter: *report.meters.get(METER)?,
        allowed: guard.allowed,
        rejected_concurrency: guard.rejected_concurrency,
    })
}

fn of_metrics(scrape: &Scrape, tenant: &str) -> Option<Own> {
    use weir_shared::wire::accounting::{MeterTally, Tally};
    use weir_shared::wire::count::Count;
    let label = format!(
        "tenant_id=\"{}\"",
        weir_shared::accounting::metrics::escaped(tenant)
    );
    let count = |series: &str| Count(sum(scrape, series, &label));
    let tally = |kind: &str| Tally {
        admitted_calls: count(&format!("weir_{kind}_admitted_calls_total")),
        admitted_units: count(&format!("weir_{kind}_admitted_units_total")),
        denied_calls: count(&format!("weir_{kind}_denied_calls_total")),
        denied_units: count(&format!("weir_{kind}_denied_units_total")),
        borrowed_units: Count(0),
    };
    let concurrency =
        format!("weir_fairness_queries_rejected_total{{{label},reason=\"concurrency\"}}");
    Some(Own {
        budget: tally("budget"),
        limit: tally("limit"),
        meter: MeterTally {
            admitted_calls: count("weir_fairness_admitted_calls_total"),
            admitted_units: count("weir_fairness_admitted_units_total"),
            shed_calls: count("weir_fairness_shed_calls_total"),
            shed_units: count("weir_fairness_shed_units_total"),
        },
        allowed: count("weir_fairness_queries_allowed_total"),
        rejected_concurrency: Count(*scrape.get(&concurrency)?),
    })
}

fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric();
    let bytes = text.as_bytes().iter();
    bytes
        .map(|byte| match plain(byte) {
            true => char::from(*byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_surface_tells_what_the_driver_did() {
    let workerd = start(&document(200, LONG_MS)).await;
    let clients = workerd.clients().unwrap();
    let mut books = Books::default();
    for step in 0..48_usize {
        let tenant = TENANTS[step % TENANTS.len()];
        books.round(&clients[step % 3], tenant, step as u64).await;
    }
    let acme = &books.0["enterprise:acme"];
    assert!(
        acme.meter.shed_calls.0 > 0 && acme.meter.admitted_calls.0 > 0,
        "{acme:?}"
    );
    assert_eq!(acme.allowed.0, 2, "two slots, and nobody lets go");
    agree(&books, &clients[0]).await;
    // Nothing is counted again later, and every region's isolate tells the same.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(difference(&books, &clients[2]).await, None);
    let metrics = scrape(&clients[1]).await;
    let label = "tenant_id=\"enterprise:acme\"";
    assert_eq!(sum(&metrics, "weir_fairness_queries_in_flight", label), 2);
}
