//! Every denial tells an id, in its body and in a header, and whoever operates the deployment is told by it what denied whom
//! and why.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::decision::id::{DecisionId, HEADER};
use weir_shared::wire::operator::explained::ExplainedDecision;
use weir_shared::wire::rule_kind::RuleKind;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::with;
use weir_tests::reply::Reply;

use crate::gateway::{Gateway, SETTLING, UNDONE, route};

const TENANT: &str = "pro:acme";

async fn gateway() -> Gateway {
    Gateway::with_policy(|document, origin| {
        let shape = json!({ "algorithm": "leaky_bucket", "rate_per_sec": 0.001, "max_queue_ms": 1, "scope": "region" });
        let document = with(document, "/limits/shape", shape);
        let guard = json!({ "concurrency": 1, "per_minute": "unlimited", "lease_ms": 60_000 });
        let document = with(document, "/guards", json!({ "calls": guard }));
        let routes = ["problem", "openai", "anthropic"].map(|form| {
            let mut one = route(origin, json!([{ "budget": "tokens", "cost": 600 }]));
            one["name"] = json!(form);
            one["path"] = json!(format!("/{form}/*"));
            one["errors"] = json!(form);
            one
        });
        with(document, "/routes", json!(routes))
    })
    .await
}

/// The id of a denial, which its body at this place and its header tell alike.
#[track_caller]
fn id_of(reply: &Reply, at: &str) -> String {
    let body: Value = serde_json::from_slice(&reply.body).expect("JSON");
    let told = body.pointer(at).and_then(Value::as_str);
    let told = told
        .unwrap_or_else(|| panic!("no {at} in {body}"))
        .to_owned();
    assert_eq!(reply.header(HEADER), Some(told.as_str()), "{body}");
    told
}

#[track_caller]
fn assert_says(id: &str, kind: RuleKind, rule: &str) {
    let read = DecisionId::try_from(id).unwrap_or_else(|fault| panic!("{id}: {fault:?}"));
    assert!(read.is_of(TENANT) && !read.is_of("pro:globex"), "{id}");
    assert_eq!((read.kind, read.rule.as_str()), (kind, rule), "{id}");
    assert_eq!(read.region, "weur", "{id}");
    assert!(epoch_ms().abs_diff(read.at.0) < 60_000, "{id}");
}

/// What a body is answered, once it is decided.
async fn decided(root: &Client, path: &str, body: &Value) -> Reply {
    let start = now();
    loop {
        let reply = root.post(path, body).await.unwrap();
        let late = reply.status == 503 || reply.text().contains("\"unavailable\"");
        if !late || start.elapsed() > SETTLING {
            return reply;
        }
        tokio::time::sleep(UNDONE).await;
    }
}

/// What the operator is told, once as many denials are counted.
async fn explained(root: &Client, id: &str, counted: u128) -> ExplainedDecision {
    let start = now();
    loop {
        let reply = root.get(&format!("/operator/v1/decisions/{id}")).await;
        let (reply, late) = (reply.unwrap(), start.elapsed() > SETTLING);
        if reply.status != 503 || late {
            let told: ExplainedDecision = reply.ok().unwrap();
            let arrived = told.denied_calls.is_some_and(|calls| calls.0 >= counted);
            if (arrived && told.tenant.is_some()) || late {
                return told;
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn every_denial_tells_an_id_and_it_leads_to_what_denied_whom() {
    let gateway = gateway().await;
    let root = gateway.workerd.client(0).unwrap();
    let mut ids = Vec::new();

    let check = json!({ "tenant": TENANT, "budget": "tokens", "cost": 900 });
    let ask = async || decided(&root, "/v1/check", &check).await;
    let admitted = ask().await;
    assert_eq!(admitted.header(HEADER), None);
    assert!(
        !admitted.text().contains("\"decision\""),
        "{}",
        admitted.text()
    );
    // The same words again and again are decided by another way from the third time on.
    for _ in 0..5 {
        ids.push((id_of(&ask().await, "/decision"), RuleKind::Budget, "tokens"));
    }
    let batch = json!({ "requests": [check, { "tenant": TENANT, "budget": "tokens", "cost": 1 }] });
    let reply = decided(&root, "/v1/check/batch", &batch).await;
    let told: Value = reply.ok().unwrap();
    assert!(told["decisions"][1]["decision"].is_null(), "{told}");
    let id = told["decisions"][0]["decision"]
        .as_str()
        .unwrap()
        .to_owned();
    ids.push((id, RuleKind::Budget, "tokens"));
    for form in ["problem", "openai", "anthropic"] {
        let reply = gateway.get(&format!("/{form}/echo"), TENANT).await;
        assert_eq!(reply.status, 429);
        let at = if form == "problem" {
            "/decision"
        } else {
            "/error/decision"
        };
        ids.push((id_of(&reply, at), RuleKind::Budget, "tokens"));
    }
    let described = root
        .request(Method::GET, "/v1/authorize?deny=403")
        .header("x-forwarded-method", "GET")
        .header("x-forwarded-uri", "/problem/echo")
        .header("x-forwarded-host", "api.example.com")
        .header(crate::gateway::TENANT, TENANT);
    let reply = gateway.send(described).await;
    assert_eq!(reply.status, 403, "{}", reply.text());
    ids.push((id_of(&reply, "/decision"), RuleKind::Budget, "tokens"));

    let acquire = json!({ "tenant": TENANT });
    for taken in [true, false] {
        let reply = decided(&root, "/v1/guards/calls/acquire", &acquire).await;
        assert_eq!(reply.status, if taken { 200 } else { 429 });
        if !taken {
            ids.push((id_of(&reply, "/decision"), RuleKind::Guard, "calls"));
        }
    }
    let reserve = json!({ "tenant": TENANT, "limit": "shape", "key": "k" });
    let mut places = Vec::new();
    for _ in 0..3 {
        places.push(decided(&root, "/v1/reserve", &reserve).await);
    }
    assert_eq!(places[0].header(HEADER), None);
    let denied = places.last().unwrap();
    ids.push((id_of(denied, "/decision"), RuleKind::Limit, "shape"));

    for (id, kind, rule) in &ids {
        assert_says(id, *kind, rule);
        let told = explained(&root, id, 1).await;
        assert_eq!(told.tenant.as_deref(), Some(TENANT), "{id}");
        assert_eq!(
            (told.kind, told.rule.as_str(), told.in_force),
            (*kind, *rule, true)
        );
        assert!(told.denied_calls.unwrap().0 >= 1, "{told:?}");
        assert_eq!(told.decision, *id);
    }
}

#[tokio::test]
async fn an_id_that_was_made_up_leads_to_nothing_that_was_not_known_before() {
    let gateway = gateway().await;
    let root = gateway.workerd.client(0).unwrap();
    let at = epoch_ms();
    let get = async |id: &str| {
        root.get(&format!("/operator/v1/decisions/{id}"))
            .await
            .unwrap()
    };
    // Nobody has that mark, and nobody is told of.
    let id = format!("{at}.0000000000000000.weur.over_share.budget.tokens");
    let told: ExplainedDecision = get(&id).await.ok().unwrap();
    assert_eq!((told.tenant, told.denied_calls), (None, None));
    // Who knows the name may say it; another's is refused.
    let mark = "5a0a02d29c9c2c19";
    let id = format!("{at}.{mark}.weur.over_share.budget.tokens");
    let told: ExplainedDecision = get(&format!("{id}?tenant=acme")).await.ok().unwrap();
    assert_eq!(told.tenant.as_deref(), Some("acme"));
    assert_eq!(told.denied_calls.map(|calls| calls.0), Some(0));
    let other = get(&format!("{id}?tenant=globex")).await;
    assert_eq!(
        (other.status, other.problem().unwrap().field.as_deref()),
        (400, Some("/tenant"))
    );
    // A region and a rule that the policy does not have.
    let id = format!("{at}.{mark}.nowhere.over_share.budget.none");
    let told: ExplainedDecision = get(&format!("{id}?tenant=acme")).await.ok().unwrap();
    assert_eq!((told.in_force, told.denied_calls), (false, None));
    for id in [
        "x",
        "1.2.3",
        "%00",
        &"1".repeat(300),
        &format!("{at}.{mark}.weur.admitted.budget.tokens"),
    ] {
        let refused = get(id).await;
        assert_eq!(refused.status, 400, "{id}: {}", refused.text());
        assert_eq!(
            refused.problem().unwrap().field.as_deref(),
            Some("/decision"),
            "{id}"
        );
    }
    let nobody = gateway
        .client
        .get(&format!("/operator/v1/decisions/{id}"))
        .await
        .unwrap();
    assert_eq!(nobody.status, 401);
}
