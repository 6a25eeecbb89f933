//! What the Worker exports: nothing that answers the outside but its entry.

use serde_json::{Value, json};
use weir_tests::workerd::Setup;

/// Everything that `index.js` exports: the entry point, the four objects, and three classes of plain values that the
/// worker crate exports in every Worker.
const EXPORTS: [&str; 8] = [
    "ContainerStartupOptions",
    "Coordinator",
    "Ledger",
    "MinifyConfig",
    "R2Range",
    "Region",
    "Registry",
    "default",
];

/// Those that other Workers can bind. What stands here answers the outside: add with care.
const ENTRY_POINTS: [&str; 1] = ["default"];

/// The methods of the default entry point, which a service binding can call. `fetch` authenticates inside itself.
const ENTRY_METHODS: [&str; 2] = ["constructor", "fetch"];

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

const called = async (service, method) => {
  try {
    const answer = await service[method]("POST", "/operator/v1/policy", "{}");
    return `answered ${String(answer?.status ?? answer)}`;
  } catch (error) {
    return `refused: ${error}`;
  }
};

export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return new Response("ok");
    if (path === "/call") {
      const answers = {};
      for (const method of methods(worker.default)) {
        if (method !== "constructor" && method !== "fetch") answers[method] = await called(env.WEIR, method);
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
    let let_in: Vec<_> = answers
        .iter()
        .filter(|(_, answer)| {
            !answer
                .as_str()
                .is_some_and(|text| text.starts_with("refused"))
        })
        .collect();
    assert!(let_in.is_empty(), "{let_in:?}");
}
