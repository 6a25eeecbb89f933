//! What listens to a WebSocket, and how one is closed.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use worker::WebSocket;
use worker::js_sys::{Function, Reflect};

use crate::http::failure::Failure;

/// An event's name, and what is called on it.
type Listener = (&'static str, Closure<dyn FnMut(JsValue)>);

/// What listens to a socket, for as long as it is kept.
pub struct Listeners {
    socket: web_sys::WebSocket,
    listeners: Vec<Listener>,
}

impl Listeners {
    /// Nothing listens yet.
    #[must_use]
    pub fn of(socket: &web_sys::WebSocket) -> Self {
        Self {
            socket: socket.clone(),
            listeners: Vec::new(),
        }
    }

    /// Calls `hear` on each event of that name.
    ///
    /// # Errors
    /// In the platform's words.
    pub fn on(
        mut self,
        name: &'static str,
        hear: impl FnMut(JsValue) + 'static,
    ) -> Result<Self, Failure> {
        let hear = Closure::<dyn FnMut(JsValue)>::new(hear);
        let listener = hear.as_ref().unchecked_ref();
        self.socket
            .add_event_listener_with_callback(name, listener)
            .map_err(failure)?;
        self.listeners.push((name, hear));
        Ok(self)
    }
}

impl Drop for Listeners {
    /// Nothing is called that is no more.
    fn drop(&mut self) {
        for (name, listener) in &self.listeners {
            let listener = listener.as_ref().unchecked_ref();
            let _listened = self
                .socket
                .remove_event_listener_with_callback(name, listener);
        }
    }
}

/// How a socket is spoken over, whatever is said: text that is handed on is never copied out of the platform's memory.
///
/// # Errors
/// In the platform's words.
pub fn sender(socket: &web_sys::WebSocket) -> Result<Function, Failure> {
    Reflect::get(socket, &"send".into())
        .and_then(JsCast::dyn_into)
        .map_err(failure)
}

/// What an event carries by that name.
#[must_use]
pub fn field(event: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(event, &name.into()).ok()
}

/// Closes a socket, unless it is closed.
pub fn shut(socket: &web_sys::WebSocket, code: Option<u16>, why: &str) {
    let reason = code.map(|_| why);
    let _closed = WebSocket::from(socket.clone()).close(code, reason);
}

/// What the platform refused.
#[must_use]
pub fn failure(error: JsValue) -> Failure {
    Failure::Internal(format!("socket: {error:?}"))
}
