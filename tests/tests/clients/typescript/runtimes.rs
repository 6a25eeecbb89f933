//! The runtimes that the client is for: the same calls in each, one script (`everywhere.mjs`), against the same Worker.

use std::process::Command;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use weir_tests::client::Client;
use weir_tests::fixtures::{gcra, with};
use weir_tests::origin::{Instead, Origin};
use weir_tests::workerd::{Setup, TOKEN, Workerd};
use weir_tests::{paths, ports};

use super::Package;
use crate::clients::{LONG_MS, Scripts, document, left, succeed};

/// What is left of the 1,000 units: four checks of 10, and a reservation of which 4 were used.
const LEFT: u64 = 956;

/// Weir, and what its clients meet on bad days: a route that denies from the second request on, one whose origin never
/// answers, and an address where nobody listens.
pub(super) struct Weir {
    workerd: Workerd,
    pub(super) client: Client,
    gone: String,
    // They serve for as long as they are kept.
    pub(super) origin: Origin,
    _silent: Origin,
}

impl Weir {
    pub(super) async fn start(setup: Setup) -> Self {
        let workerd = setup.local_network().start().await.unwrap();
        let (origin, silent) = (
            Origin::start().await.unwrap(),
            Origin::start().await.unwrap(),
        );
        silent.instead(Some(Instead::Silence));
        let once = with(gcra(1, LONG_MS, 1), "/per_tenant", json!(true));
        let document = with(document(), "/limits/once", once);
        let route = |name: &str, checks: Value, to: &Origin| {
            json!({
                "name": name, "path": format!("/{name}/*"), "tenant": { "fixed": name }, "checks": checks,
                "origin": { "url": to.url(), "timeout_ms": 5_000 },
            })
        };
        let routes = json!([
            route("busy", json!([{ "limit": "once" }]), &origin),
            route("silent", json!([]), &silent),
            route("page", json!([]), &origin),
        ]);
        workerd
            .apply(&with(document, "/routes", routes))
            .await
            .unwrap();
        let client = workerd.client(0).unwrap();
        let gone = format!("http://127.0.0.1:{}", ports::free().unwrap());
        Self {
            workerd,
            client,
            gone,
            origin,
            _silent: silent,
        }
    }

    /// The places that the script is told, as pairs.
    pub(super) fn places(&self) -> [(&'static str, String); 4] {
        let url = self.client.origin();
        [
            ("url", url.to_owned()),
            ("gone", self.gone.clone()),
            ("silent", format!("{url}/silent")),
            ("busy", format!("{url}/busy")),
        ]
    }

    /// The same for a Worker.
    fn query(&self) -> String {
        let pairs = self.places();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(key, place)| format!("{key}={place}"))
            .collect();
        pairs.join("&")
    }

    /// What a program prints that takes the places from its environment.
    async fn run(&self, mut program: Command) -> Value {
        program
            .env("BASE", self.client.origin())
            .env("TOKEN", TOKEN);
        for (name, place) in self.places() {
            program.env(name.to_uppercase(), place);
        }
        let told = spawn_blocking(move || succeed(&mut program)).await;
        serde_json::from_str(&told.unwrap()).expect("one JSON text")
    }

    /// Whether a runtime did all that was asked of it. A token of one tenant may not report.
    pub(super) async fn did_all_of_it(&self, told: &Value, may_report: bool) {
        assert_eq!(
            told["check"],
            json!({ "allowed": true, "reason": "admitted", "remaining": 990 })
        );
        assert_eq!(
            told["denied"],
            json!({ "allowed": false, "reason": "cap_reached", "later": true })
        );
        assert_eq!(told["batch"], json!([980, 970]));
        assert_eq!(told["requests"], json!(["/v1/check/batch"]));
        assert_eq!(told["listed"], json!(["admitted", 400]));
        assert_eq!(told["again"], 960);
        assert_eq!(
            (&told["reserved"], &told["threw"]),
            (&json!(true), &json!("run"))
        );
        assert_eq!(
            (&told["acquired"], &told["released"]),
            (&json!("concurrency"), &json!(false))
        );
        assert_eq!(told["place"]["accepted"], true);
        let reported = &told["reported"];
        match may_report {
            true => assert_eq!(reported["answered"], true),
            false => assert_eq!(reported["status"], 403, "{reported}"),
        }
        assert_eq!(told["wrong"], json!({ "status": 400, "field": "/cost" }));
        assert_eq!(told["aborted"]["name"], "AbortError");
        assert_eq!(told["left"], LEFT);
        out_of_reach(&told["gone"], 0, "Weir did not answer");
        assert_eq!(told["ran"], "ran");
        out_of_reach(&told["late"], 0, "Weir did not answer");
        assert_eq!(told["late"][0]["detail"], "The deadline passed.");
        assert_eq!(told["notWeir"], "The answer is not Weir's");
        let after_ms = out_of_reach(&told["busy"], 429, "");
        assert!(after_ms > 60_000, "as `Retry-After` says, not {after_ms}");
        assert_eq!(left(&self.client).await, LEFT);
    }
}

/// Open lets pass and closed denies, by this status and title (any when empty); after how long closed says to ask again.
pub(super) fn out_of_reach(told: &Value, status: u16, title: &str) -> u64 {
    let (open, closed) = (&told[0], &told[1]);
    for (one, allowed) in [(open, true), (closed, false)] {
        assert_eq!(
            (&one["allowed"], &one["reason"], &one["status"]),
            (&json!(allowed), &json!("unreachable"), &json!(status)),
            "{told}"
        );
        assert!(title.is_empty() || one["title"] == title, "{told}");
    }
    assert_eq!(open["retry_after_ms"], 0);
    let after_ms = closed["retry_after_ms"].as_u64().unwrap();
    assert!(after_ms >= 1_000, "{told}");
    after_ms
}

/// A script and the client in one file, as applications are built for Workers and browsers.
pub(super) fn bundle(script: &str, format: &str) -> String {
    let package = Package::built();
    let mut esbuild = Command::new(paths::esbuild().unwrap());
    esbuild.current_dir(package.folder()).args([
        &format!("test/e2e/{script}.mjs"),
        "--bundle",
        &format!("--format={format}"),
        "--log-level=error",
    ]);
    succeed(&mut esbuild)
}

#[tokio::test(flavor = "multi_thread")]
async fn node_does_all_of_it() {
    let weir = Weir::start(Setup::isolates(&["weur"])).await;
    let told = weir.run(Package::built().program("runtime")).await;
    assert_eq!(told["runtime"], "node");
    weir.did_all_of_it(&told, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bun_does_all_of_it() {
    let weir = Weir::start(Setup::isolates(&["weur"])).await;
    let package = Package::built();
    let mut bun = Command::new(paths::bun().unwrap());
    bun.current_dir(package.folder())
        .arg("test/e2e/runtime.mjs");
    let told = weir.run(bun).await;
    assert_eq!(told["runtime"], "bun");
    weir.did_all_of_it(&told, true).await;
}

/// The Worker asks by this way.
async fn worker(way: &str) {
    let weir = Weir::start(Setup::isolates(&["weur"]).probe(&bundle("worker", "esm"))).await;
    let worker = weir.workerd.probe().unwrap();
    let told = worker.get(&format!("/{way}?{}", weir.query())).await;
    weir.did_all_of_it(&told.unwrap().ok().unwrap(), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_does_all_of_it_over_its_service_binding() {
    worker("binding").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_does_all_of_it_over_the_network() {
    worker("network").await;
}
