//! Operators have a host of their own: what is routed shares no browser's trust with the console.

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::fixtures::{policy, with};
use weir_tests::origin::Origin;
use weir_tests::reply::Reply;
use weir_tests::within::until;
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{IN_FORCE, POLICY, SESSION, answered, got};

const OPERATORS: &str = "ops.example.com";
const ELSEWHERE: &str = "app.example.com";
const HOUR_MS: u64 = 3_600_000;

async fn ask(client: &Client, method: Method, host: &str, path: &str) -> Reply {
    let ask = async || {
        let asked = client.request(method.clone(), path).header("host", host);
        client.send(asked).await.unwrap()
    };
    answered(ask).await
}

fn routed(origin: &Origin) -> Value {
    let route = json!({ "name": "all", "path": "/*", "origin": { "url": origin.url() } });
    with(policy(100, HOUR_MS), "/routes", json!([route]))
}

async fn save(client: &Client, host: &str, document: &Value) -> Reply {
    let ask = async || {
        let asked = client
            .request(Method::PUT, POLICY)
            .header("host", host)
            .header("if-match", "*")
            .json(document);
        client.send(asked).await.unwrap()
    };
    answered(ask).await
}

async fn start(setup: Setup) -> (Workerd, Client) {
    let workerd = setup.local_network().start().await.unwrap();
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

#[tokio::test]
async fn operators_are_answered_at_their_host_alone_and_nothing_is_routed_there() {
    let origin = Origin::start().await.unwrap();
    let setup = Setup::isolates(&["weur"]).own_host();
    let (workerd, client) = start(setup.variable("WEIR_OPERATOR_HOST", "Ops.example.com.")).await;
    let saved = save(&client, OPERATORS, &routed(&origin)).await;
    assert_eq!(saved.status, 200, "{}\n{}", saved.text(), workerd.log());
    until(IN_FORCE, async || {
        let routed = ask(&client, Method::GET, ELSEWHERE, "/echo").await;
        routed.status == 200
    })
    .await;

    for host in [OPERATORS, "OPS.example.com:8443", "ops.example.com."] {
        assert_eq!(
            ask(&client, Method::GET, host, POLICY).await.status,
            200,
            "{host}"
        );
        let routed = ask(&client, Method::GET, host, "/echo").await;
        assert_eq!(routed.status, 404, "{host}: {}", routed.text());
    }
    let unknown = ask(&client, Method::GET, ELSEWHERE, "/operator/no/such").await;
    assert_eq!(unknown.status, 404);
    for (method, path) in [
        (Method::GET, POLICY),
        (Method::PUT, POLICY),
        (Method::POST, SESSION),
        (Method::GET, "/operator/v1/live"),
        (Method::GET, "/console"),
        (Method::GET, "/console/"),
        (Method::GET, "/console/index.html"),
    ] {
        let reply = ask(&client, method, ELSEWHERE, path).await;
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        assert_eq!(reply.text(), unknown.text(), "{path}: as any unknown path");
    }
    // Those that decide are asked at any host, and the rest is the application's, its front page too.
    assert_eq!(
        ask(&client, Method::GET, ELSEWHERE, "/healthz")
            .await
            .status,
        200
    );
    let before = origin.served();
    for path in ["/", "/echo"] {
        let reply = ask(&client, Method::GET, ELSEWHERE, path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    }
    assert_eq!(origin.served(), before + 2);
}

#[tokio::test]
async fn a_policy_that_forwards_is_refused_while_operators_have_no_host_of_their_own() {
    let origin = Origin::start().await.unwrap();
    let (_workerd, client) = start(Setup::isolates(&["weur"]).own_host()).await;
    let forward = json!({ "forward": { "url": origin.url() } });
    for (field, document) in [
        ("/routes", routed(&origin)),
        (
            "/unrouted/forward",
            with(policy(100, HOUR_MS), "/unrouted", forward),
        ),
    ] {
        let refused = save(&client, ELSEWHERE, &document).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        let problem = refused.problem().unwrap();
        assert_eq!(problem.field.as_deref(), Some(field));
        assert!(problem.detail.contains("WEIR_OPERATOR_HOST"), "{problem:?}");
    }
    assert_eq!(
        save(&client, ELSEWHERE, &policy(100, HOUR_MS)).await.status,
        200
    );
}

#[tokio::test]
async fn an_origin_inside_of_the_network_is_refused_unless_the_policy_allows_it() {
    let origin = Origin::start().await.unwrap();
    let (_workerd, client) = start(Setup::isolates(&["weur"])).await;
    let inside = with(routed(&origin), "/allow_private_origins", json!(false));
    let refused = save(&client, ELSEWHERE, &inside).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let problem = refused.problem().unwrap();
    assert_eq!(problem.field.as_deref(), Some("/routes/0/origin/url"));
    assert!(
        problem.detail.contains("allow_private_origins"),
        "{problem:?}"
    );
    assert_eq!(save(&client, ELSEWHERE, &routed(&origin)).await.status, 200);
    let read: Value = got(&client, POLICY).await.ok().unwrap();
    assert_eq!(read["allow_private_origins"], json!(true));
}
