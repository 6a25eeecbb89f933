//! What the Worker exports: nothing that answers the outside but its entry.

use serde_json::{Value, json};
use weir_tests::workerd::Setup;

/// Everything that `index.js` exports: the entry point and the four objects.
const EXPORTS: [&str; 5] = ["Coordinator", "Ledger", "Region", "Registry", "default"];

/// Those that other Workers can bind. What stands here answers the outside: add with care.
const ENTRY_POINTS: [&str; 1] = ["default"];

/// The methods of the default entry point, which a service binding can call. Each authenticates inside itself.
const ENTRY_METHODS: [&str; 10] = [
    "acquire",
    "check",
    "checkBatch",
    "constructor",
    "fetch",
    "release",
    "renew",
    "report",
    "reserve",
    "settle",
];

/// The methods of each object's class, which the platform or a stub can call.
const OBJECT_METHODS: [&str; 9] = [
    "__destroy_into_raw",
    "alarm",
    "connect",
    "constructor",
    "fetch",
    "free",
    "webSocketClose",
    "webSocketError",
    "webSocketMessage",
];

/// Names the exports, and calls each method of the entry point as another Worker would.
const PROBE: &str = r#"
import * as worker from "./index.js";
import { WorkerEntrypoint } from "cloudflare:workers";

const methods = (value) =>
  typeof value === "function" ? Object.getOwnPropertyNames(value.prototype).sort() : Object.keys(value).sort();

// What is no token, each in a form that a method could trip over.
const TOKENS = [undefined, null, "", "no-token", 7, { token: "x" }, "a\nauthorization: b", "\u{1f511}", "x".repeat(100000)];

const called = async (service, method, token) => {
  try {
    const answer = await service[method](token, "queries", { tenant: "acme" });
    return Number((typeof answer === "string" ? JSON.parse(answer) : answer).status);
  } catch (error) {
    return `threw: ${error}`;
  }
};

export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return new Response("ok");
    if (path === "/call") {
      const answers = {};
      for (const method of methods(worker.default)) {
        if (method === "constructor" || method === "fetch") continue;
        answers[method] = [];
        for (const token of TOKENS) answers[method].push(await called(env.WEIR, method, token));
      }
      const fetched = await env.WEIR.fetch("https://weir/operator/v1/policy");
      return Response.json({ answers, fetched: fetched.status });
    }
    const isEntryPoint = (name) => worker[name].prototype instanceof WorkerEntrypoint;
    return Response.json({
      exports: Object.keys(worker).sort(),
      entryPoints: Object.keys(worker).filter(isEntryPoint).sort(),
      methods: Object.fromEntries(Object.entries(worker).map(([name, value]) => [name, methods(value)])),
    });
  },
};
"#;

#[tokio::test]
async fn the_worker_exports_its_entry_its_four_objects_and_nothing_else() {
    let workerd = Setup::isolates(&["weur"])
        .probe(PROBE)
        .start()
        .await
        .unwrap();
    let probe = workerd.probe().unwrap();
    let found: Value = probe.get("/exports").await.unwrap().ok().unwrap();
    assert_eq!(found["exports"], json!(EXPORTS), "{found}");
    assert_eq!(found["entryPoints"], json!(ENTRY_POINTS), "{found}");
    assert_eq!(found["methods"]["default"], json!(ENTRY_METHODS), "{found}");
    for class in ["Coordinator", "Ledger", "Region", "Registry"] {
        assert_eq!(
            found["methods"][class],
            json!(OBJECT_METHODS),
            "{class}: {found}"
        );
    }
}

#[tokio::test]
async fn a_service_binding_gets_no_further_than_a_request_does() {
    let workerd = Setup::isolates(&["weur"])
        .probe(PROBE)
        .start()
        .await
        .unwrap();
    let called: Value = workerd
        .probe()
        .unwrap()
        .get("/call")
        .await
        .unwrap()
        .ok()
        .unwrap();
    assert_eq!(called["fetched"], 401, "{called}");
    let answers = called["answers"].as_object().unwrap();
    assert_eq!(answers.len(), ENTRY_METHODS.len() - 2, "{called}");
    for (method, answers) in answers {
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), 9, "{method}");
        assert!(
            answers.iter().all(|answer| answer == 401),
            "{method}: {answers:?}"
        );
    }
}
