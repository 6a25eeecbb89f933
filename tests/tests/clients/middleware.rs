//! What stands before an application and asks for it, on a real server: a middleware of ASGI, a layer of tower.

use serde_json::{Value, json};

use super::{Deployed, Scripts, left, run};

/// A text of a field that begins so.
fn begins(field: &Value, with: &str) -> bool {
    field.as_str().is_some_and(|text| text.starts_with(with))
}

/// Of the script of that name.
pub(super) async fn an_application_is_asked_for_and_its_visitors_are_told(
    subject: &dyn Scripts,
    script: &str,
) {
    let (deployed, told) = run(subject, script, Deployed::start).await;
    let first = &told["first"];
    assert_eq!(
        (&first["status"], &first["body"]),
        (&json!(200), &json!("a body"))
    );
    assert_eq!(first["x-own"], "kept");
    assert!(begins(&first["ratelimit"], "\"hits\";r=4;t="), "{first}");
    assert!(
        begins(&first["ratelimit-policy"], "\"hits\";q=5;w="),
        "{first}"
    );
    assert_eq!(told["more"], json!([200, 200, 200, 200]));
    let denied = &told["denied"];
    assert_eq!(
        (&denied["status"], &denied["content-type"]),
        (&json!(429), &json!("application/problem+json"))
    );
    assert!(begins(&denied["ratelimit"], "\"hits\";r=0;t="), "{denied}");
    let after_s: u64 = denied["retry-after"].as_str().unwrap().parse().unwrap();
    let after_ms = denied["problem"]["retry_after_ms"].as_u64().unwrap();
    assert_eq!(after_s, after_ms.div_ceil(1_000));
    assert_eq!(denied["problem"]["violated-policies"], json!(["hits"]));
    assert_eq!(told["other"], json!([200]), "keys are apart");
    assert_eq!(told["budget"], json!([200, 200, 429]));
    assert_eq!(
        (&told["never"]["status"], &told["never"]["retry-after"]),
        (&json!(429), &Value::Null)
    );
    assert_eq!(
        told["unasked"]["ratelimit"], "forged",
        "whom nobody asks about is not touched"
    );
    assert_eq!(
        told["slow"],
        json!([200, 429]),
        "a slot is kept while its answer streams"
    );
    assert_eq!(told["slower"][0], 200, "and free afterwards");
    assert_eq!(told["wrong"], json!([500]));
    assert!(
        begins(&told["later"]["ratelimit"], "\"hits\";r=4;t="),
        "{}",
        told["later"]
    );
    let (closed, open) = (&told["closed"], &told["open"]);
    assert_eq!(
        (&closed["status"], &closed["retry-after"]),
        (&json!(503), &json!("1"))
    );
    assert_eq!(
        (&open["status"], &open["body"]),
        (&json!(200), &json!("ok"))
    );
    assert_eq!(left(&deployed.client).await, 200);
}
