//! Who may do what, and what is exported at all.

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::client::{Client, Credential, session_cookie};
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

const SESSION: &str = "/operator/v1/session";
const POLICY: &str = "/operator/v1/policy";
const FAIRNESS: &str = "/operator/v1/fairness";
const CHECK: &str = "/v1/check";

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

async fn one_isolate() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"])
        .start()
        .await
        .expect("workerd starts");
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// A route with the status for each credential: none, a wrong token, the admin token, a session's cookie without and
/// with the header that a page of another site cannot send.
type Row = (Method, &'static str, [u16; 5]);

fn table() -> [Row; 12] {
    [
        (Method::POST, CHECK, [401, 401, 200, 401, 401]),
        // Let in, the body of the first is refused.
        (Method::POST, "/v1/check/batch", [401, 401, 400, 401, 401]),
        (Method::POST, "/v1/reserve", [401, 401, 400, 401, 401]),
        (Method::POST, "/v1/settle", [401, 401, 400, 401, 401]),
        (Method::GET, POLICY, [401, 401, 200, 200, 200]),
        // Let in, a PUT without If-Match is refused with 428.
        (Method::PUT, POLICY, [401, 401, 428, 403, 428]),
        (Method::GET, FAIRNESS, [401, 401, 200, 200, 200]),
        (Method::GET, "/operator/v1/nope", [404, 404, 404, 404, 404]),
        (Method::GET, "/v1/nope", [404, 404, 404, 404, 404]),
        (Method::GET, "/healthz", [200, 200, 200, 200, 200]),
        (Method::GET, "/", [302, 302, 302, 302, 302]),
        (Method::DELETE, SESSION, [401, 401, 204, 403, 204]),
    ]
}

#[tokio::test]
async fn every_route_asks_for_its_credential() {
    let (_workerd, client) = one_isolate().await;
    let (session, _) = client.anonymous().log_in(TOKEN).await.unwrap();
    let cookie = session_cookie(&client.post_session(TOKEN).await.unwrap()).unwrap();
    let credentials = [
        ("no credential", client.anonymous()),
        ("a wrong token", client.with_token(&"x".repeat(TOKEN.len()))),
        ("the admin token", client.clone()),
        (
            "a cookie alone",
            client.with(Credential::Session {
                cookie,
                csrf: false,
            }),
        ),
        ("a cookie with the header", session),
    ];
    let body = json!({ "tenant": "a", "budget": BUDGET, "cost": 0 });
    for (method, path, expected) in table() {
        for ((name, client), status) in credentials.iter().zip(expected) {
            let mut request = client.request(method.clone(), path);
            if method != Method::GET {
                request = request.json(&body);
            }
            let reply = client.send(request).await.unwrap();
            assert_eq!(
                reply.status,
                status,
                "{method} {path} with {name}: {}",
                reply.text()
            );
            if status >= 400 {
                reply
                    .problem()
                    .unwrap_or_else(|error| panic!("{method} {path} with {name}: {error:#}"));
            }
        }
    }
}

#[tokio::test]
async fn a_token_counts_only_whole_and_as_a_bearer_token() {
    let (_workerd, client) = one_isolate().await;
    let upper = TOKEN.to_uppercase();
    let longer = format!("{TOKEN}x");
    for wrong in [
        "",
        " ",
        &TOKEN[1..],
        &TOKEN[..TOKEN.len() - 1],
        &longer,
        &upper,
    ] {
        assert_eq!(
            client.with_token(wrong).get(POLICY).await.unwrap().status,
            401,
            "token {wrong:?}"
        );
        assert_eq!(
            client.post_session(wrong).await.unwrap().status,
            401,
            "login with {wrong:?}"
        );
    }
    let anonymous = client.anonymous();
    let schemes = [
        (format!("Bearer {TOKEN}"), 200),
        (format!("bearer {TOKEN}"), 200),
        (format!("Basic {TOKEN}"), 401),
        (TOKEN.to_owned(), 401),
        (format!("Bearer {TOKEN}, Bearer {TOKEN}"), 401),
    ];
    for (value, status) in schemes {
        let request = anonymous
            .request(Method::GET, POLICY)
            .header("authorization", &value);
        assert_eq!(
            anonymous.send(request).await.unwrap().status,
            status,
            "Authorization: {value}"
        );
    }
    let in_the_address = anonymous
        .get(&format!("{POLICY}?token={TOKEN}&access_token={TOKEN}"))
        .await
        .unwrap();
    assert_eq!(in_the_address.status, 401);
}

#[tokio::test]
async fn a_session_is_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let (workerd, client) = one_isolate().await;
    let anonymous = client.anonymous();
    let reply = anonymous.post_session(TOKEN).await.unwrap();
    let header = reply.header("set-cookie").expect("a cookie").to_owned();
    let attributes: Vec<String> = header
        .split(';')
        .skip(1)
        .map(|part| part.trim().to_lowercase())
        .collect();
    for needed in ["httponly", "secure", "samesite=strict", "path=/"] {
        assert!(
            attributes.iter().any(|attribute| attribute == needed),
            "{needed} is not in {header}"
        );
    }
    assert!(
        !attributes
            .iter()
            .any(|attribute| attribute.starts_with("domain")),
        "{header}"
    );
    assert!(
        !header.contains(TOKEN) && !reply.text().contains(TOKEN),
        "the token came back"
    );

    let cookie = session_cookie(&reply).unwrap();
    let with = |cookie: String| anonymous.with(Credential::Session { cookie, csrf: true });
    let session: Value = with(cookie.clone())
        .get(SESSION)
        .await
        .unwrap()
        .ok()
        .unwrap();
    assert_eq!(session["role"], "admin");
    assert!(session["expires_at"].as_u64().unwrap() > weir_tests::clock::epoch_ms());
    assert_eq!(anonymous.get(SESSION).await.unwrap().status, 401);

    for forged in forgeries(&cookie) {
        assert_eq!(
            with(forged.clone()).get(POLICY).await.unwrap().status,
            401,
            "cookie {forged}"
        );
    }
    let elsewhere = Setup::isolates(&["weur"])
        .token(Some(&"y".repeat(40)))
        .start()
        .await
        .unwrap();
    let foreign = elsewhere.client(0).unwrap().with(Credential::Session {
        cookie: cookie.clone(),
        csrf: true,
    });
    assert_eq!(
        foreign.get(POLICY).await.unwrap().status,
        401,
        "a session of another deployment"
    );

    let out = with(cookie).log_out().await.unwrap();
    assert_eq!(out.status, 204);
    let cleared = out
        .header("set-cookie")
        .expect("the cookie is taken back")
        .to_lowercase();
    assert!(cleared.contains("max-age=0"), "{cleared}");
    assert!(!workerd.log().contains(TOKEN), "the token is in the log");
}

/// The cookie with any one character changed, cut short, empty, or valid for longer.
fn forgeries(cookie: &str) -> Vec<String> {
    let (name, value) = cookie.split_once('=').expect("name=value");
    let mut forged: Vec<String> = (0..value.len())
        .map(|at| {
            let mut bytes = value.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'5' { b'6' } else { b'5' };
            format!("{name}={}", String::from_utf8_lossy(&bytes))
        })
        .collect();
    forged.extend(
        [
            "".to_owned(),
            ".".to_owned(),
            value[..value.len() - 1].to_owned(),
            format!("9{value}"),
        ]
        .map(|value| format!("{name}={value}")),
    );
    forged
}

#[tokio::test]
async fn without_a_long_enough_admin_token_everything_is_refused() {
    let short = "s".repeat(31);
    for token in [None, Some(""), Some(short.as_str())] {
        let workerd = Setup::isolates(&["weur"])
            .token(token)
            .start()
            .await
            .unwrap();
        let client = workerd.client(0).unwrap();
        let given = client.with_token(token.unwrap_or_default());
        let check = json!({ "limit": LIMIT, "key": "k" });
        let replies: [Reply; 5] = [
            given.get(POLICY).await.unwrap(),
            given.get(FAIRNESS).await.unwrap(),
            given.put_policy(&json!({}), Some("\"1\"")).await.unwrap(),
            given.post(CHECK, &check).await.unwrap(),
            given.post_session(token.unwrap_or_default()).await.unwrap(),
        ];
        for reply in replies {
            assert_eq!(
                reply.status,
                401,
                "with the token {token:?}: {}",
                reply.text()
            );
            reply.problem().unwrap();
        }
        assert_eq!(client.get("/healthz").await.unwrap().status, 200);
    }
    let just_enough = "s".repeat(32);
    let workerd = Setup::isolates(&["weur"])
        .token(Some(&just_enough))
        .start()
        .await
        .unwrap();
    assert_eq!(
        workerd.client(0).unwrap().get(POLICY).await.unwrap().status,
        200
    );
}

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
