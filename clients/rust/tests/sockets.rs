//! What the client promises of answers that are not Weir's, or that never come: on real sockets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use weir_client::{
    CallOptions, Decision, Fail, Hooks, Item, Options, Outcome, Question, Reason, RequestEvent,
    ResponseEvent, Weir, WeirError,
};

/// Status, body, and header fields by path; a path that is not here is never answered.
type Answers = HashMap<&'static str, (u16, String, &'static str)>;

/// A request that came: its path and its lines, in small letters.
type Seen = Arc<Mutex<Vec<(String, Vec<String>)>>>;

struct Server {
    origin: String,
    seen: Seen,
}

impl Server {
    async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (answers, seen) = (Arc::new(answers), Seen::default());
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answers), Arc::clone(&noted)));
            }
        });
        Self { origin, seen }
    }

    async fn silent() -> Self {
        Self::start(Answers::new()).await
    }

    fn below(&self, path: &str, fail: Fail) -> Options {
        Options::new(format!("{}/{path}", self.origin), "secret", fail).timeout_ms(5_000)
    }

    fn client(&self, path: &str) -> Weir {
        Weir::new(self.below(path, Fail::Closed)).unwrap()
    }

    fn paths(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|(path, _)| path.clone()).collect()
    }
}

/// Answers one request after another, as long as it has answers.
async fn serve(stream: TcpStream, answers: Arc<Answers>, seen: Seen) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let path = lines[0].split(' ').nth(1)?.to_owned();
        let lines: Vec<_> = lines.iter().map(|line| line.to_lowercase()).collect();
        let length = lines
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length?.parse().ok()?];
        stream.read_exact(&mut body).await.ok()?;
        seen.lock().unwrap().push((path.clone(), lines));
        let Some((status, text, more)) = answers.get(path.as_str()) else {
            std::future::pending::<()>().await;
            return None;
        };
        let length = text.len();
        let told =
            format!("HTTP/1.1 {status} Told\r\ncontent-length: {length}\r\n{more}\r\n{text}");
        stream.write_all(told.as_bytes()).await.ok()?;
    }
}

fn question() -> Question {
    Item::budget("tokens").tenant("acme")
}

const DECISION: &str = r#"{"allowed":true,"reason":"admitted","limit":10,"remaining":9,"reset_at":5,"retry_after_ms":0,
    "binding":"tokens","region":"weur","window":1,"policy_revision":1}"#;

fn answers() -> Answers {
    let unauthorized =
        r#"{"type":"/problems/unauthorized","title":"T","status":401,"detail":"D"}"#.to_owned();
    let text = str::to_owned;
    HashMap::from([
        (
            "/page/v1/check",
            (200, text("<html>Log in to the network</html>"), ""),
        ),
        ("/other/v1/check", (200, text(r#"{"hello":"world"}"#), "")),
        ("/deep/v1/check", (200, "[".repeat(100_000), "")),
        ("/huge/v1/check", (200, " ".repeat(5_000_000), "")),
        ("/gateway/v1/check", (502, text("Bad gateway"), "")),
        (
            "/busy/v1/check",
            (429, text("Slow down"), "retry-after: 7\r\n"),
        ),
        (
            "/moved/v1/check",
            (307, text(""), "location: /elsewhere\r\n"),
        ),
        ("/lost/v1/check", (404, text("<html>Not here</html>"), "")),
        (
            "/few/v1/check/batch",
            (200, text(r#"{"decisions":[]}"#), ""),
        ),
        ("/wrong/v1/check/batch", (401, unauthorized, "")),
        (
            "/told/v1/check",
            (
                200,
                text(DECISION),
                "ratelimit: \"tokens\";r=9;t=5\r\nx-other: no\r\n",
            ),
        ),
    ])
}

#[tokio::test]
async fn an_answer_that_is_not_weir_s_is_no_decision() {
    let server = Server::start(answers()).await;
    for (path, status) in [
        ("page", 200),
        ("other", 200),
        ("deep", 200),
        ("huge", 0),
        ("gateway", 502),
        ("busy", 429),
    ] {
        let decision = server.client(path).check(question()).await.unwrap();
        let cause = decision.cause.unwrap();
        let told = (decision.allowed, decision.reason, cause.status);
        assert_eq!(
            told,
            (false, Reason::Unreachable, status),
            "{path}: {cause}"
        );
    }
}

#[tokio::test]
async fn a_denial_in_weir_s_place_says_when_to_come_back_and_a_long_pause_is_not_waited_for() {
    let server = Server::start(answers()).await;
    let start = Instant::now();
    let options = server.below("busy", Fail::Closed).retries(3);
    let decision = Weir::new(options).unwrap().check(question()).await.unwrap();
    assert_eq!(decision.retry_after_ms, Some(7_000));
    assert!(start.elapsed() < Duration::from_secs(4));
    assert_eq!(server.paths(), ["/busy/v1/check"]);
    let decision = server.client("gateway").check(question()).await.unwrap();
    assert_eq!(decision.retry_after_ms, Some(1_000));
}

#[tokio::test]
async fn the_token_goes_nowhere_else_and_a_wrong_address_is_an_error() {
    let server = Server::start(answers()).await;
    for (path, status) in [("moved", 307), ("lost", 404)] {
        let error = server.client(path).check(question()).await.unwrap_err();
        assert_eq!((error.status, error.kind.as_str()), (status, "about:blank"));
    }
    assert_eq!(server.paths(), ["/moved/v1/check", "/lost/v1/check"]);
}

#[tokio::test]
async fn a_batch_that_is_answered_in_part_is_not_answered_and_one_that_is_refused_is_refused_to_all()
 {
    let server = Server::start(answers()).await;
    let few = server.client("few").batch([question(), question()]).await;
    assert_eq!(few.len(), 2);
    for one in few {
        assert_eq!(one.unwrap().reason, Reason::Unreachable);
    }
    let options = server.below("wrong", Fail::Open).batch_ms(50);
    let weir = Weir::new(options).unwrap();
    let (one, other) = tokio::join!(weir.check(question()), weir.check(question()));
    assert_eq!(
        (one.unwrap_err().status, other.unwrap_err().status),
        (401, 401)
    );
    assert!(weir.batch([]).await.is_empty());
}

/// What hooks heard.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn told(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Hooks for Heard {
    fn request(&self, event: &mut RequestEvent) {
        assert!(!event.headers.contains_key("authorization"));
        event
            .headers
            .insert("traceparent", "00-1-2-01".parse().unwrap());
        event
            .headers
            .insert("authorization", "Bearer another".parse().unwrap());
        let key = event.headers.get("idempotency-key");
        let key = key.map_or("", |key| key.to_str().unwrap());
        let RequestEvent {
            path,
            attempt,
            body,
            ..
        } = event;
        assert!(!body.is_empty());
        self.0
            .lock()
            .unwrap()
            .push(format!("{attempt} {path} {key}"));
    }

    fn response(&self, event: &ResponseEvent<'_>) {
        let error = event.error.map_or(0, |error| error.status);
        assert!(event.duration > Duration::ZERO && event.request.attempt > 0);
        self.0
            .lock()
            .unwrap()
            .push(format!("{} {error}", event.status));
    }
}

#[tokio::test]
async fn hooks_see_each_request_without_the_token_and_may_add_fields() {
    let server = Server::start(answers()).await;
    let heard = Heard::default();
    let options = server
        .below("gateway", Fail::Open)
        .retries(1)
        .hooks(heard.clone());
    Weir::new(options).unwrap().check(question()).await.unwrap();
    let told = heard.told();
    let key = told[0].strip_prefix("1 /v1/check ").unwrap();
    assert!(
        key.len() == 32 && key.chars().all(|digit| digit.is_ascii_hexdigit()),
        "{key}"
    );
    assert_eq!(
        told[1..],
        [
            "502 502".to_owned(),
            format!("2 /v1/check {key}"),
            "502 502".to_owned()
        ]
    );
    for (_, lines) in server.seen.lock().unwrap().iter() {
        for line in [
            "traceparent: 00-1-2-01",
            "authorization: bearer secret",
            "content-type: application/json",
        ] {
            assert_eq!(
                lines.iter().filter(|one| *one == line).count(),
                1,
                "{line}: {lines:?}"
            );
        }
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.starts_with("authorization"))
                .count(),
            1
        );
    }
}

#[tokio::test]
async fn the_rate_limit_fields_of_an_answer_are_kept() {
    let server = Server::start(answers()).await;
    let decision: Decision = server.client("told").check(question()).await.unwrap();
    let fields = [("ratelimit".to_owned(), "\"tokens\";r=9;t=5".to_owned())];
    assert_eq!(
        (decision.remaining, decision.headers.as_slice()),
        (9, fields.as_slice())
    );
}

#[tokio::test]
async fn a_call_that_nobody_answers_is_decided_by_fail_when_its_time_is_over() {
    let server = Server::silent().await;
    let start = Instant::now();
    let open = Weir::new(server.below("", Fail::Open).timeout_ms(150)).unwrap();
    let decision = open.check(question()).await.unwrap();
    let took = start.elapsed();
    let cause = decision.cause.unwrap();
    assert_eq!((decision.allowed, decision.retry_after_ms), (true, Some(0)));
    assert_eq!(
        (cause.status, cause.detail.as_str()),
        (0, "The deadline passed.")
    );
    assert!(
        took >= Duration::from_millis(140) && took < Duration::from_secs(5),
        "{took:?}"
    );
    let closed = Weir::new(server.below("", Fail::Closed).timeout_ms(150)).unwrap();
    let decision = closed.check(question()).await.unwrap();
    assert_eq!(
        (decision.allowed, decision.retry_after_ms),
        (false, Some(1_000))
    );
}

#[tokio::test]
async fn a_try_that_hangs_leaves_time_for_the_next_with_the_same_key_and_a_batch_is_not_tried_again()
 {
    let server = Server::silent().await;
    let heard = Heard::default();
    let options = server
        .below("", Fail::Open)
        .timeout_ms(900)
        .retries(2)
        .hooks(heard.clone());
    let weir = Weir::new(options).unwrap();
    weir.check(question()).await.unwrap();
    let asked: Vec<_> = heard
        .told()
        .into_iter()
        .filter(|line| line.contains("/v1/"))
        .collect();
    let keys: Vec<_> = asked
        .iter()
        .map(|line| line.rsplit_once(' ').unwrap().1)
        .collect();
    assert_eq!((keys.len(), keys[0]), (3, keys[2]));
    heard.0.lock().unwrap().clear();
    let own = CallOptions {
        timeout_ms: Some(100),
        idempotency_key: Some("mine".to_owned()),
        retries: Some(0),
    };
    weir.with(own).unwrap().check(question()).await.unwrap();
    assert_eq!(heard.told()[0], "1 /v1/check mine");
    heard.0.lock().unwrap().clear();
    for one in weir.batch([question(), question()]).await {
        assert_eq!(one.unwrap().reason, Reason::Unreachable);
    }
    assert_eq!(heard.told(), ["1 /v1/check/batch ", "0 0"]);
}

#[tokio::test]
async fn what_is_not_said_for_ever_is_no_error_and_what_fail_opened_runs() {
    let server = Server::silent().await;
    let heard = Heard::default();
    let options = server
        .below("", Fail::Open)
        .timeout_ms(60)
        .hooks(heard.clone());
    let weir = Weir::new(options).unwrap();
    assert!(weir.place(Item::limit("shape")).await.unwrap().accepted);
    assert_eq!(weir.settle("r", 1).await, Ok(None));
    assert_eq!(weir.release("g", "s").await, Ok(None));
    let reported = weir.report("origin", "acme", weir_client::ReportedOutcome::Success);
    assert_eq!(reported.await, Ok(false));
    heard.0.lock().unwrap().clear();
    // Nothing was charged, so there is nothing to settle or to give back.
    let ran = weir.reserve(question(), |reservation| async move {
        reservation.used(3);
        Ok::<_, WeirError>("ran")
    });
    assert_eq!(ran.await.unwrap().value(), Some(Ok("ran")));
    let ran = weir.acquire("acme", "calls", |slot| async move { slot.allowed() });
    assert!(matches!(
        ran.await.unwrap(),
        Outcome::Allowed { value: true, .. }
    ));
    assert_eq!(heard.told(), ["1 /v1/check ", "0 0", "1 /v1/check ", "0 0"]);
}

#[tokio::test]
async fn a_future_that_is_dropped_ends_its_call() {
    let server = Server::silent().await;
    let weir = server.client("");
    let asked = timeout(Duration::from_millis(100), weir.check(question())).await;
    assert!(asked.is_err(), "it was dropped before its own deadline");
    assert_eq!(server.paths(), ["/v1/check"]);
}
