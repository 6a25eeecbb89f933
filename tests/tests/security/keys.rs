//! The keys and signatures of an identity provider: those that are accepted, and those that are too weak, meant for
//! something else, or ask for what is not understood.

use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{POLICY, answered};

const AUDIENCE: &str = "the-application";

/// An identity provider with one key of each kind.
const PROVIDER: &str = r#"
const rsa = (modulusLength, name = "RSASSA-PKCS1-v1_5", bits = 256) =>
  ({ name, hash: `SHA-${bits}`, saltLength: bits / 8, modulusLength, publicExponent: new Uint8Array([1, 0, 1]) });
const ec = (curve, bits) => ({ name: "ECDSA", namedCurve: curve, hash: `SHA-${bits}` });
const KINDS = {
  RS256: [rsa(2048), {}],
  RS384: [rsa(2048, "RSASSA-PKCS1-v1_5", 384), {}],
  RS512: [rsa(2048, "RSASSA-PKCS1-v1_5", 512), {}],
  PS256: [rsa(2048, "RSA-PSS", 256), {}],
  PS384: [rsa(2048, "RSA-PSS", 384), {}],
  PS512: [rsa(2048, "RSA-PSS", 512), { alg: "PS512" }],
  ES256: [ec("P-256", 256), {}],
  ES384: [ec("P-384", 384), {}],
  ES512: [ec("P-521", 512), {}],
  EdDSA: [{ name: "Ed25519" }, {}],
  weak: [rsa(1024), {}],
  enc: [rsa(2048), { use: "enc" }],
  ops: [rsa(2048), { use: undefined, key_ops: ["encrypt"] }],
  other: [rsa(2048), { alg: "RS512" }],
};
const pairs = {};

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const part = (value) => base64url(new TextEncoder().encode(JSON.stringify(value)));
const pairOf = async (kind) => (pairs[kind] ??= await crypto.subtle.generateKey(KINDS[kind][0], true, ["sign", "verify"]));

const published = async () => {
  const keys = [];
  for (const [kid, [, more]] of Object.entries(KINDS)) {
    const { kty, n, e, crv, x, y } = await crypto.subtle.exportKey("jwk", (await pairOf(kid)).publicKey);
    keys.push({ kty, n, e, crv, x, y, kid, use: "sig", ...more });
  }
  return { keys };
};

export default {
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return new Response("ok");
    if (path === "/cdn-cgi/access/certs") return Response.json(await published());
    const { head, claims, kind } = await request.json();
    const signed = `${part(head)}.${part(claims)}`;
    const { privateKey } = await pairOf(kind);
    const signature = await crypto.subtle.sign(KINDS[kind][0], privateKey, new TextEncoder().encode(signed));
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
        let setup = Setup::isolates(&["weur"]).probe(PROVIDER);
        let workerd = setup.start().await.unwrap();
        let client = workerd.probe().unwrap();
        // Made here, not while somebody waits for them.
        let keys = client.get("/cdn-cgi/access/certs").await.unwrap();
        assert_eq!(keys.status, 200);
        Self {
            _workerd: workerd,
            client,
        }
    }

    async fn sign(&self, kind: &str, head: &Value) -> String {
        let now_s = clock::epoch_ms() / 1_000;
        let claims = json!({
            "iss": self.client.origin(), "aud": [AUDIENCE], "exp": now_s + 600, "email": "ada@example.com",
        });
        let told = json!({ "kind": kind, "head": head, "claims": claims });
        let signed = self.client.post("/sign", &told).await.unwrap();
        let signed: Value = signed.ok().unwrap();
        signed["text"].as_str().unwrap().to_owned()
    }

    async fn deployment(&self) -> (Workerd, Client) {
        let setup = Setup::isolates(&["weur"])
            .local_network()
            .variable("WEIR_ACCESS_TEAM_DOMAIN", self.client.origin())
            .variable("WEIR_ACCESS_AUD", AUDIENCE);
        let workerd = setup.start().await.unwrap();
        let client = workerd.client(0).unwrap().anonymous();
        (workerd, client)
    }
}

async fn status(client: &Client, assertion: &str) -> u16 {
    let ask = async || {
        let asked = client
            .request(reqwest::Method::GET, POLICY)
            .header("cf-access-jwt-assertion", assertion);
        client.send(asked).await.unwrap()
    };
    answered(ask).await.status
}

#[tokio::test]
async fn every_kind_of_signature_is_verified_and_each_by_a_key_of_its_kind() {
    const ALL: [&str; 10] = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ];
    let provider = Provider::start().await;
    let (workerd, client) = provider.deployment().await;
    let head = |alg: &str, kid: &str| json!({ "alg": alg, "kid": kid });
    for alg in ALL {
        let text = provider.sign(alg, &head(alg, alg)).await;
        assert_eq!(
            status(&client, &text).await,
            200,
            "{alg}\n{}",
            workerd.log()
        );
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let first = if signature.starts_with('A') { 'B' } else { 'A' };
        let forged = format!("{signed}.{first}{}", &signature[1..]);
        assert_eq!(status(&client, &forged).await, 401, "{alg}");
        // What a token says of itself makes no other signature of it, nor do algorithms that take a secret or nothing.
        let others = ALL.into_iter().filter(|other| *other != alg);
        for other in others.chain(["HS256", "HS512", "none"]) {
            let confused = provider.sign(alg, &head(other, alg)).await;
            assert_eq!(
                status(&client, &confused).await,
                401,
                "{alg} said to be {other}"
            );
        }
    }
}

#[tokio::test]
async fn weak_keys_keys_for_other_uses_and_unknown_demands_are_refused() {
    let provider = Provider::start().await;
    let (_workerd, client) = provider.deployment().await;
    for (alg, kind) in [
        ("RS256", "weak"),
        ("RS256", "enc"),
        ("RS256", "ops"),
        ("RS256", "other"),
        ("PS256", "weak"),
        ("PS256", "PS512"),
        ("ES256", "ES384"),
    ] {
        let head = json!({ "alg": alg, "kid": kind });
        let text = provider.sign(kind, &head).await;
        assert_eq!(status(&client, &text).await, 401, "{kind}");
    }
    for crit in [
        json!(["exp"]),
        json!(["b64"]),
        json!([]),
        json!("x"),
        json!(["urn:x"]),
    ] {
        let head =
            json!({ "alg": "RS256", "kid": "RS256", "crit": crit, "b64": false, "urn:x": 1 });
        let text = provider.sign("RS256", &head).await;
        assert_eq!(status(&client, &text).await, 401, "{crit}");
    }
}
