//! Tenants above tenants: a company shares with others as one, and its teams share what it has.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::checker::violations;
use weir_tests::history::outcomes;
use weir_tests::shares::{Shares, settled_windows};
use weir_tests::stage::Stage;
use weir_tests::workerd::Setup;

use crate::shares::{
    LONG_MS, SIX, alone, assert_ideal, assert_rule, budget, document, escrow, flood, got, load,
    run, start, take, take_the_rest, take_until_denied,
};

const LIMIT: u64 = 240;
const WINDOW: Duration = Duration::from_secs(3);

/// Two teams of one company, as heavy together as another tenant.
fn tenants() -> Value {
    json!({
        "acme": { "weight": 2 },
        "acme/web": { "weight": 1, "parent": "acme" },
        "acme/batch": { "weight": 1, "parent": "acme" },
        "flat": { "weight": 2 },
    })
}

async fn assert_company(reserve: &str) {
    let policy = |window| document(escrow(reserve, LIMIT, window), tenants());
    let stage = Stage::new(Setup::isolates(&SIX), WINDOW, policy).await;
    let clients = &stage.clients;
    // The teams are in other regions than the other tenant, and in one region with each other.
    let loads = vec![
        flood(&clients[..4], "acme/web"),
        flood(&clients[2..4], "acme/batch"),
        flood(&clients[4..], "flat"),
    ];
    let ideals = [("acme/web", 60), ("acme/batch", 60), ("flat", 120)];
    let operations = run(&stage, loads).await;
    let violations = violations(&operations, LIMIT, stage.window);
    assert_eq!(violations, [], "{reserve}");
    assert_ideal(reserve, &operations, stage.window, &ideals);
}

#[tokio::test(flavor = "multi_thread")]
async fn teams_share_what_their_company_has_where_it_is_pinned() {
    assert_company("pinned").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn teams_share_what_their_company_has_where_it_is_paced() {
    assert_company("paced").await;
}

/// One request after the other: two teams with a quarter each, and the other half.
#[tokio::test(flavor = "multi_thread")]
async fn a_team_that_is_alone_has_all_that_its_company_has() {
    for scope in ["isolate", "region", "global"] {
        let body = budget("weighted_fair_escrow", scope, LIMIT, LONG_MS);
        let workerd = start(alone(), &document(body, tenants())).await;
        let client = workerd.client(0).unwrap();
        assert!(take(&client, "flat", 1).await.allowed);
        // It is the only one of its company: 120 of 240.
        let (taken, denied) = take_until_denied(&client, "acme/web").await;
        assert_eq!(
            (taken, denied.reason),
            (120, Reason::OverShare),
            "{scope}: {denied:?}"
        );
        // Its sibling comes when nothing is left of what the company has.
        let late = take(&client, "acme/batch", 1).await;
        assert_eq!(
            (late.allowed, late.reason),
            (false, Reason::OverShare),
            "{scope}: {late:?}"
        );
        assert_eq!(take_the_rest(&client, "flat", 119).await, 119, "{scope}");
    }
}

/// Nobody else asks for much, and still it does not get more than its guarantee.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_may_not_borrow_stays_within_its_guarantee() {
    let tenants = json!({
        "modest": { "weight": 1, "borrow_max": 0 },
        "acme": { "weight": 2 },
        "acme/web": { "weight": 1, "parent": "acme", "borrow_max": 0 },
        "acme/batch": { "weight": 1, "parent": "acme" },
        "some": { "weight": 1, "borrow_max": 30 },
    });
    let policy = |window| document(escrow("paced", LIMIT, window), tenants);
    let stage = Stage::new(Setup::isolates(&SIX), WINDOW, policy).await;
    let clients = &stage.clients;
    let loads = vec![
        flood(&clients[..2], "modest"),
        flood(&clients[2..4], "acme/web"),
        load(&clients[3..4], "acme/batch", 1, 300),
        flood(&clients[4..], "some"),
    ];
    let operations = run(&stage, loads).await;
    let windows = settled_windows(&operations);
    println!("{windows:?}, {:?}", outcomes(&operations));
    assert_eq!(violations(&operations, LIMIT, stage.window), []);
    // Of four weights: a quarter, half of the half that the company has, and a quarter with 30 more.
    let bounds = [("modest", 60), ("acme/web", 60), ("some", 90)];
    for (tenant, most) in bounds {
        let beyond = windows.values().find(|shares| got(shares, tenant) > most);
        assert_eq!(beyond, None, "{tenant} may have {most}");
        assert_rule(tenant, &operations, stage.window, |seen| {
            Some(seen.has(tenant, most * 8 / 10))
        });
    }
    let borrowed = windows
        .values()
        .any(|shares: &Shares| got(shares, "some") > 66);
    assert!(
        borrowed,
        "nothing was ever borrowed, the test proves nothing"
    );
}
