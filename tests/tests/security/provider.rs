//! Cloudflare Access as the one who says who somebody is. Its part is played by a module that makes a key, publishes it
//! and signs what it is told to.

use std::slice::from_ref;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::limits::PROVIDER_KEYS_MS_MIN;
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::reply::Reply;
use weir_tests::watch::Watch;
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{CHECK, POLICY, SESSION, TOKENS, answered, read};

const AUDIENCE: &str = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2";

/// Makes keys, publishes those that it is told to, and signs with any.
const PROVIDER: &str = r#"
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
const pairs = {};
let asked = 0;

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const part = (value) => base64url(new TextEncoder().encode(JSON.stringify(value)));

const published = async () => {
  asked += 1;
  const keys = [];
  for (const [kid, { pair, shown }] of Object.entries(pairs)) {
    if (!shown) continue;
    const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
    keys.push({ ...jwk, kid, use: "sig" });
  }
  return { keys, public_certs: [] };
};

export default {
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return new Response("ok");
    if (path === "/cdn-cgi/access/certs") return Response.json(await published());
    if (path === "/asked") return Response.json({ asked });
    const told = await request.json();
    if (path === "/key") {
      const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      pairs[told.kid] = { pair, shown: told.shown };
      return Response.json({});
    }
    const signed = `${part(told.head)}.${part(told.claims)}`;
    const { pair } = pairs[told.with];
    const signature = await crypto.subtle.sign(algorithm.name, pair.privateKey, new TextEncoder().encode(signed));
    return Response.json({ text: `${signed}.${base64url(new Uint8Array(signature))}` });
  },
};
"#;

struct Provider {
    _workerd: Workerd,
    client: Client,
}

impl Provider {
    async fn start() -> Self {
        let workerd = Setup::isolates(&["weur"])
            .probe(PROVIDER)
            .start()
            .await
            .unwrap();
        let client = workerd.probe().unwrap();
        let provider = Self {
            _workerd: workerd,
            client,
        };
        provider.key("one", true).await;
        provider.key("hidden", false).await;
        provider
    }

    async fn key(&self, kid: &str, shown: bool) {
        let told = json!({ "kid": kid, "shown": shown });
        assert_eq!(self.client.post("/key", &told).await.unwrap().status, 200);
    }

    /// Times that it was asked for its keys.
    async fn asked(&self) -> u64 {
        let asked: Value = self.client.get("/asked").await.unwrap().ok().unwrap();
        asked["asked"].as_u64().unwrap()
    }

    fn claims(&self) -> Value {
        let now_s = clock::epoch_ms() / 1_000;
        json!({
            "iss": self.client.origin(), "aud": [AUDIENCE], "exp": now_s + 600, "nbf": now_s, "iat": now_s,
            "email": "ada@example.com", "type": "app", "sub": "7335d417-61da-459d-899c-0a01c76a2f94",
        })
    }

    async fn sign(&self, with: &str, head: Value, claims: &Value) -> String {
        let told = json!({ "with": with, "head": head, "claims": claims });
        let signed: Value = self
            .client
            .post("/sign", &told)
            .await
            .unwrap()
            .ok()
            .unwrap();
        signed["text"].as_str().unwrap().to_owned()
    }

    async fn assertion(&self, claims: &Value) -> String {
        let head = json!({ "alg": "RS256", "kid": "one", "typ": "JWT" });
        self.sign("one", head, claims).await
    }

    async fn deployment(&self, role: Option<&str>) -> (Workerd, Client) {
        let setup = Setup::isolates(&["weur"])
            .local_network()
            .variable("WEIR_ACCESS_TEAM_DOMAIN", self.client.origin())
            .variable("WEIR_ACCESS_AUD", AUDIENCE);
        let setup = match role {
            Some(role) => setup.variable("WEIR_ACCESS_ROLE", role),
            None => setup,
        };
        let workerd = setup.start().await.unwrap();
        let client = workerd.client(0).unwrap().anonymous();
        (workerd, client)
    }
}

/// What is answered once the keys are there.
async fn ask(client: &Client, method: Method, path: &str, assertion: &str, csrf: bool) -> Reply {
    answered(async || ask_once(client, method.clone(), path, assertion, csrf).await).await
}

async fn ask_once(
    client: &Client,
    method: Method,
    path: &str,
    assertion: &str,
    csrf: bool,
) -> Reply {
    let mut asked = client
        .request(method.clone(), path)
        .header("cf-access-jwt-assertion", assertion);
    if csrf {
        asked = asked.header("weir-csrf", "1");
    }
    if method != Method::GET {
        asked = asked.json(&json!({}));
    }
    client.send(asked).await.unwrap()
}

async fn status(client: &Client, assertion: &str) -> u16 {
    let reply = ask(client, Method::GET, POLICY, assertion, false).await;
    reply.status
}

#[tokio::test]
async fn whom_the_provider_vouches_for_reads_the_operator_plane_and_decides_nothing() {
    let provider = Provider::start().await;
    let (_workerd, client) = provider.deployment(None).await;
    let assertion = provider.assertion(&provider.claims()).await;
    let read = ask(&client, Method::GET, POLICY, &assertion, false).await;
    assert_eq!(read.status, 200, "{}", read.text());
    let session = ask(&client, Method::GET, SESSION, &assertion, false).await;
    let session: Value = session.ok().unwrap();
    assert_eq!(session["role"], "viewer", "{session}");

    for (method, path, csrf, due) in [
        (Method::PUT, POLICY, true, 403),
        (Method::POST, TOKENS, true, 403),
        (Method::POST, CHECK, true, 401),
        (Method::GET, "/metrics", true, 401),
    ] {
        let refused = ask(&client, method.clone(), path, &assertion, csrf).await;
        assert_eq!(refused.status, due, "{method} {path}: {}", refused.text());
    }
    let mut claims = provider.claims();
    claims["aud"] = json!(AUDIENCE);
    let one = provider.assertion(&claims).await;
    assert_eq!(status(&client, &one).await, 200);
}

#[tokio::test]
async fn the_deployment_says_what_its_provider_s_people_may_do() {
    let provider = Provider::start().await;
    let (_workerd, client) = provider.deployment(Some("editor")).await;
    let assertion = provider.assertion(&provider.claims()).await;
    // Let in, a PUT without If-Match is refused with 428.
    let allowed = ask(&client, Method::PUT, POLICY, &assertion, true).await;
    assert_eq!(allowed.status, 428, "{}", allowed.text());
    let forged = ask(&client, Method::PUT, POLICY, &assertion, false).await;
    assert_eq!(
        forged.status,
        403,
        "a page of another site: {}",
        forged.text()
    );
    let tokens = ask(&client, Method::GET, TOKENS, &assertion, true).await;
    assert_eq!(tokens.status, 403, "{}", tokens.text());

    // A role that operates nothing is no role for people.
    let (_workerd, client) = provider.deployment(Some("service")).await;
    let refused = ask(&client, Method::PUT, POLICY, &assertion, true).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
}

#[tokio::test]
async fn an_assertion_that_does_not_hold_is_nobody_s() {
    let provider = Provider::start().await;
    let (_workerd, client) = provider.deployment(Some("admin")).await;
    let good = provider.assertion(&provider.claims()).await;
    assert_eq!(status(&client, &good).await, 200);

    let with = |field: &str, value: Value| {
        let mut claims = provider.claims();
        claims[field] = value;
        claims
    };
    let now_s = clock::epoch_ms() / 1_000;
    for claims in [
        with("aud", json!(["another"])),
        with("aud", json!([])),
        with("iss", json!("https://other.example")),
        with("exp", json!(now_s - 1)),
        with("exp", Value::Null),
        with("nbf", json!(now_s + 3_600)),
        with("email", Value::Null),
    ] {
        let assertion = provider.assertion(&claims).await;
        assert_eq!(status(&client, &assertion).await, 401, "{claims}");
    }

    let claims = provider.claims();
    let head = |alg: &str, kid: &str| json!({ "alg": alg, "kid": kid });
    for (key, head) in [
        // Signed with a key that is not published, under the name of one that is, and under its own.
        ("hidden", head("RS256", "one")),
        ("hidden", head("RS256", "hidden")),
        ("one", head("none", "one")),
        ("one", head("HS256", "one")),
        ("one", head("RS512", "one")),
        ("one", head("RS256", "two")),
    ] {
        let assertion = provider.sign(key, head.clone(), &claims).await;
        assert_eq!(status(&client, &assertion).await, 401, "{key} {head}");
    }

    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (head, body) = signed.split_once('.').unwrap();
    let swapped = provider
        .assertion(&with("email", json!("eve@example.com")))
        .await;
    let (_, others) = swapped.rsplit_once('.').unwrap();
    for forged in [
        format!("{signed}."),
        format!("{signed}.{others}"),
        format!("{head}..{signature}"),
        format!("{head}.{body}"),
        good[..good.len() - 2].to_owned(),
        format!("Bearer {good}"),
    ] {
        assert_eq!(status(&client, &forged).await, 401, "{forged}");
    }
}

#[tokio::test]
async fn keys_that_do_not_exist_do_not_make_every_request_a_call() {
    let provider = Provider::start().await;
    let (_workerd, client) = provider.deployment(None).await;
    let good = provider.assertion(&provider.claims()).await;
    let begun = clock::now();
    assert_eq!(status(&client, &good).await, 200);
    let asked = provider.asked().await;
    for number in 0..50 {
        let head = json!({ "alg": "RS256", "kid": format!("made-up-{number}") });
        let forged = provider.sign("hidden", head, &provider.claims()).await;
        assert_eq!(status(&client, &forged).await, 401);
        assert_eq!(status(&client, &good).await, 200);
    }
    let more = provider.asked().await - asked;
    let most = 1 + begun.elapsed().as_millis() as u64 / PROVIDER_KEYS_MS_MIN;
    assert!(more <= most, "{more} times, not {most}");
}

#[tokio::test]
async fn while_the_provider_is_out_of_reach_tokens_still_work() {
    let provider = Provider::start().await;
    let assertion = provider.assertion(&provider.claims()).await;
    let origin = provider.client.origin().to_owned();
    drop(provider);
    let workerd = Setup::isolates(&["weur"])
        .local_network()
        .variable("WEIR_ACCESS_TEAM_DOMAIN", &origin)
        .variable("WEIR_ACCESS_AUD", AUDIENCE)
        .start()
        .await
        .unwrap();
    let root = workerd.client(0).unwrap();
    let (watch, start) = (Watch::start(from_ref(&root)), clock::now());
    let refused = ask_once(&root.anonymous(), Method::GET, POLICY, &assertion, false).await;
    let (end, stood) = (clock::now(), watch.stop().await);
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    let took = (end - start).saturating_sub(stood.during(start, end));
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(read(&root).await, 200);
}
