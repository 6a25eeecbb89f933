//! The client of threads, the middleware, and the names.

use serde_json::json;

use super::Python;
use crate::clients::interface::names_are_those_of_the_interface_and_no_others;
use crate::clients::lost::visits_go_on_while_weir_is_killed_in_the_middle;
use crate::clients::middleware::an_application_is_asked_for_and_its_visitors_are_told;
use crate::clients::{Deployed, left, run};

#[tokio::test(flavor = "multi_thread")]
async fn threads_and_forked_processes_share_a_client_and_are_promised_the_same() {
    let (deployed, told) = run(&Python, "threads", Deployed::start).await;
    assert_eq!(told["check"], 999);
    assert_eq!(told["batch"], json!([998, 997]));
    assert_eq!(told["reported"], true);
    assert_eq!(told["place"]["accepted"], true);
    assert_eq!(
        (&told["unknown"]["status"], &told["unknown"]["field"]),
        (&json!(404), &json!("/budget"))
    );
    // Used 30, silent 100, raised 0, denied.
    assert_eq!(told["scopes"], json!([967, 867, 867, "never"]));
    assert_eq!(
        told["slots"],
        json!([true, true, "concurrency", "The slot had lapsed."])
    );
    assert_eq!(told["forked"], json!(["admitted", 0]));
    assert_eq!(told["together"], json!(vec!["admitted"; 20]));
    assert_eq!(told["requests"], json!(["/v1/check/batch"]));
    assert_eq!(told["again"], true);
    assert_eq!(told["left"], 867 - 1 - 20 - 1);
    assert_eq!(left(&deployed.client).await, 845);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_middleware_asks_for_an_application() {
    an_application_is_asked_for_and_its_visitors_are_told(&Python, "middleware").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_behind_the_middleware_go_on_while_weir_is_killed() {
    visits_go_on_while_weir_is_killed_in_the_middle(&Python, "middleware-killed", 503).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_names_are_those_of_the_interface_and_no_others() {
    names_are_those_of_the_interface_and_no_others(&Python).await;
}
