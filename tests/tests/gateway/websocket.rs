//! Requests that go on as a WebSocket, to a real server of them.

use std::net::TcpStream;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::Response;
use tungstenite::http::HeaderValue;
use tungstenite::protocol::CloseFrame;
use tungstenite::{Error, HandshakeError, Message, WebSocket, client};
use weir_tests::clock::now;
use weir_tests::fixtures::{KEY_OF_ACME, with};
use weir_tests::origin::Echo;
use weir_tests::origin::sockets::{End, Sockets};
use weir_tests::workerd::Setup;

use crate::gateway::{
    Gateway, LEASE_MS, LONG_LEASE_MS, SECRET, SETTLING, UNDONE, eventually, one_token, route,
};

/// How long a message is waited for.
const MESSAGE: Duration = Duration::from_secs(10);

/// A gateway before a server of sockets: tenants are known by keys, and one socket of a tenant may be open where `checks` name
/// the guard `sockets`.
async fn gateway(checks: Value, websocket_ms: u64) -> (Gateway, Sockets) {
    gateway_of(checks, websocket_ms, LONG_LEASE_MS).await
}

/// The same, where a slot lapses after so long.
async fn gateway_of(checks: Value, websocket_ms: u64, lease_ms: u64) -> (Gateway, Sockets) {
    let sockets = Sockets::start().unwrap();
    let url = sockets.url();
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", SECRET);
    let gateway = Gateway::of(setup, |document, _| {
        let mut route = route(&url, checks);
        route["tenant"] = json!({ "api_key": { "header": "authorization" } });
        route["errors"] = json!("openai");
        route["websocket_ms"] = json!(websocket_ms);
        let key = json!({ "secret": "PROVIDER_KEY", "prefix": "Bearer " });
        route["origin"]["headers"] = json!({ "authorization": key });
        let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
        let guards = json!({ "sockets": { "concurrency": 1, "lease_ms": lease_ms } });
        let document = with(document, "/guards", guards);
        with(document, "/routes", json!([route]))
    });
    (gateway.await, sockets)
}

/// The client's end of a socket.
struct Socket(WebSocket<TcpStream>);

/// Why there is none: a status and a body.
type Refused = (u16, Value);

impl Gateway {
    fn open(&self, path: &str, key: &str) -> Result<(Socket, Response), Refused> {
        let address = self.client.origin().trim_start_matches("http://");
        let mut request = format!("ws://{address}{path}")
            .into_client_request()
            .unwrap();
        let headers = request.headers_mut();
        let bearer = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        headers.insert("authorization", bearer);
        let protocols = HeaderValue::from_static("realtime, other");
        headers.insert("sec-websocket-protocol", protocols);
        block_in_place(|| {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(MESSAGE)).unwrap();
            match client(request, stream) {
                Ok((socket, response)) => Ok((Socket(socket), response)),
                Err(HandshakeError::Failure(Error::Http(refused))) => {
                    let body = refused.body().clone().unwrap_or_default();
                    let told = serde_json::from_slice(&body).unwrap_or_default();
                    Err((refused.status().as_u16(), told))
                }
                Err(error) => panic!("{error}"),
            }
        })
    }

    /// A socket, once it is decided.
    fn opened(&self, path: &str) -> Socket {
        let start = now();
        loop {
            match self.open(path, "key-of-acme") {
                Ok((socket, _)) => return socket,
                Err((503, _)) if start.elapsed() < SETTLING => {}
                Err(refused) => panic!("{refused:?}"),
            }
            block_in_place(|| std::thread::sleep(UNDONE));
        }
    }
}

impl Socket {
    fn say(&mut self, message: impl Into<Message>) {
        block_in_place(|| self.0.send(message.into())).unwrap();
    }

    fn receive(&mut self) -> Message {
        block_in_place(|| self.0.read()).unwrap()
    }

    /// How it ends: by a code and a reason.
    fn end(&mut self) -> End {
        block_in_place(|| {
            loop {
                match self.0.read() {
                    Ok(Message::Close(frame)) => {
                        while self.0.read().is_ok() {}
                        return Some(frame.map_or((1005, String::new()), |frame| {
                            (frame.code.into(), frame.reason.to_string())
                        }));
                    }
                    Ok(_) => {}
                    Err(Error::Io(error)) => panic!("it has not ended: {error}"),
                    Err(_) => return None,
                }
            }
        })
    }

    fn close(&mut self, code: u16, why: &str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: why.to_owned().into(),
        };
        block_in_place(|| {
            self.0.close(Some(frame)).unwrap();
            while self.0.read().is_ok() {}
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_pass_in_both_directions_and_each_side_knows_its_own_keys_alone() {
    let (gateway, sockets) = gateway(one_token(), 60_000).await;
    // Who decides is there.
    gateway.left("tokens", "pro:acme").await;
    let (mut socket, answer) = gateway
        .open("/v1/realtime?model=gpt-realtime", "key-of-acme")
        .unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "realtime");
    assert!(
        answer.headers()["ratelimit"]
            .to_str()
            .unwrap()
            .contains("r=999")
    );
    for number in 0..200 {
        socket.say(format!("message {number}"));
    }
    for number in 0..200 {
        assert_eq!(socket.receive(), Message::text(format!("message {number}")));
    }
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    socket.say(bytes.clone());
    assert_eq!(socket.receive(), Message::binary(bytes));
    let asked = sockets.asked();
    let [asked] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(asked.target, "/v1/realtime?model=gpt-realtime");
    assert_eq!(asked.headers["authorization"], format!("Bearer {SECRET}"));
    assert_eq!(asked.headers.get_all("sec-websocket-key").iter().count(), 1);
    let (told, got) = (format!("{asked:?}"), format!("{:?}", answer.headers()));
    assert!(
        !told.contains("key-of-acme") && !got.contains(SECRET),
        "{told} {got}"
    );
    socket.close(4321, "done");
    eventually("the origin hears of the close", async || {
        !sockets.ends().is_empty()
    })
    .await;
    assert_eq!(sockets.ends(), [Some((4321, "done".to_owned()))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_hears_of_the_other_s_end_however_that_came() {
    let (gateway, sockets) = gateway(one_token(), 60_000).await;
    let mut socket = gateway.opened("/talk");
    socket.say("close 4001 enough of that");
    assert_eq!(socket.end(), Some((4001, "enough of that".to_owned())));
    let mut socket = gateway.opened("/talk");
    socket.say("drop");
    let end = socket.end();
    assert_eq!(
        end.map(|(code, _)| code),
        Some(1011),
        "the origin broke off"
    );
    let mut socket = gateway.opened("/talk");
    socket.say("here");
    socket.receive();
    // The client is gone without a word.
    drop(socket);
    eventually("the origin hears of it", async || sockets.open() == 0).await;
    let ends = sockets.ends();
    assert_eq!(
        ends.last().unwrap().as_ref().map(|(code, _)| *code),
        Some(1001),
        "{ends:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_holds_its_slot_until_it_is_closed_and_who_gets_none_is_refused_before() {
    let guarded = json!([{ "guard": "sockets" }]);
    let (gateway, sockets) = gateway_of(guarded, 60_000, LEASE_MS).await;
    let mut socket = gateway.opened("/talk");
    // The client reads a refusal's body as far as it has come with the head: it asks again until it has.
    let refused = |gateway: &Gateway, key: &str| {
        let mut tries = (0..50).map(|_| {
            let refused = gateway.open("/talk", key).map(|_| "a socket");
            refused.map_err(|(status, told)| (status, told["error"]["type"].clone()))
        });
        let told = |refused: &Result<_, (u16, Value)>| {
            !matches!(refused, Err((503, _) | (_, Value::Null)))
        };
        tries.find(told).expect("a refusal says why")
    };
    let full = Err((429, json!("rate_limit_error")));
    assert_eq!(refused(&gateway, "key-of-acme"), full);
    assert_eq!(
        refused(&gateway, "nobody's"),
        Err((401, json!("authentication_error")))
    );
    // Longer than two leases of a slot.
    tokio::time::sleep(Duration::from_millis(2 * LEASE_MS + 500)).await;
    assert_eq!(refused(&gateway, "key-of-acme"), full);
    socket.say("still here");
    assert_eq!(socket.receive(), Message::text("still here"));
    assert_eq!(sockets.asked().len(), 1, "a denied request reaches nobody");
    socket.close(1000, "");
    let start = now();
    let mut next = loop {
        match gateway.open("/talk", "key-of-acme") {
            Ok((socket, _)) => break socket,
            Err(_) => assert!(start.elapsed() < MESSAGE, "the slot is not free"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    // Neither does a client that breaks off keep it.
    next.say("drop");
    next.end();
    eventually("the slot is free", async || {
        gateway.open("/talk", "key-of-acme").is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_closed_on_both_sides_when_its_time_is_over() {
    let (gateway, sockets) = gateway(json!([{ "guard": "sockets" }]), 6_000).await;
    let start = now();
    let mut socket = gateway.opened("/talk");
    socket.say("here");
    assert_eq!(socket.receive(), Message::text("here"));
    let end = socket.end();
    let took = start.elapsed();
    assert_eq!(end.map(|(code, _)| code), Some(1001));
    assert!(
        took >= Duration::from_millis(5_900) && took < MESSAGE,
        "{took:?}"
    );
    eventually("the origin hears of it", async || sockets.open() == 0).await;
    assert_eq!(
        sockets.ends()[0].as_ref().map(|(code, _)| *code),
        Some(1001)
    );
    eventually("the slot is free", async || {
        gateway.open("/talk", "key-of-acme").is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_costs_what_its_answers_tell_and_one_that_tells_nothing_what_it_reserved() {
    let cost = json!({ "usage": { "format": "openai", "reserve": 200 } });
    let (gateway, sockets) = gateway(json!([{ "budget": "tokens", "cost": cost }]), 60_000).await;
    let mut socket = gateway.opened("/v1/realtime");
    assert_eq!(
        gateway.left("tokens", "pro:acme").await,
        800,
        "reserved before the socket is granted"
    );
    for words in [7, 20] {
        let ask = json!({ "type": "response.create", "words": words }).to_string();
        socket.say(ask);
        for _ in 0..=words {
            socket.receive();
        }
    }
    socket.close(1000, "");
    gateway.await_left("tokens", "pro:acme", 965).await;
    assert_eq!(sockets.tokens(), 35, "the origin's own count");
    // An answer that is broken off: ten words of eight bytes are twenty tokens.
    let mut socket = gateway.opened("/v1/realtime");
    socket.say(json!({ "type": "response.begin", "words": 10 }).to_string());
    for _ in 0..10 {
        socket.receive();
    }
    drop(socket);
    gateway.await_left("tokens", "pro:acme", 945).await;
    let mut socket = gateway.opened("/v1/realtime");
    socket.close(1000, "");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(gateway.left("tokens", "pro:acme").await, 745);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_grants_no_socket_is_heard_as_any_answer_and_the_next_one_is_asked() {
    let (first, second) = (Sockets::start().unwrap(), Sockets::start().unwrap());
    let (to, other) = (first.url(), second.url());
    let gateway = Gateway::with_policy(|document, _| {
        let mut lone = route(&to, one_token());
        (lone["name"], lone["path"]) = (json!("lone"), json!("/refuse/*"));
        let mut both = route(&format!("{to}/refuse/503"), one_token());
        both["fallback"] = json!([{ "url": other }]);
        for route in [&mut lone, &mut both] {
            route["tenant"] = json!({ "fixed": "pro:a" });
            route["websocket_ms"] = json!(60_000);
        }
        with(document, "/routes", json!([lone, both]))
    })
    .await;
    for status in [403, 503] {
        let refused = gateway.open(&format!("/refuse/{status}"), "-");
        assert_eq!(
            refused.map(|_| "a socket").map_err(|(status, _)| status),
            Err(status)
        );
    }
    let mut socket = gateway.opened("/talk");
    socket.say("here");
    assert_eq!(socket.receive(), Message::text("here"));
    assert_eq!((first.asked().len(), second.asked().len()), (3, 1));
    // Nobody at all.
    drop(second);
    let refused = gateway.open("/talk", "-").map(|_| "a socket");
    assert!(matches!(refused, Err((502 | 503, _))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_that_says_nothing_of_sockets_forwards_a_request_for_one_as_any_other() {
    let gateway = Gateway::with_policy(|document, origin| {
        let mut route = route(origin, one_token());
        route["tenant"] = json!({ "fixed": "pro:a" });
        with(document, "/routes", json!([route]))
    })
    .await;
    assert_eq!(
        gateway
            .open("/echo", "-")
            .map(|_| "a socket")
            .map_err(|(status, _)| status),
        Err(200)
    );
    let seen = gateway.origin.seen();
    assert!(!seen[0].headers.contains_key("upgrade"), "{seen:?}");
    let echo: Echo = gateway
        .send(gateway.client.request(Method::GET, "/echo"))
        .await
        .ok()
        .unwrap();
    assert_eq!(echo.method, "GET");
}
