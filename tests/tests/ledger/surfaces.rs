//! The tenant's view, the operator's and the scrape tell the same, and that is what the driver did.

use weir_shared::wire::accounting::{MeterTally, Tally};
use weir_shared::wire::count::Count;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::operator::own::OwnReply;
use weir_shared::wire::operator::series::{SeriesView, WindowsView};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT};

use crate::ledger::books::{Books, Own};
use crate::ledger::scrape::{Scrape, scrape, sum};
use crate::ledger::{GUARD, LONG_MS, METER, SETTLING, SHADOW, document, read, start};

const TENANTS: [&str; 4] = ["enterprise:acme", "pro:hooli", "free:du\"ff\\", "unnamed"];

/// The first difference between the driver's books and a surface.
pub async fn difference(books: &Books, client: &Client) -> Option<String> {
    let operator: FairnessReply = read(client, "/operator/v1/fairness").await;
    let metrics = scrape(client).await;
    for (tenant, own) in &books.0 {
        let path = format!("/v1/fairness?tenant={}", encoded(tenant));
        let view: OwnReply = read(client, &path).await;
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
    let used = books.0.values().map(|own| own.budget.admitted_units.0);
    let used: u128 = used.sum();
    let told = over_time(client).await;
    let differs = told.into_iter().find(|(_, told)| *told != used);
    differs.map(|(surface, told)| format!("{surface}: {told} instead of {used}"))
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
    let budget = view.budgets.get(BUDGET)?;
    assert_eq!(budget.used, budget.total.admitted_units);
    assert_eq!(budget.reserved, budget.total.reserved_units);
    let guard = view.guards.get(GUARD).copied().unwrap_or_default();
    Some(Own {
        budget: without_borrowed(budget.total),
        limit: view.limits.get(LIMIT).copied().unwrap_or_default(),
        shadow: view.limits.get(SHADOW).copied().unwrap_or_default(),
        meter: view.ingest.get(METER).copied().unwrap_or_default(),
        allowed: guard.allowed,
        rejected_concurrency: guard.rejected_concurrency,
    })
}

fn of_operator(reply: &FairnessReply, tenant: &str) -> Option<Own> {
    let report = reply
        .tenants
        .iter()
        .find(|report| report.tenant == tenant)?;
    let guard = report.guards.get(GUARD).copied().unwrap_or_default();
    Some(Own {
        budget: without_borrowed(report.budgets.get(BUDGET)?.total),
        limit: report.limits.get(LIMIT).copied().unwrap_or_default(),
        shadow: report.limits.get(SHADOW).copied().unwrap_or_default(),
        meter: report.meters.get(METER).copied().unwrap_or_default(),
        allowed: guard.allowed,
        rejected_concurrency: guard.rejected_concurrency,
    })
}

fn without_borrowed(tally: Tally) -> Tally {
    Tally {
        borrowed_units: Count(0),
        ..tally
    }
}

fn of_metrics(scrape: &Scrape, tenant: &str) -> Option<Own> {
    let label = format!(
        "tenant_id=\"{}\"",
        weir_shared::report::metrics::escaped(tenant)
    );
    let count = |series: &str, name: &str| {
        let named = |(key, value): (&String, &u128)| {
            let found = key.contains(&label) && key.contains(name);
            (found && key.split('{').next() == Some(series)).then_some(*value)
        };
        Count(scrape.iter().filter_map(named).sum())
    };
    let tally = |kind: &str, name: &str| Tally {
        admitted_calls: count(&format!("weir_{kind}_admitted_calls_total"), name),
        admitted_units: count(&format!("weir_{kind}_admitted_units_total"), name),
        denied_calls: count(&format!("weir_{kind}_denied_calls_total"), name),
        denied_units: count(&format!("weir_{kind}_denied_units_total"), name),
        would_deny_calls: count(&format!("weir_{kind}_would_deny_calls_total"), name),
        would_deny_units: count(&format!("weir_{kind}_would_deny_units_total"), name),
        reserved_units: count(&format!("weir_{kind}_reserved_units"), name),
        ..Tally::default()
    };
    let meter = |what: &str| count(&format!("weir_meter_{what}"), "");
    let concurrency = format!(
        "weir_guard_queries_rejected_total{{guard=\"{GUARD}\",reason=\"concurrency\",{label}}}"
    );
    Some(Own {
        budget: tally("budget", ""),
        limit: tally("limit", &format!("limit=\"{LIMIT}\"")),
        shadow: tally("limit", &format!("limit=\"{SHADOW}\"")),
        meter: MeterTally {
            admitted_calls: meter("admitted_calls_total"),
            admitted_units: meter("admitted_units_total"),
            shed_calls: meter("shed_calls_total"),
            shed_units: meter("shed_units_total"),
            would_deny_calls: meter("would_deny_calls_total"),
            would_deny_units: meter("would_deny_units_total"),
            reserved_units: meter("reserved_units"),
            ..MeterTally::default()
        },
        allowed: count("weir_guard_queries_allowed_total", ""),
        rejected_concurrency: Count(scrape.get(&concurrency).copied().unwrap_or(0)),
    })
}

/// What was used of the budget over all regions and tenants, as the series, and the records of windows say it.
async fn over_time(client: &Client) -> [(&'static str, u128); 2] {
    let series: SeriesView = read(client, "/operator/v1/series").await;
    let points = series.points.iter();
    let budgets = points.filter_map(|point| point.counters.budgets.get(BUDGET));
    let path = format!("/operator/v1/budgets/{BUDGET}/windows?page_size=50");
    let windows: WindowsView = read(client, &path).await;
    let used = windows.windows.iter();
    let used = used.map(|window| window.admitted.0 + window.beyond.0);
    [
        ("series", budgets.map(|tally| tally.admitted_units.0).sum()),
        ("windows", used.sum()),
    ]
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
    // Nothing is counted again later, which would stay, and every region's isolate tells the same.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    agree(&books, &clients[2]).await;
    let label = "tenant_id=\"enterprise:acme\"";
    let begun = now();
    loop {
        let metrics = scrape(&clients[1]).await;
        let in_flight = sum(&metrics, "weir_guard_queries_in_flight", label);
        if in_flight == 2 {
            return;
        }
        // A ledger that is late is left out of a scrape.
        assert!(begun.elapsed() < SETTLING, "{in_flight} in flight");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
