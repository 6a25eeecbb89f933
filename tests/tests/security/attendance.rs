//! A live socket lasts no longer than what let its holder in, and nobody takes the places of all.

use std::slice::from_ref;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use weir_shared::limits::{CALL_MS_MAX, LIVE_SOCKETS_A_HOLDER_MAX, SESSION_MS};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::client::{Client, Credential};
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::BUDGET;
use weir_tests::socket::Socket;
use weir_tests::watch::Watch;
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{ANSWERED, CHECK, change, employ, policy, posted, request, revoke};

const LIVE: &str = "/operator/v1/live";

/// What is promised.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// By when it has to be so on any machine.
const AT_LAST: Duration = Duration::from_secs(30);

/// For how long a socket that stays is watched.
const STAYS: Duration = Duration::from_millis(1_500);

/// An application's own code, after the status 401.
const NOT_LET_IN: u16 = 4401;

async fn open(client: &Client) -> anyhow::Result<Socket> {
    let own = client.origin().to_owned();
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    let (name, value) = match client.credential() {
        Credential::Bearer(token) => bearer(token),
        Credential::Session { cookie, .. } => ("cookie", cookie.clone()),
        Credential::None => ("accept", "*/*".to_owned()),
    };
    let mut socket = Socket::open(client, LIVE, &[(name, &value), ("origin", &own)]).await?;
    assert_eq!(socket.next().await?["channel"], "hello");
    Ok(socket)
}

/// The same, once it can be known who asks and the ledger answers.
async fn opened(client: &Client) -> Socket {
    let start = now();
    loop {
        match open(client).await {
            Ok(socket) => return socket,
            Err(error) => {
                let late = error.to_string().contains(" 503 ") && start.elapsed() < ANSWERED;
                assert!(late, "{error:#}");
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn deployment() -> (Workerd, Client) {
    let setup = Setup::isolates(&["weur", "apac"]).witnessed();
    let workerd = setup.start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// What comes in the time that is promised, but for what the machine stood still meanwhile, and for a call that was not
/// answered because of that.
async fn in_time<T>(what: &str, client: &Client, coming: impl Future<Output = T>) -> T {
    let (watch, begun) = (Watch::start(from_ref(client)), now());
    let came = tokio::time::timeout(AT_LAST, coming).await;
    let (end, stood) = (now(), watch.stop().await);
    let late_ms = match stood.excuses(begun, end) {
        true => CALL_MS_MAX,
        false => 0,
    };
    let most = ENDS_WITHIN + stood.during(begun, end) + Duration::from_millis(late_ms);
    let took = end - begun;
    assert!(took <= most, "{what}: after {took:?}, not {most:?}");
    came.expect(what)
}

async fn assert_ends(what: &str, client: &Client, socket: &mut Socket) {
    let closed = in_time(what, client, socket.closed(AT_LAST)).await;
    assert_eq!(closed, Some(NOT_LET_IN), "{what}");
}

async fn assert_stays(what: &str, socket: &mut Socket) {
    assert_eq!(socket.closed(STAYS).await, None, "{what}");
}

/// The sockets that one token opens: by itself, by a session, and in another region.
async fn of_token(workerd: &Workerd, holder: &Client, token: &str) -> [(&'static str, Socket); 3] {
    let (session, _) = holder.anonymous().log_in(token).await.unwrap();
    let elsewhere = workerd.client(1).unwrap().with_token(token);
    [
        ("bearer", opened(holder).await),
        ("session", opened(&session).await),
        ("elsewhere", opened(&elsewhere).await),
    ]
}

#[tokio::test]
async fn a_socket_ends_with_the_token_that_opened_it_and_no_other_does() {
    let (workerd, root) = deployment().await;
    let (viewer, made) = employ(&root, &request("ada", Role::Viewer)).await;
    let (other, _) = employ(&root, &request("bob", Role::Viewer)).await;
    let mut ending = of_token(&workerd, &viewer, &made.token).await;
    let mut staying = opened(&other).await;
    revoke(&root, &made.view.id).await;
    for (what, socket) in &mut ending {
        assert_ends(what, &root, socket).await;
    }
    assert_stays("of another token", &mut staying).await;
}

/// One region that lets its holder in no more ends the whole socket.
#[tokio::test]
async fn a_socket_of_all_regions_ends_with_the_token_that_opened_it() {
    let (_workerd, root) = deployment().await;
    let (viewer, made) = employ(&root, &request("ada", Role::Viewer)).await;
    let bearer = format!("Bearer {}", made.token);
    let path = format!("{LIVE}?lines=true");
    let opened = Socket::open(&viewer, &path, &[("authorization", &bearer)]).await;
    let mut socket = opened.unwrap();
    for (line, region) in [(1, "weur"), (2, "apac")] {
        let open = json!({ "do": "open", "line": line, "region": region }).to_string();
        socket.send(&open).await.unwrap();
        let is = |one: &serde_json::Value| one["channel"] == "hello" && one["line"] == line;
        socket.next_that(is).await.unwrap();
    }
    revoke(&root, &made.view.id).await;
    assert_ends("of all regions", &root, &mut socket).await;
}

#[tokio::test]
async fn a_socket_ends_with_its_session() {
    let (_workerd, root) = deployment().await;
    let (viewer, made) = employ(&root, &request("ada", Role::Viewer)).await;
    let (left, _) = root.anonymous().log_in(&made.token).await.unwrap();
    let (kept, _) = root.anonymous().log_in(&made.token).await.unwrap();
    let mut of_left = opened(&left).await;
    let mut of_kept = opened(&kept).await;
    let mut of_bearer = opened(&viewer).await;
    change(401, async || left.log_out().await.unwrap()).await;
    assert_ends("logged out", &root, &mut of_left).await;
    assert_stays("of another session", &mut of_kept).await;

    let revoke_all = async || {
        let asked = root.request(Method::POST, "/operator/v1/sessions/revoke");
        root.send(asked).await.unwrap()
    };
    change(204, revoke_all).await;
    assert_ends("all sessions ended", &root, &mut of_kept).await;
    assert_stays("of a bearer token", &mut of_bearer).await;
}

#[tokio::test]
async fn a_socket_tells_nothing_after_its_session_is_over() {
    let (workerd, root) = deployment().await;
    let (viewer, made) = employ(&root, &request("ada", Role::Viewer)).await;
    let (session, _) = root.anonymous().log_in(&made.token).await.unwrap();
    let mut of_session = opened(&session).await;
    let mut of_bearer = opened(&viewer).await;
    let witness = workerd.witness().unwrap();
    let over = Duration::from_millis(SESSION_MS + 1_000);
    witness.ahead(over).await.unwrap();
    let check = json!({ "tenant": "pro:late", "budget": BUDGET, "cost": 1 });
    assert_eq!(posted(&root, CHECK, &check).await.status, 200);
    assert_ends("over", &root, &mut of_session).await;
    let told = of_bearer.next_that(|message| !message["tenants"]["pro:late"].is_null());
    told.await.unwrap();
}

/// Nothing is told here and no token changes meanwhile: the clock alone ends it.
#[tokio::test]
async fn a_socket_ends_when_its_token_expires() {
    let (workerd, root) = deployment().await;
    // Eight times what one token takes here: all that comes before the end has to fit.
    let start = now();
    let (other, _) = employ(&root, &request("bob", Role::Viewer)).await;
    let end = epoch_ms() + 12_000.max(8 * start.elapsed().as_millis() as u64);
    let guest = TokenRequest {
        expires_at: Some(EpochMs(end)),
        ..request("guest", Role::Viewer)
    };
    let (viewer, made) = employ(&root, &guest).await;
    let mut ending = of_token(&workerd, &viewer, &made.token).await;
    let mut staying = opened(&other).await;
    tokio::time::sleep(Duration::from_millis(end.saturating_sub(epoch_ms()))).await;
    for (what, socket) in &mut ending {
        assert_ends(what, &root, socket).await;
    }
    assert_stays("of another token", &mut staying).await;
}

#[tokio::test]
async fn one_token_takes_no_more_than_its_own_places() {
    let (_workerd, root) = deployment().await;
    let (greedy, _) = employ(&root, &request("greedy", Role::Viewer)).await;
    let (other, _) = employ(&root, &request("other", Role::Viewer)).await;
    let mut held = Vec::new();
    for _ in 0..LIVE_SOCKETS_A_HOLDER_MAX {
        held.push(opened(&greedy).await);
    }
    let refused = open(&greedy).await.unwrap_err().to_string();
    assert!(refused.contains(" 503 "), "{refused}");
    opened(&other).await;
    held.pop();
    // Its place is free once the server has heard of its end.
    let again = async {
        while open(&greedy).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    in_time("a place that is left is free", &root, again).await;
}
