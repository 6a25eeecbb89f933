//! What is not served is refused when the policy is saved, and what is, is saved.

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_shared::wire::problem::Problem;
use weir_tests::again::answered;
use weir_tests::client::{Client, Policy};
use weir_tests::fixtures::with;

use crate::shares::{LONG_MS, alone, await_allowed, budget, document, start, take};

const SHARINGS: [(&str, &[&str]); 5] = [
    ("first_come", &["isolate", "region", "global"]),
    ("fair_share", &["isolate", "region"]),
    ("weighted_fair_share", &["isolate", "region"]),
    ("weighted_fair_escrow", &["isolate", "region", "global"]),
    ("static_partition", &["global"]),
];

#[tokio::test]
async fn a_pair_is_served_or_refused_with_its_pointer() {
    let good = document(budget("first_come", "global", 100, LONG_MS), json!({}));
    let workerd = start(alone(), &good).await;
    let client = workerd.client(0).unwrap();
    for (sharing, served) in SHARINGS {
        for scope in ["isolate", "region", "global"] {
            let candidate = document(budget(sharing, scope, 100, LONG_MS), json!({}));
            if served.contains(&scope) {
                let saved = client.save_policy(&candidate).await.unwrap().document;
                assert_eq!(
                    saved["budgets"], candidate["budgets"],
                    "{sharing} at {scope}"
                );
                continue;
            }
            let before = client.policy().await.unwrap();
            let problem = refused(&client, &candidate, &before).await;
            assert_eq!(
                (problem.status, problem.field.as_deref()),
                (400, Some("/budgets/tokens/scope")),
                "{sharing} at {scope}: {problem:?}"
            );
            assert_eq!(client.policy().await.unwrap(), before);
        }
    }
}

/// What is told of a policy that is not taken.
async fn refused(client: &Client, candidate: &Value, before: &Policy) -> Problem {
    let put = async || client.put_policy(candidate, Some(&before.etag)).await;
    answered(put).await.problem().unwrap()
}

#[tokio::test]
async fn what_depends_on_the_pair_is_refused_without_it() {
    let good = document(budget("first_come", "global", 100, LONG_MS), json!({}));
    let workerd = start(alone(), &good).await;
    let client = workerd.client(0).unwrap();
    let sizes = json!({ "min": 1, "max": 16 });
    let cases = [
        ("first_come", "global", "/reserve", json!("paced")),
        ("fair_share", "region", "/reserve", json!("paced")),
        ("weighted_fair_share", "isolate", "/reserve", json!("paced")),
        ("static_partition", "global", "/reserve", json!("paced")),
        ("first_come", "region", "/outage", json!("regional_only")),
        (
            "weighted_fair_escrow",
            "isolate",
            "/outage",
            json!("regional_only"),
        ),
        (
            "static_partition",
            "global",
            "/outage",
            json!("regional_only"),
        ),
        ("weighted_fair_escrow", "region", "/lease", sizes.clone()),
        ("first_come", "isolate", "/lease", sizes.clone()),
        ("static_partition", "global", "/lease", sizes.clone()),
    ];
    let before = client.policy().await.unwrap();
    for (sharing, scope, field, value) in cases {
        let body = with(budget(sharing, scope, 100, LONG_MS), field, value);
        let problem = refused(&client, &document(body, json!({})), &before).await;
        let at = format!("/budgets/tokens{field}");
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (400, Some(at.as_str())),
            "{sharing} at {scope}: {problem:?}"
        );
    }
    assert_eq!(client.policy().await.unwrap(), before);
    let served = [
        ("/reserve", json!("paced")),
        ("/outage", json!("regional_only")),
        ("/lease", sizes),
        ("/lease", json!("auto")),
    ];
    let mut body = budget("weighted_fair_escrow", "global", 100, LONG_MS);
    for (field, value) in served {
        body = with(body, field, value);
        workerd
            .apply(&document(body.clone(), json!({})))
            .await
            .unwrap_or_else(|error| panic!("{body}: {error:#}"));
    }
}

/// A tenant that the policy has no tier for is refused, whatever the budget; nothing is charged.
#[tokio::test]
async fn a_tenant_without_a_tier_is_refused_where_no_tier_is_the_default() {
    for scope in ["isolate", "region", "global"] {
        let body = budget("weighted_fair_escrow", scope, 100, LONG_MS);
        let document = document(
            body,
            json!({ "acme": { "weight": 2 }, "pro": { "tier": "pro" } }),
        );
        let document = with(document, "/default_tier", Value::Null);
        let workerd = alone().start().await.unwrap();
        let client = workerd.client(0).unwrap();
        client.save_policy(&document).await.unwrap();
        await_allowed(&client, "pro", 1).await;
        for tenant in ["stranger", "pr", "ACME"] {
            let check = json!({ "tenant": tenant, "budget": "tokens", "cost": 1 });
            let reply = client.post("/v1/check", &check).await.unwrap();
            let problem = reply.problem().unwrap();
            assert_eq!(
                (problem.status, problem.field.as_deref()),
                (404, Some("/tenant")),
                "{scope}, {tenant}: {problem:?}"
            );
        }
        let rest = take(&client, "pro", 99).await;
        assert!(rest.allowed, "{scope}: a stranger was charged: {rest:?}");
        assert_eq!(take(&client, "pro", 1).await.reason, Reason::CapReached);
    }
}
