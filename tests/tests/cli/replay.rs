//! What a file would have admitted: of a trace, played by the command, and of what the deployment recorded.

use serde_json::{Value, json};
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::with;

use crate::cli::{SETTLING, Weir, deployment, document};

/// Sixteen requests for 50 of the 700 units of a budget, in a table.
fn trace() -> String {
    let line = |index: u64| format!("{},acme,budget,tokens,,50\n", 1_000 - index);
    let lines: String = (0..16).map(line).collect();
    format!("at,tenant,kind,name,key,cost\n{lines}")
}

#[test]
fn a_trace_is_played_beside_another_file_without_asking_anybody() {
    let weir = Weir::at("http://127.0.0.1:9");
    weir.write("now.json", &document());
    let wider = with(document(), "/budgets/tokens/limit", json!(750));
    weir.write("then.json", &wider);
    std::fs::write(weir.file("trace.csv"), trace()).unwrap();
    let words = [
        "replay",
        "then.json",
        "--trace",
        "trace.csv",
        "--present",
        "now.json",
    ];
    let told = weir.ends(0, &words);
    assert!(
        told.contains("16 requests from 1970-01-01T00:00:00.985Z to 1970-01-01T00:00:01Z, beside the other file."),
        "{told}"
    );
    assert!(
        told.contains("acme    budget tokens        800           700   750     +50  +7.1%\n"),
        "{told}"
    );
    let told = weir.json(0, &words);
    assert_eq!(told["rows"][0]["present"]["denied_calls"], 2);
    assert_eq!(
        (&told["entries"], &told["present_revision"]),
        (&json!(16), &Value::Null)
    );

    std::fs::write(weir.file("bad.csv"), "1,acme,budget,nope\n").unwrap();
    let error = weir.fails(&[
        "replay",
        "then.json",
        "--trace",
        "bad.csv",
        "--present",
        "now.json",
    ]);
    assert!(
        error.contains("bad.csv:1: /budget: \"nope\" is not a known budget"),
        "{error}"
    );
}

#[test]
fn an_access_log_is_played_with_a_limit_for_its_lines() {
    let weir = Weir::at("http://127.0.0.1:9");
    let limit = |limit: u64| {
        let rule =
            json!({ "limit": limit, "period_ms": 3_600_000, "burst": limit, "scope": "region" });
        with(document(), "/limits", json!({ "per_ip": rule }))
    };
    weir.write("now.json", &limit(5));
    weir.write("then.json", &limit(8));
    // Ten requests of one address, the last of which is written first, and one of another.
    let line = |address: &str, second: u64, status: u64| {
        format!(
            "{address} - - [31/Jan/2026:13:00:{second:02} +0100] \"GET /a?b=\\\"c HTTP/1.1\" {status} 3 \"-\" \"curl\"\n"
        )
    };
    let of_one = |second: u64| line("203.0.113.9", second, if second < 5 { 200 } else { 429 });
    let log: String = (0..10).rev().map(of_one).collect();
    std::fs::write(
        weir.file("access.log"),
        log + "\n" + &line("2001:db8::1", 3, 200),
    )
    .unwrap();
    let words = [
        "replay",
        "then.json",
        "--trace",
        "access.log",
        "--limit",
        "per_ip",
        "--present",
        "now.json",
    ];
    let told = weir.ends(0, &words);
    assert!(
        told.contains(
            "11 requests from 2026-01-31T12:00:00Z to 2026-01-31T12:00:09Z, beside the other file."
        ),
        "{told}"
    );
    let told = weir.json(0, &words);
    let calls = |side: &str| told["rows"][0][side]["admitted_calls"].as_u64();
    assert_eq!(
        (calls("present"), calls("candidate")),
        (Some(6), Some(9)),
        "{told}"
    );

    // Without a limit it is told what is missing, and a line that is cut off has its number.
    let error = weir.fails(&[
        "replay",
        "then.json",
        "--trace",
        "access.log",
        "--present",
        "now.json",
    ]);
    assert!(
        error.contains("access.log:1: this is a line of an access log: --limit"),
        "{error}"
    );
    let cut = line("203.0.113.9", 1, 200) + "203.0.113.9 - - [31/Jan/2026:13:0";
    std::fs::write(weir.file("access.log"), cut).unwrap();
    let error = weir.fails(&words);
    assert!(
        error.contains("access.log:2: a line is JSON, or ADDRESS"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn both_a_trace_and_what_was_recorded_are_played_beside_the_policy_in_force() {
    let deployed = deployment().await;
    let (weir, client) = (&deployed.weir, &deployed.client);
    let from = epoch_ms();
    let wider = with(document(), "/budgets/tokens/limit", json!(750));
    weir.write("then.json", &wider);
    std::fs::write(weir.file("trace.csv"), trace()).unwrap();
    let told = weir.json(0, &["replay", "then.json", "--trace", "trace.csv"]);
    assert_eq!(
        told["rows"][0]["candidate"]["admitted_units"], 750,
        "{told}"
    );
    assert!(told["present_revision"].is_u64(), "{told}");

    let check = json!({ "tenant": "acme", "meter": "bytes", "cost": 10 });
    for _ in 0..20 {
        client.post("/v1/check", &check).await.unwrap();
    }
    let more = with(document(), "/meters/bytes/per_sec", json!(1_000));
    weir.write("more.json", &more);
    let (from, to) = (from.to_string(), (epoch_ms() + 120_000).to_string());
    let start = weir_tests::clock::now();
    loop {
        let told = weir.json(0, &["replay", "more.json", "--from", &from, "--to", &to]);
        if told["rows"][0]["candidate"]["admitted_units"] == 200 {
            assert_eq!(told["rows"][0]["name"], "bytes", "{told}");
            break;
        }
        assert!(start.elapsed() < SETTLING, "{told}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let told = weir.ends(0, &["replay", "more.json", "--from", &from, "--to", &to]);
    assert!(told.contains("meter bytes"), "{told}");
}
