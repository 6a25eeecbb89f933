//! Bodies that are not as long as their requests say, and bodies of nobody.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

use crate::security::{ANSWERED, BATCH, CHECK, SESSION, SETTLE, policy};

const PREVIEW: &str = "/operator/v1/policy/preview";

/// A check that is decided, with blanks up to so many bytes.
fn check(bytes: usize) -> String {
    let check = json!({ "tenant": "pro:a", "budget": BUDGET, "cost": 7 }).to_string();
    format!("{check}{}", " ".repeat(bytes - check.len()))
}

async fn left(client: &Client) -> u64 {
    let checked = client.check_budget_once_there("pro:a", BUDGET, 0).await;
    checked.decision.remaining
}

async fn deployment() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

fn head(path: &str, token: &str, framing: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: weir\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\n{framing}\r\n\r\n"
    )
}

/// A request behind another one on a connection, and the last.
const BEHIND: &str = "GET /healthz HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n";

/// The statuses of all answers on a connection, once none of them is that it cannot be known.
async fn answered(client: &Client, request: &str) -> Vec<String> {
    let start = clock::now();
    loop {
        let statuses = statuses(client, request).await;
        if statuses.iter().all(|status| status != "503") || start.elapsed() > ANSWERED {
            return statuses;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The statuses of all answers on a connection, until it is closed.
async fn statuses(client: &Client, request: &str) -> Vec<String> {
    let address = client.origin().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // Who answers early may also stop reading early.
    let _rest_unread = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let read = tokio::time::timeout(Duration::from_secs(120), reading).await;
    let _closed = read.expect("the connection is closed");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let answers = answer.split("HTTP/1.1 ").skip(1);
    answers.map(|text| text.chars().take(3).collect()).collect()
}

/// RFC 9112, section 6.3. The runtime sees to it, and takes the length away.
#[tokio::test]
async fn of_two_lengths_the_coding_counts_and_nothing_is_read_behind_it() {
    let (_workerd, client) = deployment().await;
    // The control: what is behind a body of one length is answered.
    let one = head(CHECK, TOKEN, "Content-Length: 100");
    let both = answered(&client, &format!("{one}{}{BEHIND}", check(100))).await;
    assert_eq!(both, ["200", "200"]);
    for bytes in [100, 1_000, 1_000_000] {
        let body = check(bytes);
        let chunks = format!("{bytes:x}\r\n{body}\r\n0\r\n\r\n");
        for path in [CHECK, BATCH, SETTLE, SESSION, "/v1/reserve", "/elsewhere"] {
            let coded = "Transfer-Encoding: chunked";
            let request = format!("{}{chunks}{BEHIND}", head(path, TOKEN, coded));
            let due = answered(&client, &request).await;
            for length in [10, bytes] {
                let framing = format!("Content-Length: {length}\r\n{coded}");
                let request = format!("{}{chunks}{BEHIND}", head(path, TOKEN, &framing));
                let told = answered(&client, &request).await;
                assert_eq!(told, due[..1], "{path} {bytes} {length}");
            }
        }
    }
}

/// Another Worker sends what it likes over its binding, a false length too.
const LIAR: &str = r#"
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    const { text, bytes, said, coded } = await request.json();
    let left = bytes;
    const body = new ReadableStream({
      pull(controller) {
        if (left === 0) return controller.close();
        const chunk = left === bytes ? new TextEncoder().encode(text) : new Uint8Array(Math.min(left, 4096)).fill(32);
        left -= Math.min(left, chunk.byteLength);
        controller.enqueue(chunk);
      },
    });
    const answer = await env.WEIR.fetch(`https://weir${pathname}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${env.WEIR_TOKEN}`,
        "content-type": "application/json",
        "content-length": `${said}`,
        ...(coded && { "transfer-encoding": "chunked" }),
      },
      body,
    });
    return Response.json({ status: answer.status });
  },
};
"#;

/// The status that the other Worker is answered with, once it can be known.
async fn over_binding(probe: &Client, path: &str, told: &Value) -> u64 {
    let start = clock::now();
    loop {
        let asked = probe.request(Method::POST, path).json(told);
        let answer: Value = probe.send(asked).await.unwrap().ok().unwrap();
        let status = answer["status"].as_u64().unwrap();
        if status != 503 || start.elapsed() > ANSWERED {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_body_over_a_binding_is_not_believed_to_be_as_long_as_is_said() {
    let setup = Setup::isolates(&["weur"]).probe(LIAR);
    let workerd = setup.start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let (client, probe) = (workerd.client(0).unwrap(), workerd.probe().unwrap());
    let text = json!({ "tenant": "pro:a", "budget": BUDGET, "cost": 7 }).to_string();
    // From the third time on it is decided by number: what is believed then was said by another request.
    for _ in 0..4 {
        let told = json!({ "text": text, "bytes": text.len(), "said": text.len() });
        assert_eq!(over_binding(&probe, CHECK, &told).await, 200);
    }
    let before = left(&client).await;
    for path in [CHECK, "/v1/reserve", SETTLE, SESSION] {
        for (said, bytes) in [
            (10, text.len()),
            (text.len(), 100_000),
            (text.len(), 5_000_000),
            (CHECK_BODY_BYTES_MAX, 5_000_000),
        ] {
            let told = json!({ "text": text, "bytes": bytes, "said": said });
            let status = over_binding(&probe, path, &told).await;
            assert!(
                [400, 413].contains(&status),
                "{path} {said} {bytes}: {status}"
            );
        }
    }
    assert_eq!(left(&client).await, before, "nothing was decided");
}

#[tokio::test]
async fn a_body_over_a_binding_whose_length_is_said_in_two_ways_is_refused() {
    let setup = Setup::isolates(&["weur"]).probe(LIAR);
    let workerd = setup.start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let (client, probe) = (workerd.client(0).unwrap(), workerd.probe().unwrap());
    let before = left(&client).await;
    for bytes in [100, 1_000, 1_000_000] {
        for path in [CHECK, BATCH, SETTLE, SESSION, "/v1/reserve", "/elsewhere"] {
            for said in [10, bytes] {
                let text = check(bytes.min(1_000));
                let told = json!({ "text": text, "bytes": bytes, "said": said, "coded": true });
                let status = over_binding(&probe, path, &told).await;
                assert_eq!(status, 400, "{path} {bytes} {said}");
            }
        }
    }
    assert_eq!(left(&client).await, before, "nothing was decided");
}

/// How many send at once, and how much each has to send.
type Flood = (usize, usize);

const MIB: usize = 1024 * 1024;

/// Sends a body for as long as somebody reads it; what was answered, if anything.
async fn send(address: &str, head: &str, bytes: usize) -> String {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let head = head.to_owned();
    let sending = tokio::spawn(async move {
        let chunk = vec![b' '; 64 * 1024];
        let framed = [
            format!("{:x}\r\n", chunk.len()).as_bytes(),
            &chunk[..],
            b"\r\n",
        ]
        .concat();
        let mut sent = 0;
        let mut alive = writer.write_all(head.as_bytes()).await.is_ok();
        while alive && sent < bytes {
            alive = writer.write_all(&framed).await.is_ok();
            sent += chunk.len();
        }
        if alive {
            let _gone = writer.write_all(b"0\r\n\r\n").await;
        }
    });
    let mut answer = vec![0; 1_024];
    let reading = tokio::time::timeout(Duration::from_secs(120), reader.read(&mut answer));
    let read = reading.await.ok().and_then(Result::ok).unwrap_or(0);
    sending.abort();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

/// The most memory that workerd has while so many send so much at once, in KiB.
async fn peak_kib(workerd: &Workerd, head: &str, (senders, bytes): Flood) -> (u64, Vec<String>) {
    let address = format!("127.0.0.1:{}", workerd.port(0).unwrap());
    let senders = (0..senders).map(|_| {
        let (address, head) = (address.clone(), head.to_owned());
        tokio::spawn(async move { send(&address, &head, bytes).await })
    });
    let senders: Vec<_> = senders.collect();
    let mut peak = 0;
    let start = clock::now();
    while senders.iter().any(|sender| !sender.is_finished()) {
        peak = peak.max(workerd.resident_kib().unwrap());
        assert!(start.elapsed() < Duration::from_secs(180), "no end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut answers = Vec::new();
    for sender in senders {
        answers.push(sender.await.unwrap());
    }
    (peak, answers)
}

/// What the same requests may cost in memory with endless bodies, beyond what they cost with small ones: 32 MiB, where
/// the bodies together are 512 and more.
const BEYOND_KIB: u64 = 32 * 1024;

async fn assert_bounded((senders, bytes): Flood) {
    let garbage = "x".repeat(TOKEN.len());
    let both = "Content-Length: 10\r\nTransfer-Encoding: chunked";
    let chunked = "Transfer-Encoding: chunked";
    for (path, token, framing, due) in [
        (CHECK, garbage.as_str(), both, "401"),
        (CHECK, garbage.as_str(), chunked, "401"),
        (CHECK, TOKEN, both, "413"),
        (CHECK, TOKEN, chunked, "413"),
        // The one body that is read before its sender is known.
        (SESSION, garbage.as_str(), chunked, "413"),
        (PREVIEW, garbage.as_str(), chunked, "401"),
        (PREVIEW, TOKEN, chunked, "413"),
        // A path of nobody's, and one of the console's, which take no body.
        ("/elsewhere", garbage.as_str(), chunked, "404"),
        ("/console/", garbage.as_str(), chunked, "404"),
    ] {
        let (workerd, _client) = deployment().await;
        let head = head(path, token, framing);
        let (control_kib, _) = peak_kib(&workerd, &head, (senders, 1_024)).await;
        let (peak, answers) = peak_kib(&workerd, &head, (senders, bytes)).await;
        let told = format!(
            "{path}, {framing:?}, {senders} x {} MiB: {peak} KiB, with small bodies {control_kib} KiB, {due}",
            bytes / MIB
        );
        println!("{told}");
        for answer in answers {
            let status = format!("HTTP/1.1 {due}");
            assert!(answer.starts_with(&status), "{told}: {answer}");
        }
        assert!(peak < control_kib + BEYOND_KIB, "{told}");
    }
}

/// Eight bodies of 64 MiB at once. The long run: `WEIR_BODIES=20x256` sends twenty of 256 MiB, some 20 GiB in all.
#[tokio::test(flavor = "multi_thread")]
async fn no_body_of_nobody_is_collected_whatever_length_it_says() {
    let asked = std::env::var("WEIR_BODIES").ok();
    let (senders, mib) = asked.as_deref().map_or((8, 64), |asked| {
        let (senders, mib) = asked.split_once('x').expect("SENDERSxMIB");
        (senders.parse().expect("senders"), mib.parse().expect("MiB"))
    });
    assert_bounded((senders, mib * MIB)).await;
}
