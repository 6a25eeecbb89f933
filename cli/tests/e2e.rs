//! The built command where it asks nobody. What it does at a deployment, the end-to-end tests of the workspace hold it to;
//! this program is named as theirs is, so that one build makes the command for both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Beside this test's own folder: it may have been built in another clone, of which a path in here would be.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap();
    built.join(format!("weir{}", std::env::consts::EXE_SUFFIX))
}

fn weir(words: &[&str]) -> Output {
    let mut weir = Command::new(program());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
        weir.env_remove(name);
    }
    let home = tempfile::tempdir().unwrap();
    weir.env("XDG_CONFIG_HOME", home.path());
    weir.args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn succeeds(words: &[&str]) -> String {
    let output = weir(words);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{words:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[track_caller]
fn fails_in_a_line(words: &[&str]) -> String {
    let output = weir(words);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{words:?}: {error}");
    assert!(output.stdout.is_empty(), "{words:?}");
    error
}

fn written(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn what_a_deployment_ships_is_valid_and_a_fault_is_named_by_its_pointer() {
    let shipped = Path::new("../policy.json");
    let shipped = shipped.display().to_string();
    assert!(succeeds(&["validate", &shipped]).contains("is valid: "));
    let told: Value = serde_json::from_str(&succeeds(&["validate", &shipped, "--json"])).unwrap();
    assert_eq!(told["valid"], true);

    let folder = tempfile::tempdir().unwrap();
    let document = json!({ "regions": ["weur"], "limits": { "per_ip": { "limit": 0, "period_ms": 1_000, "scope": "region" } } });
    let file = written(&folder, "policy.json", &document.to_string());
    let error = fails_in_a_line(&["validate", &file]);
    assert!(
        error.contains("/limits/per_ip/limit: 0 is outside 1 to "),
        "{error}"
    );
    let error = fails_in_a_line(&["--json", "validate", &file]);
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!(error["field"], "/limits/per_ip/limit");
}

#[test]
fn who_names_no_deployment_is_told_how_to() {
    let error = fails_in_a_line(&["export"]);
    assert!(
        error.contains("--url") && error.contains("WEIR_URL"),
        "{error}"
    );
    let error = fails_in_a_line(&["export", "--url", "https://weir.example"]);
    assert!(
        error.contains("--token") && error.contains("WEIR_TOKEN"),
        "{error}"
    );
    let error = fails_in_a_line(&["export", "--url", "weir.example", "--token", "t"]);
    assert!(error.contains("https://HOST"), "{error}");
}

#[test]
fn a_wrong_use_never_ends_as_a_difference_does() {
    for words in [
        &["plan"][..],
        &["nothing"],
        &["plan", "f", "--starve-percent", "500"],
        &[],
    ] {
        assert_eq!(weir(words).status.code(), Some(1), "{words:?}");
    }
    for words in [&["--help"][..], &["--version"], &["plan", "--help"]] {
        assert_eq!(weir(words).status.code(), Some(0), "{words:?}");
    }
}

#[test]
fn what_is_imported_stands_in_a_policy() {
    let folder = tempfile::tempdir().unwrap();
    let nginx = "limit_req_zone $binary_remote_addr zone=one:10m rate=5r/s;\n\
                 limit_req_status 429;\n\
                 location / { limit_req zone=one burst=9; }\n";
    let envoy = "domain: api\ndescriptors:\n  - key: remote_address\n    rate_limit: { unit: hour, requests_per_unit: 5 }\n";
    let kong = "plugins:\n  - name: rate-limiting\n    config: { second: 5, hour: 100, policy: redis, limit_by: ip }\n";
    let cloudflare = r#"{ "rules": [{ "ref": "login", "expression": "true", "action": "block", "ratelimit":
        { "characteristics": ["cf.colo.id", "ip.src"], "period": 60, "requests_per_period": 5 } }] }"#;
    for (format, text_in, names) in [
        ("nginx", nginx, &["one"][..]),
        ("ratelimit", envoy, &["api_remote_address"]),
        ("kong", kong, &["kong", "kong_hour", "kong_second"]),
        ("cloudflare", cloudflare, &["login"]),
    ] {
        let file = written(&folder, format, text_in);
        let output = weir(&["import", format, &file]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let fragment: Value = serde_json::from_slice(&output.stdout).unwrap();
        let limits = fragment["limits"].as_object().unwrap();
        assert_eq!(limits.keys().collect::<Vec<_>>(), names, "{format}");
        let policy = json!({ "regions": ["weur"], "limits": limits });
        let policy = written(&folder, "policy.json", &policy.to_string());
        succeeds(&["validate", &policy]);
        if format == "nginx" {
            let notes = text(&output.stderr);
            assert!(
                notes.contains(&format!("{file}:2: not mapped: limit_req_status 429: ")),
                "{notes}"
            );
        }
    }
    let broken = written(&folder, "nginx", "a;\nhttp {");
    let error = fails_in_a_line(&["import", "nginx", &broken]);
    assert!(error.contains(&format!("{broken}:2: ")), "{error}");
}

#[test]
fn a_shell_and_a_reader_learn_the_commands() {
    assert!(succeeds(&["completions", "bash"]).contains("_weir()"));
    assert!(succeeds(&["man"]).contains("\n.TH weir 1"));
    let folder = tempfile::tempdir().unwrap();
    succeeds(&["man", "--dir", &folder.path().display().to_string()]);
    let page = fs::read_to_string(folder.path().join("weir-plan.1")).unwrap();
    assert!(page.contains("starve"), "{page}");
}
