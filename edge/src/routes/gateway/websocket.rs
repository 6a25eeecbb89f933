//! A request that goes on as a WebSocket: its messages are handed on in both directions until a side closes, or the time of
//! the route is over. What it owes is worked off then.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, join, select};
use wasm_bindgen::{JsCast, JsValue};
use weir_shared::gateway::cost::Settled;
use weir_shared::gateway::outcome::Ending;
use weir_shared::gateway::usage::session::Session;
use weir_shared::gateway::websocket::{OVER, Side, passed_on};
use weir_shared::limits::WEBSOCKET_CLOSING_MS;
use worker::js_sys::Reflect;
use worker::{Headers, Response, ResponseBuilder, WebSocket, WebSocketPair};

use super::exchange::{Exchange, Reply};
use super::reply::kept;
use super::ticket::Used;
use crate::http::failure::Failure;
use crate::http::websocket::{Listeners, failure, field, sender, shut};
use crate::objects::deadline::within;

/// What a side is told that has been open for too long.
const OVER_WHY: &str = "the socket has been open for as long as the route allows";

/// The origin's end of a socket, where it has granted one.
pub fn of(response: &web_sys::Response) -> Option<JsValue> {
    let socket = Reflect::get(response, &"webSocket".into()).ok()?;
    (!socket.is_null() && !socket.is_undefined()).then_some(socket)
}

impl Exchange {
    /// Hands the messages of a socket on until it is closed, for at most so many milliseconds.
    pub(super) async fn converse(
        &self,
        response: &web_sys::Response,
        origin: &JsValue,
        most_ms: u64,
        reply: Reply,
    ) {
        let ending = Ending::Answered(response.status());
        let usage = self.reading.as_ref().map(|reading| &reading.usage.format);
        let session = usage.map(|format| Rc::new(RefCell::new(Session::new(format))));
        let opened = self.opened(response, origin, session.clone());
        let (answer, conversation) = match opened {
            Ok(opened) => opened,
            Err(failure) => return self.give_up(failure.into(), ending, reply).await,
        };
        if reply.send(Ok(answer)).is_err() {
            conversation.close(OVER, "");
        }
        self.report(ending);
        let settling = self.settle_answered(response, ending);
        let talking = async {
            let ended = conversation.ended(most_ms);
            self.ticket.holding(&self.desk, ended).await;
            let settling = self.settle_spoken(session.as_deref());
            join(self.ticket.release(&self.desk), settling).await;
        };
        join(settling, talking).await;
    }

    /// The answer that grants the client its socket, and what follows.
    fn opened(
        &self,
        response: &web_sys::Response,
        origin: &JsValue,
        session: Option<Rc<RefCell<Session>>>,
    ) -> Result<(Response, Conversation), Failure> {
        let headers: Headers = kept(response)?;
        for (name, value) in self.told() {
            headers.set(name, &value)?;
        }
        let pair = WebSocketPair::new()?;
        let client: &web_sys::WebSocket = pair.server.as_ref();
        let conversation = Conversation::between(client, origin.unchecked_ref(), session)?;
        let granted = ResponseBuilder::new()
            .with_status(101)
            .with_headers(headers);
        Ok((granted.with_websocket(pair.client).empty(), conversation))
    }

    /// Settles by what the messages have told.
    async fn settle_spoken(&self, session: Option<&RefCell<Session>>) {
        let actual = |how: &Settled| match (how, session) {
            (Settled::Usage(asking), Some(session)) => {
                let spoken = asking.spoken(&session.borrow());
                spoken.map_or(Used::AsReserved, Used::Units)
            }
            (Settled::Usage(_), None) => Used::AsReserved,
            _ => Used::Unknown,
        };
        self.ticket.settle(&self.desk, actual).await;
    }
}

/// Two sockets that hand on to one another what they hear.
struct Conversation {
    sides: [web_sys::WebSocket; 2],
    closed: [oneshot::Receiver<()>; 2],
    _heard: [Listeners; 2],
}

impl Conversation {
    fn between(
        client: &web_sys::WebSocket,
        origin: &web_sys::WebSocket,
        session: Option<Rc<RefCell<Session>>>,
    ) -> Result<Self, Failure> {
        let (client_closed, client_heard) = listen(client, origin, Side::Client, None)?;
        let (origin_closed, origin_heard) = listen(origin, client, Side::Origin, session)?;
        for side in [client, origin] {
            // As bytes, not as a blob, whose bytes would have to be waited for.
            Reflect::set(side, &"binaryType".into(), &"arraybuffer".into()).map_err(failure)?;
            WebSocket::from(side.clone()).accept()?;
        }
        Ok(Self {
            sides: [client.clone(), origin.clone()],
            closed: [client_closed, origin_closed],
            _heard: [client_heard, origin_heard],
        })
    }

    /// Waits until a side closes, for so long at most, and a little for the other to follow.
    async fn ended(mut self, most_ms: u64) {
        let [client, origin] = &mut self.closed;
        let first = within(most_ms, select(client, origin)).await;
        if let Some(Either::Left((_, other)) | Either::Right((_, other))) = first {
            let _closed = within(WEBSOCKET_CLOSING_MS, other).await;
            return;
        }
        self.close(OVER, OVER_WHY);
        let [client, origin] = &mut self.closed;
        let _closed = within(WEBSOCKET_CLOSING_MS, join(client, origin)).await;
    }

    fn close(&self, code: u16, why: &str) {
        for side in &self.sides {
            shut(side, Some(code), why);
        }
    }
}

/// Hands on what one side says to the other, until it is closed: then both are.
fn listen(
    from: &web_sys::WebSocket,
    to: &web_sys::WebSocket,
    side: Side,
    session: Option<Rc<RefCell<Session>>>,
) -> Result<(oneshot::Receiver<()>, Listeners), Failure> {
    let send = sender(to)?;
    let other = to.clone();
    let message = move |event: JsValue| {
        let Some(data) = field(&event, "data") else {
            return;
        };
        if let (Some(session), Some(text)) = (&session, data.as_string()) {
            session.borrow_mut().receive(&text);
        }
        // A side that has gone takes no more, and says so by itself.
        let _gone = send.call1(&other, &data);
    };
    let (sender, closed) = oneshot::channel();
    let sender = Rc::new(Cell::new(Some(sender)));
    let ends = |told: bool| {
        let (from, to, sender) = (from.clone(), to.clone(), Rc::clone(&sender));
        move |event: JsValue| {
            let told = |name: &str| field(&event, name).filter(|_| told);
            let code = told("code").and_then(|code| code.as_f64());
            let why = told("reason").and_then(|why| why.as_string());
            // Without a word it has broken off (RFC 6455, section 7.1.5).
            let code = code.map_or(1006, |code| code as u16);
            let why = why.unwrap_or_default();
            for one in [&from, &to] {
                shut(one, passed_on(side, code), &why);
            }
            if let Some(sender) = sender.take() {
                let _nobody = sender.send(());
            }
        }
    };
    let heard = Listeners::of(from)
        .on("message", message)?
        .on("close", ends(true))?
        .on("error", ends(false))?;
    Ok((closed, heard))
}
