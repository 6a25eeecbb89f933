//! `weir serve --cluster`: what instances are to share. That they share it is shown by `cargo xtask cluster`.

use serde_json::{Value, json};

use super::{Installed, run};

/// What instances are to share is refused by its field before anything is written.
pub(super) fn is_refused_by_the_field_at_fault(installed: &Installed) {
    let folder = installed.folder.path();
    let shared = |others: Value| {
        let mut all = json!({ "bucket": "s3://weir/state", "key": "k".repeat(32) });
        all.as_object_mut()
            .unwrap()
            .extend(others.as_object().unwrap().clone());
        all.to_string()
    };
    for (text, told) in [
        ("{".to_owned(), "cannot be read"),
        ("null".to_owned(), "/bucket"),
        (shared(json!({ "bucket": "weir" })), "/bucket"),
        (shared(json!({ "options": ["aws_region"] })), "/options"),
        (shared(json!({ "key": "k".repeat(31) })), "/key"),
        (shared(json!({ "secret": 1 })), "/secret"),
        (shared(json!({})), "--cluster-address"),
    ] {
        std::fs::write(folder.join("cluster.json"), &text).unwrap();
        let words = [
            "serve",
            "--dir",
            "of-a-cluster",
            "--cluster",
            "cluster.json",
        ];
        let refused = run(&mut installed.weir(folder, &words));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && said.contains(told),
            "{text}: {said}"
        );
        assert!(!folder.join("of-a-cluster").exists(), "{text}");
    }
}
