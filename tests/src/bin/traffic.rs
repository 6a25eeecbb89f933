//! Demo traffic: a dozen tenants of three tiers in three regions, one of them a flood.
//!
//! `traffic --url http://127.0.0.1:8787 --token TOKEN [--seconds N]` sends about 250 checks a second to a local
//! deployment until it is interrupted, and says every few seconds what came of them: a check is admitted, denied or
//! failed once, however often it was sent again; one is not sent where as many as are allowed at a time are under way.

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lexopt::prelude::*;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use weir_shared::wire::check::{CheckRequest, DecisionBody};
use weir_tests::client::{Client, budget_check, limit_check};
use weir_tests::reply::Reply;
use weir_tests::workerd::REGIONS;

const HELP: &str = "usage: traffic --url URL --token TOKEN [--seconds N]\n\
    Sends demo traffic to a deployment on this machine until Ctrl-C, or for N seconds.";

/// Requests under way at a time.
const CONCURRENCY_MAX: usize = 64;

/// A request that the server did not take is sent again after this, doubled each time, so often: for six seconds in all.
const AGAIN_PAUSE: Duration = Duration::from_millis(100);
const AGAIN_MAX: u32 = 6;
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
/// The longest run, a day: `--seconds` above it is taken for a mistake.
const SECONDS_MAX: u64 = 86_400;

/// The budget and the limit of the policy that a deployment ships with.
const BUDGET: &str = "tokens";
const LIMIT: &str = "per_ip";

/// Who sends, and how many checks a second. The flood alone asks for more units than the whole budget has.
const TENANTS: [(&str, u32); 12] = [
    ("enterprise:acme", 12),
    ("enterprise:globex", 9),
    ("enterprise:initech", 6),
    ("pro:hooli", 8),
    ("pro:umbrella", 7),
    ("pro:wonka", 5),
    ("pro:stark", 4),
    ("free:duff", 3),
    ("free:tyrell", 3),
    ("free:cyberdyne", 2),
    ("free:monolith", 1),
    ("free:flood", 190),
];

struct Options {
    url: String,
    token: String,
    run_time: Option<Duration>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match Options::parse(lexopt::Parser::from_env()) {
        Ok(Some(options)) => run(options).await,
        Ok(None) => {
            println!("{HELP}");
            Ok(())
        }
        Err(error) => Err(error),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<()> {
    let client = Client::new(options.url.trim_end_matches('/'))?.with_token(&options.token);
    expect_decision(&client).await?;
    let tally = Arc::new(Tally::default());
    let mut tasks = JoinSet::new();
    let permits = Arc::new(Semaphore::new(CONCURRENCY_MAX));
    for (index, (tenant, per_second)) in TENANTS.into_iter().enumerate() {
        let source = Source {
            index,
            tenant,
            clients: REGIONS.map(|region| client.in_region(region)),
            permits: permits.clone(),
            tally: tally.clone(),
        };
        tasks.spawn(source.run(per_second));
    }
    tasks.spawn(report(tally.clone()));
    tokio::select! {
        () = sleep(options.run_time.unwrap_or(Duration::MAX)) => {}
        interrupted = tokio::signal::ctrl_c() => interrupted.context("wait for Ctrl-C")?,
    }
    println!("{}", tally.line());
    Ok(())
}

impl Options {
    /// None when help is asked for.
    fn parse(mut arguments: lexopt::Parser) -> Result<Option<Self>> {
        let (mut url, mut token, mut run_time) = (None, None, None);
        while let Some(argument) = arguments.next()? {
            match argument {
                Long("url") => url = Some(arguments.value()?.string()?),
                Long("token") => token = Some(arguments.value()?.string()?),
                Long("seconds") => {
                    let seconds: u64 = arguments.value()?.parse()?;
                    ensure!(
                        (1..=SECONDS_MAX).contains(&seconds),
                        "--seconds {seconds} is not in 1..={SECONDS_MAX}"
                    );
                    run_time = Some(Duration::from_secs(seconds));
                }
                Long("help") | Short('h') => return Ok(None),
                other => return Err(other.unexpected()).context(HELP),
            }
        }
        let url = url.context(HELP)?;
        ensure_loopback(&url)?;
        Ok(Some(Self {
            url,
            token: token.context(HELP)?,
            run_time,
        }))
    }
}

/// A flood is for one's own machine only.
fn ensure_loopback(url: &str) -> Result<()> {
    let parsed = reqwest::Url::parse(url).with_context(|| format!("--url {url}"))?;
    let host = parsed.host_str().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    ensure!(
        parsed.scheme() == "http" && is_local,
        "--url {url} is not an http address of this machine"
    );
    Ok(())
}

/// One check ahead of the traffic: a wrong token or address is said once, not 250 times a second.
async fn expect_decision(client: &Client) -> Result<()> {
    let reply = client
        .in_region(REGIONS[0])
        .post("/v1/check", &budget_check(TENANTS[0].0, BUDGET, 0))
        .await?;
    if reply.status != 200 {
        bail!(
            "{} answers a check with status {}: {}",
            client.origin(),
            reply.status,
            reply.text()
        );
    }
    Ok(())
}

struct Source {
    index: usize,
    tenant: &'static str,
    clients: [Client; REGIONS.len()],
    permits: Arc<Semaphore>,
    tally: Arc<Tally>,
}

impl Source {
    async fn run(self, per_second: u32) {
        let mut ticks = interval(Duration::from_secs(1) / per_second);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut requests = JoinSet::new();
        for step in 0.. {
            ticks.tick().await;
            while requests.try_join_next().is_some() {}
            // A slow deployment gets fewer requests, never a queue of them.
            let Ok(permit) = self.permits.clone().try_acquire_owned() else {
                self.tally.skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let client = self.clients[(self.index + step) % REGIONS.len()].clone();
            let (request, tally) = (self.request(step), self.tally.clone());
            requests.spawn(async move {
                tally.count(ask(&client, &request, &tally).await);
                drop(permit);
            });
        }
    }

    /// Every fourth check is of the limit, by one of fifty addresses of which one is busy.
    fn request(&self, step: usize) -> CheckRequest {
        if step % 4 == 3 {
            let host = if step % 8 == 3 {
                9
            } else {
                10 + (self.index * 31 + step * 7) % 50
            };
            return CheckRequest {
                tenant: Some(self.tenant.to_owned()),
                ..limit_check(LIMIT, &format!("203.0.113.{host}"), 1)
            };
        }
        let cost = 1 + (self.index * 13 + step * 7) % 9;
        budget_check(self.tenant, BUDGET, cost as u64)
    }
}

/// Whether a check is admitted. It is sent again while the server does not take it.
async fn ask(client: &Client, request: &CheckRequest, tally: &Tally) -> Result<bool> {
    let mut pause = AGAIN_PAUSE;
    for _ in 0..AGAIN_MAX {
        let answer = client.post("/v1/check", request).await;
        if !not_taken(&answer) {
            return allowed(answer);
        }
        tally.again.fetch_add(1, Ordering::Relaxed);
        sleep(pause).await;
        pause *= 2;
    }
    allowed(client.post("/v1/check", request).await)
}

/// Whether the server did not take the request. Wrangler's proxy then says that the Worker was restarted and asks for the
/// request again: where it was, and wherever the proxy's connection to it was lost, as workerd closes one on which
/// nothing was for five seconds also in the moment in which it is used again. A port on which nobody listens refuses
/// the connection.
fn not_taken(answer: &Result<Reply>) -> bool {
    match answer {
        Ok(reply) => reply.status == 503 && reply.header("retry-after") == Some("0"),
        Err(error) => {
            let error = error.downcast_ref::<reqwest::Error>();
            error.is_some_and(reqwest::Error::is_connect)
        }
    }
}

fn allowed(answer: Result<Reply>) -> Result<bool> {
    Ok(answer?.ok::<DecisionBody>()?.allowed)
}

#[derive(Default)]
struct Tally {
    admitted: AtomicU64,
    denied: AtomicU64,
    failed: AtomicU64,
    again: AtomicU64,
    skipped: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

impl Tally {
    fn count(&self, allowed: Result<bool>) {
        let counter = match allowed {
            Ok(true) => &self.admitted,
            Ok(false) => &self.denied,
            Err(error) => {
                let mut last = self
                    .last_failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *last = Some(format!("{error:#}"));
                &self.failed
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn line(&self) -> String {
        let [admitted, denied, failed, again, skipped] = [
            &self.admitted,
            &self.denied,
            &self.failed,
            &self.again,
            &self.skipped,
        ]
        .map(|counter| counter.load(Ordering::Relaxed));
        let last = self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let failure = last
            .map(|failure| format!("  ({failure})"))
            .unwrap_or_default();
        format!(
            "admitted {admitted}  denied {denied}  failed {failed}  sent again {again}  not sent {skipped}{failure}"
        )
    }
}

async fn report(tally: Arc<Tally>) {
    loop {
        sleep(REPORT_INTERVAL).await;
        println!("{}", tally.line());
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// What wrangler's proxy answers for a request that the Worker did not take.
    const RESTARTED: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\nconnection: close\r\n\
         content-length: 9\r\n\r\nrestarted";
    const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: 4\r\n\r\nbusy";

    fn decided() -> String {
        let body = r#"{"allowed":true,"limit":9,"remaining":8,"reset_at":1,"retry_after_ms":0,"binding":"tokens",
            "reason":"admitted","region":"enam","window":1,"policy_revision":1}"#;
        format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// What comes of a check that is answered so, once each time that it is sent; and how often it was sent again.
    async fn asked(answers: Vec<String>) -> (Result<bool>, u64) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"}") {
                    stream.read_buf(&mut request).await.unwrap();
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let client = Client::new(format!("http://{address}")).unwrap();
        let tally = Tally::default();
        let outcome = ask(&client, &budget_check("acme", BUDGET, 1), &tally).await;
        server.abort();
        (outcome, tally.again.into_inner())
    }

    #[tokio::test]
    async fn a_check_that_was_not_taken_is_sent_again_and_counted_once() {
        let answers = vec![RESTARTED.to_owned(), RESTARTED.to_owned(), decided()];
        let (outcome, again) = asked(answers).await;
        assert!(outcome.unwrap());
        assert_eq!(again, 2);
    }

    #[tokio::test]
    async fn what_the_server_itself_refuses_is_a_failure_at_once() {
        let (outcome, again) = asked(vec![BUSY.to_owned()]).await;
        assert!(outcome.unwrap_err().to_string().contains("503"));
        assert_eq!(again, 0);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_waited_for_and_then_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let client = Client::new(format!("http://{address}")).unwrap();
        let tally = Tally::default();
        let outcome = ask(&client, &budget_check("acme", BUDGET, 1), &tally).await;
        assert!(outcome.is_err());
        assert_eq!(tally.again.into_inner(), u64::from(AGAIN_MAX));
    }

    fn parse(arguments: &[&str]) -> Result<Option<Options>> {
        Options::parse(lexopt::Parser::from_args(arguments))
    }

    #[test]
    fn only_addresses_of_this_machine_are_accepted() {
        for url in [
            "http://127.0.0.1:8787",
            "http://localhost:8787/",
            "http://[::1]:1",
        ] {
            assert!(ensure_loopback(url).is_ok(), "{url}");
        }
        for url in [
            "http://example.com",
            "https://127.0.0.1",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1:8787",
            "127.0.0.1:80",
        ] {
            assert!(ensure_loopback(url).is_err(), "{url}");
        }
    }

    #[test]
    fn url_and_token_are_needed_and_seconds_are_bounded() {
        let url = "--url=http://127.0.0.1:1";
        assert_eq!(
            parse(&[url, "--token", "t", "--seconds", "5"])
                .unwrap()
                .unwrap()
                .run_time,
            Some(Duration::from_secs(5))
        );
        assert!(parse(&["--help"]).unwrap().is_none());
        for bad in [
            &[url][..],
            &["--token=t"],
            &[url, "--token=t", "--seconds=0"],
            &[url, "--token=t", "--seconds=86401"],
            &["x"],
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
