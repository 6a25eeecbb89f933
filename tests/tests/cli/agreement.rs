//! How far a policy agrees with a real limiter: nginx, by its own log, and the policy that is imported of its configuration.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::dice::Dice;
use weir_tests::nginx::Nginx;
use weir_tests::pages::block;

use crate::cli::Weir;

/// Two requests a second and ten more at once for each key; the log tells when each came and what became of it.
const LIMITS: &str = r#"
limit_req_zone $arg_key zone=one:1m rate=2r/s;
server {
  listen 127.0.0.1:PORT;
  root FOLDER;
  limit_req_status 429;
  location / { limit_req zone=one burst=10 nodelay; try_files /log =404; }
}
"#;

/// The page that says how nginx is told to log.
const PAGE: &str = "docs/src/guides/migration.md";

/// Keys that are asked for more than they have, each at its own tempo.
const KEYS: [&str; 16] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
];

/// How long they are asked for.
const PLAYED: Duration = Duration::from_secs(10);

/// Requests of each key with pauses up to 350 ms, none of which waits for an answer: some 5 a second of 2, and bursts.
async fn play(nginx: &Nginx) -> usize {
    let asking = KEYS.iter().enumerate().map(|(seed, key)| {
        let client = Client::new(nginx.url()).unwrap();
        tokio::spawn(async move {
            let mut dice = Dice(seed as u64 + 1);
            let (started, mut asked) = (now(), JoinSet::new());
            while started.elapsed() < PLAYED {
                let (client, path) = (client.clone(), format!("/?key={key}"));
                asked.spawn(async move { client.get(&path).await.unwrap().status });
                // Now and then a rest, after which a burst passes again.
                let rest_ms = if dice.below(60) == 0 {
                    2_000
                } else {
                    dice.below(350)
                };
                tokio::time::sleep(Duration::from_millis(rest_ms)).await;
            }
            let statuses = asked.join_all().await;
            let known = |status: &u16| [200, 429].contains(status);
            assert!(statuses.iter().all(known), "{statuses:?}");
            statuses.len()
        })
    });
    let mut sent = 0;
    for task in asking.collect::<Vec<_>>() {
        sent += task.await.unwrap();
    }
    sent
}

/// The policy of what `weir import` makes of the configuration.
fn imported(weir: &Weir) -> Value {
    std::fs::write(weir.file("nginx.conf"), LIMITS).unwrap();
    let made = weir.json(0, &["import", "nginx", "nginx.conf"]);
    let limits = made["fragment"]["limits"].clone();
    assert!(limits["one"].is_object(), "{made}");
    json!({ "regions": ["weur"], "limits": limits })
}

/// The log as the page shows it, by the key of the test and in its folder.
fn log_format() -> String {
    let mut shown = block(PAGE, "log_format verdicts ").text;
    for (of_the_page, own) in [("$remote_addr", "$arg_key"), ("/var/log/nginx", "FOLDER")] {
        assert!(shown.contains(of_the_page), "{shown}");
        shown = shown.replace(of_the_page, own);
    }
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn the_imported_policy_agrees_with_nginx_about_99_of_100_requests() {
    let nginx = Nginx::start(&format!("{}{LIMITS}", log_format())).expect("nginx starts");
    let sent = play(&nginx).await;
    let log = nginx.read("verdicts.log").unwrap();
    assert_eq!(log.lines().count(), sent, "{}", nginx.log());
    let weir = Weir::at("http://127.0.0.1:9");
    std::fs::write(weir.file("verdicts.log"), &log).unwrap();
    weir.write("policy.json", &imported(&weir));
    let words = [
        "agreement",
        "policy.json",
        "--log",
        "verdicts.log",
        "--limit",
        "one",
    ];
    let told = weir.ends(0, &[&words[..], &["--least-percent", "99"]].concat());
    println!("{told}");
    let value = weir.json(0, &words);
    assert_eq!(value["requests"], sent);
    let denied = log.lines().filter(|line| line.contains("REJECTED")).count();
    assert!(
        denied * 4 > sent && denied * 4 < 3 * sent,
        "{denied} of {sent} were denied: too one-sided to tell"
    );
    // What differs lies within what nginx and its log know of the time; a busy machine may stop it in between.
    let count = |reason: &str| value["reasons"][reason].as_u64().unwrap_or(0);
    assert!(count("unexplained") <= count("clock") + 2, "{told}");

    // The controls: other rules do not agree, and what is different about them is told.
    for (pointer, number, reason) in [
        ("/limits/one/burst", 10, "burst"),
        ("/limits/one/limit", 1, "unexplained"),
    ] {
        let other = weir_tests::fixtures::with(imported(&weir), pointer, json!(number));
        weir.write("policy.json", &other);
        let told = weir.json(2, &[&words[..], &["--least-percent", "99"]].concat());
        let reasons = told["reasons"].as_object().unwrap();
        let most = reasons.iter().max_by_key(|(_, count)| count.as_u64());
        assert_eq!(
            most.map(|(name, _)| name.as_str()),
            Some(reason),
            "{}",
            told["reasons"]
        );
    }
}
