//! Tenants by the claim of a signed token.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::fixtures::with;
use weir_tests::origin::Echo;
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

use crate::gateway::{Gateway, route};

const AUDIENCE: &str = "https://api.example.com";

/// How long keys may take to be there: an issuer that a busy machine keeps from answering is asked again after ten seconds.
const THERE: Duration = Duration::from_secs(60);

/// An issuer of tokens: two keys, of which one is published.
const ISSUER: &str = r#"
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
let pairs;
let asked = 0;

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const part = (value) => base64url(new TextEncoder().encode(JSON.stringify(value)));

export default {
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return new Response("ok");
    if (path === "/asked") return Response.json({ asked });
    pairs ??= {
      shown: await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]),
      hidden: await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]),
    };
    if (path === "/keys.json") {
      asked += 1;
      const jwk = await crypto.subtle.exportKey("jwk", pairs.shown.publicKey);
      return Response.json({ keys: [{ ...jwk, kid: "shown", use: "sig" }] });
    }
    const { kid, key, claims } = await request.json();
    const signed = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part(claims)}`;
    const bytes = new TextEncoder().encode(signed);
    const signature = await crypto.subtle.sign(algorithm.name, pairs[key].privateKey, bytes);
    return Response.json({ text: `${signed}.${base64url(new Uint8Array(signature))}` });
  },
};
"#;

struct Issuer {
    _workerd: Workerd,
    client: Client,
}

impl Issuer {
    async fn start() -> Self {
        let setup = Setup::isolates(&["weur"]).probe(ISSUER);
        let workerd = setup.start().await.unwrap();
        let client = workerd.probe().unwrap();
        Self {
            _workerd: workerd,
            client,
        }
    }

    fn claims(&self, tenant: &str) -> Value {
        let now_s = clock::epoch_ms() / 1_000;
        json!({
            "iss": "https://issuer.example.com", "aud": [AUDIENCE, "another"], "sub": "someone",
            "org": tenant, "exp": now_s + 600, "nbf": now_s
        })
    }

    async fn sign(&self, key: &str, claims: &Value) -> String {
        let told = json!({ "kid": "shown", "key": key, "claims": claims });
        let signed: Value = self
            .client
            .post("/sign", &told)
            .await
            .unwrap()
            .ok()
            .unwrap();
        signed["text"].as_str().unwrap().to_owned()
    }

    async fn asked(&self) -> u64 {
        let asked: Value = self.client.get("/asked").await.unwrap().ok().unwrap();
        asked["asked"].as_u64().unwrap()
    }

    async fn gateway(&self) -> Gateway {
        let keys = format!("{}/keys.json", self.client.origin());
        Gateway::with_policy(|document, origin| {
            let mut route = route(origin, json!([{ "budget": "tokens" }]));
            route["tenant"] = json!({
                "jwt": {
                    "header": "authorization", "claim": "org", "issuer": "https://issuer.example.com",
                    "audience": AUDIENCE, "jwks_url": keys
                },
                "prefix": "pro:"
            });
            with(document, "/routes", json!([route]))
        })
        .await
    }
}

async fn ask(gateway: &Gateway, token: &str) -> Reply {
    let request = gateway.client.request(Method::GET, "/echo");
    gateway.send(request.bearer_auth(token)).await
}

/// The answer to a request, as soon as the issuer's keys are there.
async fn ask_once_there(gateway: &Gateway, token: &str) -> Reply {
    let start = clock::now();
    loop {
        let reply = ask(gateway, token).await;
        if reply.status != 503 {
            return reply;
        }
        assert!(start.elapsed() < THERE, "{}", reply.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_token_names_its_tenant_by_a_claim_once_its_signature_holds() {
    let issuer = Issuer::start().await;
    let gateway = issuer.gateway().await;
    let good = issuer.sign("shown", &issuer.claims("acme")).await;
    let reply = ask_once_there(&gateway, &good).await;
    let fetched = issuer.asked().await;
    let echo: Echo = reply.ok().unwrap();
    let got = echo.headers.get("authorization");
    assert_eq!(got, None, "what named the tenant stays behind");
    let admin = gateway.workerd.client(0).unwrap();
    crate::gateway::eventually("it is counted as the tenant's", async || {
        let tenants = admin.fairness().await.unwrap().tenants;
        tenants.iter().any(|report| report.tenant == "pro:acme")
    })
    .await;

    let with_claim = |name: &str, value: Value| {
        let mut claims = issuer.claims("acme");
        claims[name] = value;
        claims
    };
    let now_s = clock::epoch_ms() / 1_000;
    let mut refused = vec![
        issuer.sign("hidden", &issuer.claims("acme")).await,
        "nonsense".to_owned(),
        good[..good.len() - 4].to_owned(),
    ];
    for (name, value) in [
        ("aud", json!("elsewhere")),
        ("iss", json!("https://other.example.com")),
        ("exp", json!(now_s - 1)),
        ("nbf", json!(now_s + 3_600)),
        ("org", Value::Null),
        ("org", json!({ "name": "acme" })),
    ] {
        refused.push(issuer.sign("shown", &with_claim(name, value)).await);
    }
    let served = gateway.origin.served();
    for token in refused {
        let reply = ask(&gateway, &token).await;
        assert_eq!(reply.status, 401, "{token}: {}", reply.text());
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(gateway.origin.served(), served);
    assert!(issuer.asked().await <= fetched + 1, "keys are kept");
}

#[tokio::test]
async fn while_the_issuer_is_out_of_reach_no_token_is_believed() {
    let issuer = Issuer::start().await;
    let token = issuer.sign("shown", &issuer.claims("acme")).await;
    let gateway = issuer.gateway().await;
    drop(issuer);
    let reply = ask(&gateway, &token).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.header("retry-after").is_some());
    assert_eq!(gateway.origin.served(), 0);
}
