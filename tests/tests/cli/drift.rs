//! Whether a deployment is still what a file says, and a file made of a deployment.

use serde_json::{Value, json};
use weir_tests::fixtures::with;

use crate::cli::{deployment, document};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_the_file_does_not_have_is_told() {
    let deployed = deployment().await;
    let (weir, client) = (&deployed.weir, &deployed.client);
    weir.write("policy.json", &document());
    let told = weir.ends(0, &["drift", "policy.json"]);
    assert!(told.ends_with(" equals the file.\n"), "{told}");
    let by_hand = with(document(), "/tenants/acme/weight", json!(9));
    client.save_policy(&by_hand).await.unwrap();
    let told = weir.ends(2, &["drift", "policy.json"]);
    assert!(
        told.ends_with(": 1 value differs.\n~ /tenants/acme/weight: null → 9\n"),
        "{told}"
    );
    let told = weir.json(2, &["drift", "policy.json"]);
    assert_eq!(
        told["difference"],
        json!([{ "pointer": "/tenants/acme/weight", "kind": "changed", "before": null, "after": 9 }])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_a_policy_and_the_one_in_force() {
    let deployed = deployment().await;
    let weir = &deployed.weir;
    let exported = weir.ends(0, &["export"]);
    std::fs::write(weir.file("exported.json"), &exported).unwrap();
    weir.ends(0, &["validate", "exported.json"]);
    weir.ends(0, &["drift", "exported.json"]);
    let document: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(document, deployed.client.policy().await.unwrap().document);
}
