//! Who may ask.

use reqwest::Method;
use serde_json::json;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::fixtures::{KEY_OF_ACME, token_request, with};

use crate::authorize::{AUTHORIZE, Door, TENANT, employ, one_token, route};

#[tokio::test]
async fn a_service_token_may_ask_and_strangers_and_other_roles_may_not() {
    let door = Door::with_routes(json!([route("all", "/*", one_token())])).await;
    let asked = async |client: &weir_tests::client::Client, header: Option<&str>| {
        let mut asked = client
            .request(Method::GET, AUTHORIZE)
            .header("x-forwarded-uri", "/x")
            .header(TENANT, "pro:a");
        if let Some(token) = header {
            asked = asked.header("weir-authorization", format!("Bearer {token}"));
        }
        door.send(asked).await.status
    };
    let nobody = door.admin.anonymous();
    assert_eq!(asked(&door.proxy, None).await, 200);
    assert_eq!(asked(&nobody, Some(&door.token)).await, 200);
    assert_eq!(asked(&door.admin, None).await, 200);
    assert_eq!(asked(&nobody, None).await, 401);
    assert_eq!(asked(&nobody, Some("weir_garbage")).await, 401);
    // The proxy's own header counts, and no other then.
    assert_eq!(asked(&door.proxy, Some("weir_garbage")).await, 401);
    for role in [Role::Tenant, Role::Viewer, Role::Editor] {
        let tenant = (role == Role::Tenant).then(|| "pro:a".to_owned());
        let token = TokenRequest {
            tenant,
            ..token_request(role.name(), role)
        };
        let token = employ(&door.admin, &token).await;
        assert_eq!(asked(&nobody, Some(&token)).await, 403, "{role:?}");
    }
    assert_eq!(
        door.left("pro:a").await,
        997,
        "who may not ask charges nothing"
    );
}

#[tokio::test]
async fn a_proxy_is_known_by_its_address_where_the_policy_trusts_it() {
    let door = Door::with_policy(|document| {
        let document = with(document, "/trusted_proxies", json!(["10.0.0.0/8"]));
        with(
            document,
            "/routes",
            json!([route("all", "/*", one_token())]),
        )
    })
    .await;
    let nobody = door.admin.anonymous();
    let asked = async |address: &str, token: Option<&str>| {
        let mut asked = nobody
            .request(Method::GET, AUTHORIZE)
            .header("cf-connecting-ip", address)
            .header("x-forwarded-uri", "/x")
            .header(TENANT, "pro:a");
        if let Some(token) = token {
            asked = asked.header("weir-authorization", format!("Bearer {token}"));
        }
        door.send(asked).await.status
    };
    assert_eq!(asked("10.1.2.3", None).await, 200);
    assert_eq!(asked("203.0.113.9", None).await, 401);
    // A token that is not valid is not made good by an address.
    assert_eq!(asked("10.1.2.3", Some("weir_garbage")).await, 401);
}

#[tokio::test]
async fn a_token_for_tenants_of_a_prefix_asks_for_no_others() {
    let door = Door::with_routes(json!([route("all", "/*", one_token())])).await;
    let token = TokenRequest {
        prefix: Some("pro:".to_owned()),
        ..token_request("for-pro", Role::Service)
    };
    let token = employ(&door.admin, &token).await;
    let proxy = door.admin.with_token(&token);
    for (tenant, status) in [("pro:a", 200), ("free:b", 403)] {
        let asked = proxy
            .request(Method::GET, AUTHORIZE)
            .header("x-forwarded-uri", "/x")
            .header(TENANT, tenant);
        assert_eq!(door.send(asked).await.status, status, "{tenant}");
    }
    assert_eq!(door.left("free:b").await, 999);
}

#[tokio::test]
async fn the_token_of_a_proxy_is_never_taken_for_its_client_s_credential() {
    let door = Door::with_policy(|document| {
        let mut keyed = route("keyed", "/*", one_token());
        keyed["tenant"] = json!({ "api_key": { "header": "authorization" } });
        let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
        with(document, "/routes", json!([keyed]))
    })
    .await;
    // In `authorization` is the proxy's token: nothing is left there for a client.
    let asked = door.proxy.request(Method::GET, AUTHORIZE);
    let reply = door.send(asked.header("x-forwarded-uri", "/x")).await;
    assert_eq!(reply.status, 401);
    assert_eq!(reply.problem().unwrap().kind, "/problems/no-tenant");
    let nobody = door.admin.anonymous();
    let asked = nobody
        .request(Method::GET, AUTHORIZE)
        .header("x-forwarded-uri", "/x")
        .header("weir-authorization", format!("Bearer {}", door.token))
        .header("authorization", "Bearer key-of-acme");
    let reply = door.send(asked).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("weir-tenant"), Some("pro:acme"));
}
