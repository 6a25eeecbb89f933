//! The commands that a reader with a deployment types, as they stand: in one shell a block, page by page, in one folder.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::fixtures::{KEY_OF_ACME, policy, with};
use weir_tests::pages::block;
use weir_tests::paths::{cli, workspace};
use weir_tests::workerd::{Setup, TOKEN};

use super::table::{Kept, TABLE};

/// Thirty days: no window ends while a test runs.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// Where the pages say that the deployment is.
const ADDRESSES: [&str; 4] = [
    "https://weir-operators.example.com",
    "https://weir-console.example.com",
    "https://weir.example.com",
    "http://127.0.0.1:8787",
];

/// The denial that the page of incidents asks about.
const DECISION: &str = "1764150000123.5a0a02d29c9c2c19.weur.over_share.budget.tokens";

/// What is built before, or needs an account (`wrangler.rs`).
const ELSEWHERE: [&str; 3] = ["cargo build ", "npx wrangler ", "wrangler "];

/// A configuration of nginx, and what it logged; a trace.
const NGINX: &str = "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;\nserver { location / { limit_req zone=one burst=20 nodelay; } }\n";
const VERDICTS: &str = "{\"at\":1769817600.125,\"took\":0.001,\"key\":\"203.0.113.9\",\"verdict\":\"PASSED\",\"status\":200}\n";
const ACCESS: &str =
    "203.0.113.9 - - [31/Jan/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 3 \"-\" \"curl/8.5.0\"\n";
const REQUESTS: &str = "at,tenant,kind,name,key,cost\n1769860800000,acme,budget,tokens,,300\n1769860801000,acme,budget,tokens,,300\n";

/// The rules for Prometheus, in a clone.
const RULES: &str = "dashboards/weir.rules.yml";

/// A policy with what the pages ask for.
fn document() -> Value {
    let route = json!({
        "name": "chat", "path": "/llm/*", "methods": ["POST"], "tenant": { "api_key": { "header": "authorization" } },
        "checks": [{ "budget": "tokens", "cost": 1 }], "origin": { "url": "http://127.0.0.1:9" },
    });
    let one = json!({ "algorithm": "gcra", "limit": 10, "period_ms": 1_000, "burst": 21, "scope": "region" });
    let document = with(policy(700, LONG_MS), "/routes", json!([route]));
    let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "acme" }));
    let document = with(document, "/tenants", json!({ "acme": {} }));
    with(document, "/limits/one", one)
}

/// The folder of a reader.
fn furnish(folder: &Path) {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let smaller = with(document(), "/budgets/tokens/limit", json!(500));
    write("policy.json", &document().to_string());
    write("before.json", &smaller.to_string());
    write("requests.csv", REQUESTS);
    write("nginx.conf", NGINX);
    write("verdicts.log", VERDICTS);
    write("access.log", ACCESS);
    let rules = std::fs::read_to_string(workspace().join(RULES)).unwrap();
    std::fs::create_dir(folder.join("dashboards")).unwrap();
    write(RULES, &rules);
}

/// The id of a denial of acme's.
async fn denied(client: &Client) -> String {
    let question = json!({ "tenant": "acme", "budget": "tokens", "cost": 800 });
    let told: Value = client
        .post("/v1/check", &question)
        .await
        .unwrap()
        .ok()
        .unwrap();
    told["decision"].as_str().expect("an id").to_owned()
}

/// `PATH` with the command `weir` before all else.
fn path() -> OsString {
    let command = cli().expect("the command is built");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders);
    let folder = command.parent().expect("a folder").to_owned();
    std::env::join_paths(std::iter::once(folder).chain(folders)).unwrap()
}

/// What a block prints; each of its commands has to end well.
fn run(commands: &[String], origin: &str, decision: &str, folder: &Path) -> Result<String, String> {
    let kept = commands
        .iter()
        .filter(|line| !ELSEWHERE.iter().any(|start| line.starts_with(start)));
    let mut script = kept.cloned().collect::<Vec<_>>().join("\n");
    for address in ADDRESSES {
        script = script.replace(address, origin);
    }
    script = script.replace(DECISION, decision);
    let mut shell = Command::new("sh");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
        shell.env_remove(name);
    }
    for name in ["TOKEN", "ADMIN", "SERVICE_TOKEN", "WEIR_TOKEN"] {
        shell.env(name, TOKEN);
    }
    for name in ["WEIR", "WEIR_URL"] {
        shell.env(name, origin);
    }
    // A login asks for the token.
    let asked = std::fs::File::open(folder.join("token")).unwrap();
    shell
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("PATH", path());
    shell.current_dir(folder).stdin(Stdio::from(asked));
    let output = shell.args(["-e", "-c", &script]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    match output.status.success() {
        true => Ok(out),
        false => Err(format!("{script}\n{out}\n{error}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_reader_with_a_deployment_types_does_what_the_page_says() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&document()).await.unwrap();
    let client = workerd.client(0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    furnish(folder.path());
    std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).unwrap();
    let decision = denied(&client).await;
    let (mut ran, mut faults) = (0, Vec::new());
    for (page, beginning, kept) in TABLE {
        let Kept::Here { says } = kept else {
            continue;
        };
        let commands = block(page, beginning).commands();
        match run(&commands, client.origin(), &decision, folder.path()) {
            Ok(said) if said.contains(says) => ran += 1,
            Ok(said) => faults.push(format!(
                "{page}: {commands:?} does not say {says:?}: {said}"
            )),
            Err(why) => faults.push(format!("{page}: {why}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(ran >= 9, "{ran} blocks ran");
    let imported = std::fs::read_to_string(folder.path().join("limits.json")).unwrap();
    let imported: Value = serde_json::from_str(&imported).unwrap();
    assert_eq!(imported["limits"]["one"]["limit"], 10, "{imported}");
    let interface = std::fs::read_to_string(folder.path().join("openapi.json")).unwrap();
    assert!(interface.starts_with('{'), "{interface}");
    let rules = std::fs::read_to_string(folder.path().join("weir.rules.yml")).unwrap();
    let published = "runbook_url: https://docs.example.com/weir/guides/runbooks.html#weirdown";
    assert!(rules.contains(published), "{rules}");
}
