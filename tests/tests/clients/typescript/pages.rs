//! The client in a page, in a real browser: what `runtimes.rs` says of the other runtimes. These tests run with those of the
//! console (`xtask/src/test/compiled.rs`): a browser takes all cores.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::browser::Browser;
use weir_tests::fixtures::token_request;
use weir_tests::workerd::Setup;

use super::runtimes::{Weir, bundle, out_of_reach};
use crate::clients::left;

/// Runs the script in the page that the browser shows, with a token of acme alone.
async fn in_the_page(browser: &Browser, weir: &Weir) -> Value {
    let request = TokenRequest {
        tenant: Some("acme".to_owned()),
        ..token_request("page", Role::Tenant)
    };
    let token = weir.client.make_token(&request).await.unwrap().token;
    let script = block_in_place(|| bundle("page", "iife"));
    browser.evaluate(&script, vec![]).await.unwrap();
    let mut places: Value = weir.places().into_iter().collect();
    places["token"] = json!(token);
    browser
        .evaluate("return everywhere(arguments[0])", vec![places])
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_weirs_own_origin_does_all_of_it_by_a_token_of_its_tenant() {
    let weir = Weir::start(Setup::isolates(&["weur"])).await;
    let browser = Browser::start().await.unwrap();
    browser
        .open(&format!("{}/page/", weir.client.origin()))
        .await
        .unwrap();
    let told = in_the_page(&browser, &weir).await;
    weir.did_all_of_it(&told, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_origin_reaches_nothing_as_no_preflight_is_answered() {
    let weir = Weir::start(Setup::isolates(&["weur"])).await;
    let preflight = weir
        .client
        .anonymous()
        .request(Method::OPTIONS, "/v1/check");
    let preflight = preflight
        .header("origin", weir.origin.url())
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,content-type",
        );
    let answer = weir.client.send(preflight).await.unwrap();
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert!(answer.status >= 400, "{}", answer.status);
    let browser = Browser::start().await.unwrap();
    browser.open(&weir.origin.url()).await.unwrap();
    let told = in_the_page(&browser, &weir).await;
    assert_eq!(
        told["check"],
        json!({ "allowed": false, "reason": "unreachable", "remaining": 0 })
    );
    for place in ["gone", "late", "busy"] {
        out_of_reach(&told[place], 0, "Weir did not answer");
    }
    assert_eq!(told["ran"], "ran", "`fail` decides, and nothing throws");
    assert_eq!(left(&weir.client).await, 1_000, "nothing was decided");
}
