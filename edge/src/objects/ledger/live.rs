//! The live sockets of a ledger. The platform keeps them open while the ledger sleeps; what each asked for stays with
//! it.

use std::cell::RefCell;

use weir_shared::access::table::AccessTable;
use weir_shared::invalid::read_json;
use weir_shared::limits::LIVE_HEALTH_MS;
use weir_shared::ordered::OrderedMap;
use weir_shared::report::feed::{Feed, brief};
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::Counters;
use weir_shared::wire::operator::live::{DecisionSample, LiveAsk, LiveEvent, LiveMessage};
use worker::{Date, Env, Request, Response, State, WebSocket, WebSocketPair, console_error};

use crate::objects::binding::LIVE_HEADER;
use crate::objects::server::Refused;

/// What is told, and to whom.
#[derive(Default)]
pub(super) struct Live {
    feed: RefCell<Feed>,
    healthy_at: RefCell<EpochMs>,
    /// The ledger's region, which it knows from those who ask for sockets.
    region: RefCell<Option<String>>,
    /// The tokens, where they were heard of since the ledger woke.
    pub(super) table: RefCell<Option<AccessTable>>,
}

impl Live {
    /// Whether a request asks for a socket.
    pub(super) fn is_asked(request: &Request) -> bool {
        request.headers().has(LIVE_HEADER).unwrap_or(false)
    }

    /// Accepts a socket and tells it what it missed.
    pub(super) fn open(
        &self,
        state: &State,
        env: &Env,
        request: &Request,
    ) -> worker::Result<Response> {
        match self.accepted(state, env, request) {
            Ok(client) => Response::from_websocket(client),
            Err(refused) => {
                console_error!("live: {}", refused.0);
                Ok(Response::empty()?.with_status(503))
            }
        }
    }

    fn accepted(&self, state: &State, env: &Env, request: &Request) -> Result<WebSocket, Refused> {
        let asked = request.headers().get(LIVE_HEADER)?.unwrap_or_default();
        let asked: LiveAsk = read_json(asked.as_bytes())?;
        self.dismiss(state, env);
        self.has_place(state, env, &asked)?;
        let pair = WebSocketPair::new()?;
        state.accept_web_socket(&pair.server);
        pair.server
            .serialize_attachment(serde_json::to_string(&asked)?)?;
        *self.region.try_borrow_mut()? = Some(asked.region.clone());
        self.greet(&pair.server, &asked)?;
        Ok(pair.client)
    }

    fn greet(&self, socket: &WebSocket, asked: &LiveAsk) -> Result<(), Refused> {
        let now = EpochMs(Date::now().as_millis());
        let feed = self.feed.try_borrow()?;
        let missed = asked.after.map(|after| feed.after(after));
        let whole = missed.clone().flatten();
        let greeting = LiveEvent::Hello {
            region: asked.region.clone(),
            channels: asked.channels.clone(),
            resumed: whole.is_some(),
        };
        // A greeting is to this socket alone: it takes no number of its own.
        let told = |event| LiveMessage {
            sequence: feed.last(),
            previous: feed.last(),
            at: now,
            event,
        };
        send(socket, &told(greeting))?;
        match (asked.after, whole) {
            (_, Some(missed)) => {
                for message in missed.iter().filter(|one| asked.wants(one)) {
                    send(socket, message)?;
                }
            }
            (Some(after), None) => send(socket, &told(LiveEvent::Gap { after }))?,
            (None, None) => {}
        }
        let health = LiveEvent::Health {
            regions: OrderedMap::from([(asked.region.clone(), *self.healthy_at.try_borrow()?)]),
        };
        let health = told(health);
        if asked.wants(&health) {
            send(socket, &health)?;
        }
        Ok(())
    }

    /// Tells what a frame brought. A socket that cannot be told is closed by the platform.
    pub(super) fn publish(&self, state: &State, counters: &Counters, samples: &[DecisionSample]) {
        let sockets = state.get_websockets();
        // Before the first socket nobody has anything to come back for.
        let Some(region) = self.region(&sockets) else {
            return;
        };
        let now = EpochMs(Date::now().as_millis());
        let mut events = Vec::new();
        if !counters.is_empty() {
            events.push(LiveEvent::Accounting {
                region: region.clone(),
                tenants: brief(counters),
            });
        }
        if !samples.is_empty() {
            events.push(LiveEvent::Decisions {
                region: region.clone(),
                samples: samples.to_vec(),
            });
        }
        if let Ok(mut healthy_at) = self.healthy_at.try_borrow_mut()
            && now.since(*healthy_at) >= LIVE_HEALTH_MS
        {
            *healthy_at = now;
            events.push(LiveEvent::Health {
                regions: OrderedMap::from([(region, now)]),
            });
        }
        let Ok(mut feed) = self.feed.try_borrow_mut() else {
            return;
        };
        let messages = events.into_iter().map(|event| feed.next(event, now));
        let messages: Vec<LiveMessage> = messages.collect();
        for socket in sockets {
            let Some(asked) = asked_of(&socket) else {
                continue;
            };
            for message in messages.iter().filter(|one| asked.wants(one)) {
                if let Err(refused) = send(&socket, message) {
                    console_error!("live: {}", refused.0);
                    break;
                }
            }
        }
    }

    fn region(&self, sockets: &[WebSocket]) -> Option<String> {
        let mut region = self.region.try_borrow_mut().ok()?;
        if region.is_none() {
            *region = sockets.iter().find_map(asked_of).map(|asked| asked.region);
        }
        region.clone()
    }

    /// The client said something: that it is there.
    pub(super) fn answer(socket: &WebSocket, bytes: usize) {
        let done = if bytes > weir_shared::limits::LIVE_MESSAGE_BYTES_MAX {
            socket.close(Some(1009), Some("too long"))
        } else {
            socket.send_with_str("{\"channel\":\"pong\"}")
        };
        if let Err(error) = done {
            console_error!("live: {error}");
        }
    }
}

pub(super) fn asked_of(socket: &WebSocket) -> Option<LiveAsk> {
    let text: String = socket.deserialize_attachment().ok()??;
    read_json(text.as_bytes()).ok()
}

fn send(socket: &WebSocket, message: &LiveMessage) -> Result<(), Refused> {
    Ok(socket.send_with_str(serde_json::to_string(message)?)?)
}
