//! Another Worker binds Weir as a service: by RPC, by fetch, and as the example does it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT, gcra, policy, with};
use weir_tests::paths;
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

const HOUR_MS: u64 = 3_600_000;

/// How long what is on its way may take on a busy machine.
const ANSWERED: Duration = Duration::from_secs(30);

/// Calls what the body of a request names, and shows what came of it. What JSON cannot express stands at paths of its own.
const CALLER: &str = r#"
const odd = {
  cyclic: () => { const value = { tenant: "acme" }; value.self = value; return value; },
  bigint: () => ({ tenant: "acme", budget: "tokens", cost: 1n }),
  function: () => ({ tenant: "acme", budget: "tokens", cost: () => 1, toJSON: () => ({}) }),
  map: () => new Map([["tenant", "acme"]]),
  bytes: () => new Uint8Array([123, 125]),
  absent: () => undefined,
};

export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return new Response("ok");
    if (path.startsWith("/v1/")) {
      return env.WEIR.fetch(new Request(`https://weir${path}`, request));
    }
    try {
      if (path.startsWith("/odd/")) return Response.json(await env.WEIR.check(env.WEIR_TOKEN, odd[path.slice(5)]()));
      const { method, args } = await request.json();
      const answer = await env.WEIR[method](...args);
      return Response.json({ kind: typeof answer, answer });
    } catch (error) {
      return Response.json({ thrown: String(error) }, { status: 500 });
    }
  },
};
"#;

fn document() -> Value {
    let document = with(
        policy(1_000, HOUR_MS),
        "/limits",
        json!({
            LIMIT: gcra(100, HOUR_MS, 20),
            "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 10, "max_queue_ms": 2_000, "scope": "region" },
        }),
    );
    let guards = json!({ "queries": { "concurrency": 1, "lease_ms": 30_000 } });
    with(
        with(document, "/guards", guards),
        "/overload",
        json!({ "origin": {} }),
    )
}

async fn start(setup: Setup) -> (Workerd, Client) {
    let workerd = setup.probe(CALLER).start().await.unwrap();
    workerd.apply(&document()).await.unwrap();
    let caller = workerd.probe().unwrap();
    (workerd, caller)
}

/// What a method answers, once the holders answer: on a busy machine they may be out of reach for a moment.
async fn call(caller: &Client, method: &str, args: Value) -> Value {
    let body = json!({ "method": method, "args": args });
    let shown = answered(async || caller.post("/call", &body).await.unwrap()).await;
    shown["answer"].clone()
}

/// What is answered, in the same way; what is not is charged nothing.
async fn answered(ask: impl AsyncFn() -> Reply) -> Value {
    let begun = now();
    loop {
        let shown: Value = ask().await.ok().unwrap();
        let answer = shown.get("answer").unwrap_or(&shown);
        let is_away = answer["reason"] == "unavailable" || answer["status"] == 503;
        if !is_away || begun.elapsed() > ANSWERED {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn spend(cost: u64) -> Value {
    json!({ "tenant": "acme", "budget": BUDGET, "cost": cost })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_answers_what_its_route_answers() {
    let (workerd, caller) = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let by_call = call(&caller, "check", json!([TOKEN, spend(3)])).await;
    assert_eq!(by_call["allowed"], true, "{by_call}");
    assert_eq!(by_call["binding"], BUDGET, "{by_call}");
    let asks = async |client: &Client| {
        answered(async || client.post("/v1/check", &spend(3)).await.unwrap()).await
    };
    let by_fetch = asks(&caller.with_token(TOKEN)).await;
    let by_request = asks(&client).await;
    for answer in [&by_fetch, &by_request] {
        let fields =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(fields(answer), fields(&by_call));
        assert_eq!(answer["policy_revision"], by_call["policy_revision"]);
    }
    assert_eq!(by_request["remaining"], 1_000 - 9, "each charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_does_what_it_says() {
    let (_workerd, caller) = start(Setup::isolates(&["weur"])).await;
    let batch = json!({ "requests": [spend(1), spend(2_000)] });
    let batch = call(&caller, "checkBatch", json!([TOKEN, batch])).await;
    assert_eq!(batch["decisions"][0]["allowed"], true, "{batch}");
    assert_eq!(batch["decisions"][1]["reason"], "never", "{batch}");

    let mut question = spend(10);
    question["reserve"] = json!(true);
    let reserved = call(&caller, "check", json!([TOKEN, question])).await;
    let settled = json!({ "reservation": reserved["reservation"], "actual": 4 });
    let settled = call(&caller, "settle", json!([TOKEN, settled])).await;
    assert_eq!(
        settled,
        json!({ "reserved": 10, "actual": 4, "refunded": 6, "debt": 0 })
    );

    let place = call(
        &caller,
        "reserve",
        json!([TOKEN, { "limit": "shape", "key": "k" }]),
    )
    .await;
    assert_eq!(place["accepted"], true, "{place}");

    let who = json!({ "tenant": "acme" });
    let slot = call(&caller, "acquire", json!([TOKEN, "queries", who])).await;
    assert_eq!(slot["allowed"], true, "{slot}");
    let second = call(&caller, "acquire", json!([TOKEN, "queries", who])).await;
    assert_eq!(second["status"], 429, "{second}");
    assert!(second["retry_after_ms"].as_u64() > Some(0), "{second}");
    let held = json!([TOKEN, "queries", { "slot": slot["slot"] }]);
    assert_eq!(call(&caller, "renew", held.clone()).await["held"], true);
    assert_eq!(call(&caller, "release", held.clone()).await["held"], false);
    assert_eq!(call(&caller, "release", held).await["held"], false);
    let third = call(&caller, "acquire", json!([TOKEN, "queries", who])).await;
    assert_eq!(third["allowed"], true, "{third}");

    let report = json!({ "resource": "origin", "tenant": "acme", "outcome": "success" });
    let report = call(&caller, "report", json!([TOKEN, report])).await;
    assert_eq!(report, json!({ "reported": true }));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_answered_in_text() {
    let (_workerd, caller) = start(Setup::isolates(&["weur"])).await;
    let text = call(&caller, "check", json!([TOKEN, spend(1).to_string()])).await;
    let decision: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(decision["allowed"], true, "{decision}");
    let text = call(&caller, "check", json!([TOKEN, "{\"tenant\":"])).await;
    let problem: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(problem["status"], 400, "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_a_problem_and_is_not_thrown() {
    let (workerd, caller) = start(Setup::isolates(&["weur"])).await;
    let large = json!({ "tenant": "acme", "budget": BUDGET, "key": "x".repeat(70_000) });
    let cases = [
        (spend(1), "no-token", 401, Value::Null),
        (
            json!({ "tenant": "acme", "budget": "none" }),
            TOKEN,
            404,
            json!("/budget"),
        ),
        (
            json!({ "tenant": "acme", "budget": BUDGET, "cost": -1 }),
            TOKEN,
            400,
            json!("/cost"),
        ),
        (
            json!({ "tenant": "acme", "budget": BUDGET, "more": 1 }),
            TOKEN,
            400,
            json!("/more"),
        ),
        (large, TOKEN, 413, Value::Null),
        (json!([]), TOKEN, 400, Value::Null),
        (json!(7), TOKEN, 400, Value::Null),
        (Value::Null, TOKEN, 400, Value::Null),
    ];
    for (question, token, status, field) in cases {
        let problem = call(&caller, "check", json!([token, question])).await;
        assert_eq!(problem["status"], status, "{problem}");
        assert!(problem["type"].is_string() && problem["detail"].is_string());
        if !field.is_null() {
            assert_eq!(problem["field"], field, "{problem}");
        }
    }
    for odd in ["cyclic", "bigint", "map", "bytes", "absent", "function"] {
        let reply = caller.get(&format!("/odd/{odd}")).await.unwrap();
        let problem: Value = reply.ok().unwrap();
        assert_eq!(problem["status"], 400, "{odd}: {problem}");
    }
    for guard in [
        json!("none/../../../operator/v1/policy"),
        json!(7),
        json!("none"),
    ] {
        let problem = call(
            &caller,
            "acquire",
            json!([TOKEN, guard, { "tenant": "acme" }]),
        )
        .await;
        assert_eq!(problem["status"], 404, "{guard}: {problem}");
    }
    let bound = TokenRequest {
        name: "bound".to_owned(),
        role: Role::Tenant,
        tenant: Some("acme".to_owned()),
        prefix: None,
        expires_at: None,
    };
    let bound = workerd.client(0).unwrap().make_token(&bound).await.unwrap();
    let own = call(&caller, "check", json!([bound.token, spend(1)])).await;
    assert_eq!(own["allowed"], true, "{own}");
    let other = json!({ "tenant": "hooli", "budget": BUDGET });
    let other = call(&caller, "check", json!([bound.token, other])).await;
    assert_eq!(
        (&other["status"], &other["field"]),
        (&json!(403), &json!("/tenant"))
    );
}

/// What a call leaves running ends, although its caller has its answer: the books hear of each decision.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_decided_by_call_is_counted() {
    let (workerd, caller) = start(Setup::isolates(&["weur"])).await;
    for _ in 0..7 {
        call(&caller, "check", json!([TOKEN, spend(2)])).await;
    }
    let client = workerd.client(0).unwrap();
    let is_counted = |view: &FairnessReply| {
        let mut tenants = view.tenants.iter();
        let acme = tenants.find(|report| report.tenant == "acme");
        let total = acme.and_then(|acme| acme.budgets.get(BUDGET));
        total.is_some_and(|budget| budget.total.admitted_units.0 == 14)
    };
    let begun = now();
    loop {
        let view = client.fairness().await;
        if view.as_ref().is_ok_and(is_counted) {
            return;
        }
        assert!(begun.elapsed() < ANSWERED, "not 14 units: {view:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A call has no address of its own: the caller hands on where its request arrived.
#[tokio::test(flavor = "multi_thread")]
async fn the_region_nearest_to_the_callers_request_decides() {
    let workerd = Setup::bare().probe(CALLER).start().await.unwrap();
    workerd
        .client(0)
        .unwrap()
        .save_policy(&document())
        .await
        .unwrap();
    let caller = workerd.probe().unwrap();
    let cases = [
        (json!({ "continent": "EU", "longitude": "2.3" }), "weur"),
        (json!({ "continent": "OC" }), "oc"),
        (
            json!({ "continent": "AS", "colo": "SIN", "botManagement": {} }),
            "apac",
        ),
    ];
    for (arrival, region) in cases {
        let decision = call(&caller, "check", json!([TOKEN, spend(0), arrival])).await;
        assert_eq!(decision["region"], region, "{arrival}: {decision}");
    }
    for odd in [
        json!(7),
        json!("EU"),
        json!({ "continent": { "a": 1 } }),
        Value::Null,
    ] {
        let decision = call(&caller, "check", json!([TOKEN, spend(0), odd])).await;
        assert!(decision["region"].is_string(), "{odd}: {decision}");
    }
}

/// The example's own source, bundled, before an origin that answers with the status that the test names.
fn example() -> String {
    const AROUND: &str = r#"
        import shop from "./index";
        const ORIGIN = { fetch: (request) => new Response("served", { status: Number(request.headers.get("x-status") ?? 200) }) };
        export default {
          fetch(request, env, context) {
            if (new URL(request.url).pathname === "/healthz") return new Response("ok");
            return shop.fetch(request, { WEIR: env.WEIR, WEIR_TOKEN: env.WEIR_TOKEN, ORIGIN }, context);
          },
        };
    "#;
    let mut bundler = Command::new(paths::esbuild().unwrap())
        .args([
            "--bundle",
            "--format=esm",
            "--log-level=error",
            "--loader=ts",
        ])
        .current_dir(paths::workspace().join("examples/service-binding/src"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = bundler.stdin.take().unwrap();
    stdin.write_all(AROUND.as_bytes()).unwrap();
    drop(stdin);
    let output = bundler.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

async fn shop(worker: &Client, tenant: &str, status: u16) -> (u16, Value) {
    let request = worker
        .request(reqwest::Method::GET, "/")
        .header("x-tenant", tenant)
        .header("x-status", status.to_string());
    let reply = worker.send(request).await.unwrap();
    let retry: Option<u64> = reply
        .header("retry-after")
        .map(|text| text.parse().unwrap());
    let body = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    if reply.status == 429 {
        assert!(retry > Some(0), "{retry:?}");
    }
    (reply.status, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_asks_before_its_origin_and_reports_after() {
    let workerd = Setup::isolates(&["weur"])
        .probe(&example())
        .start()
        .await
        .unwrap();
    let mut limit = gcra(100, HOUR_MS, 3);
    limit["per_tenant"] = json!(true);
    let document = with(document(), "/limits/per_tenant", limit);
    workerd.apply(&document).await.unwrap();
    let worker = workerd.probe().unwrap();
    for _ in 0..3 {
        assert_eq!(shop(&worker, "acme", 200).await.0, 200);
    }
    let (status, body) = shop(&worker, "acme", 200).await;
    assert_eq!((status, &body["denied_by"]), (429, &json!("per_tenant")));
    assert_eq!(
        shop(&worker, "hooli", 404).await.0,
        404,
        "answered as it is"
    );
    assert_eq!(shop(&worker, "hooli", 500).await.0, 500);
}
