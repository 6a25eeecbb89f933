//! What is no check.

use serde_json::json;
use weir_tests::fixtures::{BUDGET, LIMIT};

use crate::bad_input::{CHECK, assert_left_of_budget, assert_problem, deployment, state};

/// Bodies with the field at fault, if it is one. `$B` and `$L` stand for a good budget and a good limit.
const MALFORMED: &[(&str, &str)] = &[
    ("", ""),
    ("tenant=a", ""),
    (r#"{"tenant":"a","#, ""),
    ("{$B}{$B}", ""),
    ("[]", ""),
    ("null", ""),
    (r#"{$B,"cost":1,"cost":2}"#, ""),
    (r#"{$B,"surprise":1}"#, "/surprise"),
    (
        r#"{"tenant":"a","checks":[{"budget":"tokens","surprise":1}]}"#,
        "/checks/0/surprise",
    ),
    (r#"{$B,"limit":"per_ip"}"#, "/limit"),
    (r#"{$B,"key":"k"}"#, "/key"),
    (r#"{"tenant":"a"}"#, "/budget"),
    (r#"{$B,"checks":[{$L}]}"#, "/checks"),
    (r#"{"tenant":"a","checks":[]}"#, "/checks"),
    (r#"{$B,"require":"some"}"#, "/require"),
    (r#"{$B,"require":"any"}"#, "/require"),
    (r#"["a","tokens"]"#, ""),
    (r#"{$L,"reserve":"yes"}"#, "/reserve"),
    (r#"{$L,"cost":0,"reserve":true}"#, "/reserve"),
];

/// Lists of checks, and keys by dimension.
const SEVERAL: &[(&str, &str)] = &[
    (r#"{"tenant":"a","checks":7}"#, "/checks"),
    (r#"{"tenant":"a","checks":[7]}"#, "/checks/0"),
    (r#"{"tenant":"a","checks":[["tokens"]]}"#, "/checks/0"),
    (r#"{"tenant":"a","checks":[{$L},{}]}"#, "/checks/1/budget"),
    (
        r#"{"tenant":"a","checks":[{"budget":"tokens"},{$L},{"budget":"tokens"}]}"#,
        "/checks/2/budget",
    ),
    (r#"{"checks":[{$L},{"budget":"tokens"}]}"#, "/tenant"),
    (
        r#"{"tenant":"a","checks":[{$L},{"limit":"per_ip","key":""}]}"#,
        "/checks/1/key",
    ),
    (
        r#"{"tenant":"a","checks":[{$L},{$L,"budget":"tokens"}]}"#,
        "/checks/1/limit",
    ),
    (
        r#"{"tenant":"a","checks":[{$L,"cost":0}],"reserve":true}"#,
        "/reserve",
    ),
    (r#"{"tenant":"a","checks":[$17]}"#, "/checks"),
    (r#"{$L,"keys":{"per_ip":"k"}}"#, "/keys"),
    (r#"{$B,"keys":{"per_ip":"k"}}"#, "/keys"),
    (r#"{"limit":"per_ip","keys":{}}"#, "/keys"),
    (r#"{"limit":"per_ip","keys":["k"]}"#, "/keys"),
    (r#"{"limit":"per_ip","keys":{"per_ip":7}}"#, "/keys/per_ip"),
    (r#"{"limit":"per_ip","keys":{"per_ip":""}}"#, "/keys/per_ip"),
    (
        r#"{"limit":"per_ip","keys":{"per_ip":"$129"}}"#,
        "/keys/per_ip",
    ),
    (r#"{"limit":"per_ip","keys":{"A/b":"k"}}"#, "/keys/A~1b"),
    (
        r#"{"limit":"per_ip","keys":{"per_ip":"k","per_ip":"j"}}"#,
        "/keys",
    ),
    (
        r#"{"limit":"per_ip","keys":{"a":"k","b":"k","c":"k","d":"k","e":"k","f":"k","g":"k","h":"k","i":"k"}}"#,
        "/keys",
    ),
];

const COSTS: &[(&str, &str)] = &[
    (r#"{$B,"cost":1.5}"#, "/cost"),
    (r#"{$B,"cost":-1}"#, "/cost"),
    (r#"{$B,"cost":9007199254740992}"#, "/cost"),
    (r#"{$B,"cost":18446744073709551616}"#, "/cost"),
    (r#"{$B,"cost":NaN}"#, "/cost"),
    (r#"{$B,"cost":1e999}"#, "/cost"),
    (r#"{$B,"cost":"1"}"#, "/cost"),
    (r#"{$L,"cost":0.5}"#, "/cost"),
    (
        r#"{"tenant":"a","checks":[{"budget":"tokens","cost":-1}]}"#,
        "/checks/0/cost",
    ),
];

/// `$129` stands for a text of 129 bytes, `$130` for one of 65 characters in 130 bytes.
const NAMES: &[(&str, &str)] = &[
    (r#"{"budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"$129","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"$130","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"a\nb","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"a\u0000","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"a\u007f","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"a\u0085","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":"\ud800","budget":"tokens"}"#, "/tenant"),
    (r#"{"tenant":7,"budget":"tokens"}"#, "/tenant"),
    (r#"{"limit":"per_ip"}"#, "/key"),
    (r#"{"limit":"per_ip","key":""}"#, "/key"),
    (r#"{"limit":"per_ip","key":"$129"}"#, "/key"),
    (r#"{"limit":"per_ip","key":"a\tb"}"#, "/key"),
    (r#"{"limit":"per_ip","key":["a"]}"#, "/key"),
];

const UNKNOWN: &[(&str, &str)] = &[
    (r#"{"tenant":"a","budget":"nope"}"#, "/budget"),
    (r#"{"tenant":"a","budget":"per_ip"}"#, "/budget"),
    (r#"{"tenant":"a","budget":"__proto__"}"#, "/budget"),
    (r#"{"tenant":"a","budget":""}"#, "/budget"),
    (r#"{"limit":"nope","key":"kept"}"#, "/limit"),
    (
        r#"{"tenant":"a","checks":[{"budget":"nope"}]}"#,
        "/checks/0/budget",
    ),
];

fn body(template: &str) -> String {
    template
        .replace("$B", r#""tenant":"a","budget":"tokens""#)
        .replace("$L", r#""limit":"per_ip","key":"kept""#)
        .replace("$17", &[r#"{"limit":"per_ip","key":"kept"}"#; 17].join(","))
        .replace("$129", &"x".repeat(129))
        .replace("$130", &"é".repeat(65))
}

#[tokio::test]
async fn a_bad_check_names_the_field_and_charges_nothing() {
    let (_workerd, client) = deployment().await;
    client.check_limit_once_there(LIMIT, "kept", 7).await;
    let before = state(&client).await;
    for (status, cases) in [
        (400, MALFORMED),
        (400, SEVERAL),
        (400, COSTS),
        (400, NAMES),
        (404, UNKNOWN),
    ] {
        for (template, field) in cases {
            let reply = client.post_bytes(CHECK, body(template)).await.unwrap();
            let field = (!field.is_empty()).then_some(*field);
            assert_problem(template, &reply, status, field);
        }
    }
    // A byte of no character, a lone surrogate, and characters that end in their middle.
    for bytes in [
        &[0xff, 0xfe][..],
        &[0xed, 0xa0, 0x80],
        &[0xe2, 0x82],
        &[0xc3],
    ] {
        let text = [b"{\"tenant\":\"", bytes, b"\",\"budget\":\"tokens\"}"].concat();
        let reply = client.post_bytes(CHECK, text).await.unwrap();
        assert_problem("invalid UTF-8", &reply, 400, Some("/tenant"));
    }
    let reply = client.post_bytes(CHECK, "[".repeat(20_000)).await.unwrap();
    assert_problem("nested deeply", &reply, 400, None);
    assert_eq!(state(&client).await, before);
    assert_left_of_budget(&client, 100).await;
}

#[tokio::test]
async fn names_of_128_bytes_and_of_any_script_are_good() {
    let (_workerd, client) = deployment().await;
    let (long, accented) = ("x".repeat(128), "é".repeat(64));
    for name in [&long, &accented, "租户 1/~\"\\", "__proto__", "constructor"] {
        let budget = client.check_budget_once_there(name, BUDGET, 1).await;
        assert!(budget.decision.allowed, "tenant {name}");
        let limit = client.check_limit_once_there(LIMIT, name, 1).await;
        assert!(limit.decision.allowed, "key {name}");
    }
    // The largest cost is good too, though no state admits it.
    let largest = json!({ "tenant": "a", "budget": BUDGET, "cost": 9_007_199_254_740_991_u64 });
    assert_eq!(client.post(CHECK, &largest).await.unwrap().status, 200);
}
