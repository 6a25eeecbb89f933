//! One live socket for all regions. It ends here, in the isolate, and each of its lines goes on to a region's ledger over a
//! socket of its own: an open line costs no call of an object, and a ledger sleeps between two messages as it does without
//! lines.

use std::cell::RefCell;
use std::rc::Rc;

use futures_channel::oneshot;
use wasm_bindgen::{JsCast, JsValue};
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::report::lines::{Lines, Step};
use weir_shared::units::EpochMs;
use weir_shared::wire::operator::live::LiveAsk;
use weir_shared::wire::operator::live_lines::{LineNotice, beginning};
use worker::js_sys::{Function, JsString};
use worker::{Date, Response, WebSocket, WebSocketPair, console_error};

use crate::http::failure::Failure;
use crate::http::websocket::{Listeners, field, sender, shut};
use crate::isolate::any_policy;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, upgrade};

/// The code of a ledger that lets a holder in no more.
const NOT_LET_IN: u16 = 4401;

/// A socket with its lines.
struct Switch {
    handles: RequestHandles,
    /// What each line asks of its ledger, but for the region and where it goes on.
    ask: LiveAsk,
    /// The regions of the policy when the socket was opened.
    regions: Vec<String>,
    client: web_sys::WebSocket,
    send: Function,
    lines: RefCell<Lines>,
    sockets: RefCell<OrderedMap<u64, LineSocket>>,
    ended: RefCell<Option<oneshot::Sender<()>>>,
}

/// A line's socket to its ledger.
struct LineSocket {
    socket: web_sys::WebSocket,
    _listeners: Listeners,
}

/// Opens a socket whose lines ask as `ask` does, which names the nearest region.
///
/// # Errors
/// In the platform's words.
pub fn open(
    handles: &RequestHandles,
    ask: LiveAsk,
    regions: Vec<String>,
) -> Result<Response, Failure> {
    let pair = WebSocketPair::new()?;
    let client: &web_sys::WebSocket = pair.server.as_ref();
    let (ended, end) = oneshot::channel();
    let switch = Rc::new(Switch {
        handles: handles.share(),
        send: sender(client)?,
        client: client.clone(),
        ask,
        regions,
        lines: RefCell::default(),
        sockets: RefCell::default(),
        ended: RefCell::new(Some(ended)),
    });
    let hearing = Rc::clone(&switch);
    let closing = Rc::clone(&switch);
    let failing = Rc::clone(&switch);
    let listeners = Listeners::of(client)
        .on("message", move |event| {
            let said = field(&event, "data").and_then(|data| data.as_string());
            hearing.heard(&said.unwrap_or_default());
        })?
        .on("close", move |_| closing.end(None, ""))?
        .on("error", move |_| failing.end(None, ""))?;
    pair.server.accept()?;
    switch.tell(&LineNotice::Lines {
        region: switch.ask.region.clone(),
        regions: switch.regions.clone(),
    });
    handles.detach(async move {
        let _ended = end.await;
        drop(listeners);
    });
    Ok(Response::from_websocket(pair.client)?)
}

impl Switch {
    fn heard(self: &Rc<Self>, text: &str) {
        let known = any_policy();
        let regions = known
            .as_ref()
            .map_or(&self.regions, |policy| &policy.regions);
        let now = EpochMs(Date::now().as_millis());
        let steps = self.lines.borrow_mut().heard(text, regions, now);
        for step in steps {
            match step {
                Step::Open {
                    line,
                    region,
                    after,
                } => {
                    let ask = LiveAsk {
                        region,
                        after,
                        ..self.ask.clone()
                    };
                    let switch = Rc::clone(self);
                    self.handles.detach(async move {
                        if let Err(why) = switch.connect(line, &ask).await {
                            console_error!("live: {why}");
                            switch.over(line, None);
                        }
                    });
                }
                Step::Ask { line } => {
                    if let Some(to) = self.sockets.borrow().get(&line) {
                        // A socket that has gone says so by itself.
                        let _gone = to.socket.send_with_str("{}");
                    }
                }
                Step::Drop { line } => self.forget(line),
                Step::Tell(notice) => self.tell(&notice),
                Step::End { code, why } => self.end(Some(code), why),
            }
        }
    }

    /// Opens a line's socket.
    async fn connect(self: &Rc<Self>, line: u64, ask: &LiveAsk) -> Result<(), String> {
        let address = Address::ledger(&ask.region);
        let opened = upgrade(&self.handles.env, address, ask, OPERATOR_CALL_MS_MAX).await;
        let response = opened.map_err(|error| error.to_string())?;
        let socket = response.websocket().ok_or("no socket")?;
        let ledger: &web_sys::WebSocket = socket.as_ref();
        if !self.lines.borrow().has(line) {
            // Its client closed the line meanwhile. A socket is accepted before it can be closed.
            let _accepted = socket.accept();
            shut(ledger, Some(1000), "closed");
            return Ok(());
        }
        let listeners = self.listen(line, ledger);
        let listeners = listeners.map_err(|_| "no socket that can be listened to")?;
        self.sockets.borrow_mut().insert(
            line,
            LineSocket {
                socket: ledger.clone(),
                _listeners: listeners,
            },
        );
        WebSocket::from(ledger.clone())
            .accept()
            .map_err(|error| error.to_string())
    }

    fn listen(
        self: &Rc<Self>,
        line: u64,
        ledger: &web_sys::WebSocket,
    ) -> Result<Listeners, Failure> {
        let beginning = JsString::from(beginning(line));
        let (telling, closing, failing) = (Rc::clone(self), Rc::clone(self), Rc::clone(self));
        Listeners::of(ledger)
            .on("message", move |event| {
                if let Some(Ok(text)) = field(&event, "data").map(JsCast::dyn_into::<JsString>) {
                    let rest = text.slice(1, text.length());
                    telling.say(&beginning.concat(&rest));
                }
            })?
            .on("close", move |event| {
                let code = field(&event, "code").and_then(|code| code.as_f64());
                closing.over(line, code.map(|code| code as u16));
            })?
            .on("error", move |_| failing.over(line, None))
    }

    /// A line is closed by its ledger, or never opened. With a holder who is let in no more, all of it ends.
    fn over(&self, line: u64, code: Option<u16>) {
        let notice = self.lines.borrow_mut().closed(line);
        self.forget(line);
        if code == Some(NOT_LET_IN) {
            self.end(code, "not let in any more");
        } else if let Some(notice) = notice {
            self.tell(&notice);
        }
    }

    /// Closes a line's socket, if there is one.
    fn forget(&self, line: u64) {
        let forgotten = self.sockets.borrow_mut().remove(&line);
        self.leave(forgotten);
    }

    /// Closes everything. Without a code, the client is gone.
    fn end(&self, code: Option<u16>, why: &str) {
        shut(&self.client, code, why);
        let sockets = std::mem::take(&mut *self.sockets.borrow_mut());
        self.leave(sockets.into_values());
        *self.lines.borrow_mut() = Lines::default();
        if let Some(ended) = self.ended.borrow_mut().take() {
            let _nobody = ended.send(());
        }
    }

    /// Closes sockets. What listens to them goes later: it may be what calls this.
    fn leave(&self, sockets: impl IntoIterator<Item = LineSocket>) {
        let left: Vec<LineSocket> = sockets.into_iter().collect();
        for line in &left {
            shut(&line.socket, Some(1000), "closed");
        }
        if !left.is_empty() {
            self.handles.detach(async move { drop(left) });
        }
    }

    fn tell(&self, notice: &LineNotice) {
        match serde_json::to_string(notice) {
            Ok(text) => self.say(&JsString::from(text)),
            Err(error) => console_error!("live: {error}"),
        }
    }

    fn say(&self, text: &JsString) {
        // A client that has gone takes no more, and says so by itself.
        let _gone: Result<JsValue, JsValue> = self.send.call1(&self.client, text);
    }
}
