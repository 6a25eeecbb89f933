//! The proxies that people run, with the configurations of `examples/`, before a real application.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::fixtures::{KEY_OF_ACME, gcra, with};
use weir_tests::origin::Origin;
use weir_tests::recipe::{Between, Recipe};
use weir_tests::reply::Reply;

use crate::authorize::{Door, route};

/// What a client may forge.
const FORGED: [(&str, &str); 8] = [
    ("weir-tenant", "pro:boss"),
    ("weir-settle", "forged"),
    ("weir-slot", "forged"),
    ("x-forwarded-uri", "/free"),
    ("x-original-uri", "/free"),
    ("x-forwarded-method", "OPTIONS"),
    ("x-forwarded-host", "free.example.com"),
    ("x-forwarded-for", "192.0.2.77"),
];

struct Site {
    door: Door,
    application: Origin,
    proxy: Recipe,
    client: Client,
}

impl Site {
    /// An application behind a proxy: three requests a day from an address, each of 100 tokens until it is settled, and
    /// what is free at another path and another host.
    async fn behind(start: impl FnOnce(Between<'_>) -> anyhow::Result<Recipe>) -> Self {
        let door = Door::with_policy(|document| {
            let cost = json!({ "response_header": "x-tokens-used", "reserve": 100 });
            let checks = json!([
                { "budget": "tokens", "cost": cost },
                { "limit": "per_ip", "key": "client_address" }
            ]);
            let mut paid = route("paid", "/*", checks);
            paid["tenant"] = json!({ "api_key": { "header": "authorization" } });
            let free = json!({
                "name": "free", "path": "/free", "checks": [],
                "origin": { "url": "https://application.example.com" }
            });
            let mut elsewhere = free.clone();
            elsewhere["name"] = json!("elsewhere");
            elsewhere["path"] = json!("/*");
            elsewhere["host"] = json!("free.example.com");
            let document = with(document, "/limits/per_ip", gcra(3, 24 * 3_600_000, 3));
            let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
            with(document, "/routes", json!([free, elsewhere, paid]))
        })
        .await;
        let application = Origin::start().await.unwrap();
        let weir = door.admin.origin().trim_start_matches("http://").to_owned();
        let url = application.url();
        let between = Between {
            weir: &weir,
            application: url.trim_start_matches("http://"),
            token: &door.token,
        };
        let proxy = start(between).expect("the proxy starts");
        let client = Client::new(proxy.url()).unwrap();
        Self {
            door,
            application,
            proxy,
            client,
        }
    }

    /// A request with acme's key and whatever a client may forge.
    async fn paid(&self, path: &str) -> Reply {
        let request = self.client.request(Method::POST, path);
        let request = self.forging(request.bearer_auth("key-of-acme"));
        self.client.send(request.body("hello")).await.unwrap()
    }

    fn forging(&self, request: RequestBuilder) -> RequestBuilder {
        let mut request = request;
        for (name, value) in FORGED {
            request = request.header(name, value);
        }
        request
    }

    async fn assert_asks_weir(&self) {
        // Who decides is there: a proxy asks once.
        self.door.left("pro:acme").await;
        let admin = &self.door.admin;
        admin.check_limit_once_there("per_ip", "warm", 0).await;
        let forging = self.forging(self.client.request(Method::GET, "/free"));
        let answered = self.client.send(forging).await.unwrap();
        let log = self.proxy.log();
        assert_eq!(answered.status, 200, "{}\n{log}", answered.text());
        let seen = self.application.seen().pop().unwrap();
        for name in ["weir-tenant", "weir-settle", "weir-slot"] {
            assert_eq!(
                seen.headers.get(name),
                None,
                "nobody said it but the client"
            );
        }
        for passed in 1..=3 {
            let reply = self.paid("/x?used=7").await;
            assert_eq!(reply.status, 200, "{}\n{}", reply.text(), self.proxy.log());
            assert_eq!(self.application.served(), 1 + passed);
            let seen = self.application.seen().pop().unwrap();
            let told = |name: &str| {
                let all: Vec<_> = seen.headers.get_all(name).iter().collect();
                assert!(all.len() < 2, "{name}: {all:?}");
                all.first().map(|value| value.to_str().unwrap().to_owned())
            };
            assert_eq!(seen.target, "/x?used=7");
            assert_eq!(told("weir-tenant").as_deref(), Some("pro:acme"));
            assert_eq!(told("weir-slot"), None, "a client's word");
            assert_eq!(told("weir-authorization"), None, "the token stays");
            // The application says what it used.
            let body = json!({ "reservation": told("weir-settle").unwrap(), "actual": 7 });
            let settled = self.door.settle("/v1/settle", &body).await;
            let settled: Value = settled.ok().unwrap();
            assert_eq!(settled["refunded"], 93);
            self.door
                .admin
                .await_left("pro:acme", "tokens", 1_000 - 7 * passed)
                .await;
        }
        let denied = self.paid("/x").await;
        assert_eq!(
            denied.status,
            429,
            "{}\n{}",
            denied.text(),
            self.proxy.log()
        );
        let after_s: u64 = denied.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=24 * 3_600).contains(&after_s), "{after_s}");
        assert!(denied.header("ratelimit").unwrap().contains(";r=0;"));
        let decision = denied.header("weir-decision").expect("what explains it");
        assert!(decision.ends_with(".limit.per_ip"), "{decision}");
        let stranger = self.client.get("/x").await.unwrap();
        assert_eq!(stranger.status, 401, "{}", stranger.text());
        assert_eq!(
            self.application.served(),
            4,
            "the application heard of neither"
        );
    }

    /// What becomes of requests while Weir is out of reach.
    async fn without_weir(&mut self) -> u16 {
        self.door.workerd.kill_hard();
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.paid("/x").await.status
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_asks_weir_answers_429_and_lets_requests_pass_while_weir_is_out_of_reach() {
    let mut site = Site::behind(Recipe::nginx).await;
    site.assert_asks_weir().await;
    assert_eq!(site.without_weir().await, 200, "{}", site.proxy.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_asks_weir_and_passes_nothing_while_weir_is_out_of_reach() {
    let mut site = Site::behind(Recipe::caddy).await;
    site.assert_asks_weir().await;
    assert_eq!(site.without_weir().await, 502, "{}", site.proxy.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_asks_weir_and_passes_nothing_while_weir_is_out_of_reach() {
    let mut site = Site::behind(Recipe::envoy).await;
    site.assert_asks_weir().await;
    assert_eq!(site.without_weir().await, 503, "{}", site.proxy.log());
}
