//! A load generator that costs little: bytes that are made once, raw HTTP/1.1 over kept connections, answers cut by
//! their length. A client with a connection pool takes more time for a request than the Worker takes to answer it.

mod answer;
mod closed;
mod paced;

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Result, ensure};
use memchr::memmem;
use serde_json::Value;

pub use self::answer::Answer;
pub use self::closed::{Closed, Round};
pub use self::paced::{Paced, Sample};

/// What is asked, of whom, and what must be answered.
#[derive(Debug, Clone)]
pub struct Ask {
    address: SocketAddr,
    bytes: Vec<u8>,
    wanted: Vec<Wanted>,
}

/// A text that the body of an answer must hold so often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The text.
    pub text: &'static str,
    /// How often.
    pub times: usize,
}

impl Ask {
    /// `GET path` on a port of this machine.
    #[must_use]
    pub fn get(port: u16, path: &str) -> Self {
        let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        Self::bytes(port, head.into_bytes())
    }

    /// `POST path` with a JSON body and a bearer token.
    #[must_use]
    pub fn post(port: u16, path: &str, token: &str, body: &Value) -> Self {
        let body = body.to_string();
        let mut text = format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
        let _infallible = write!(
            text,
            "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self::bytes(port, text.into_bytes())
    }

    fn bytes(port: u16, bytes: Vec<u8>) -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            bytes,
            wanted: Vec::new(),
        }
    }

    /// The same bytes, sent to another port.
    #[must_use]
    pub fn to(&self, port: u16) -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            wanted: Vec::new(),
            bytes: self.bytes.clone(),
        }
    }

    /// The same, where every answer must also hold `text` so often.
    #[must_use]
    pub fn wants(mut self, text: &'static str, times: usize) -> Self {
        self.wanted.push(Wanted { text, times });
        self
    }

    /// The same, where every answer must tell of so many admissions and of nothing else.
    #[must_use]
    pub fn admitted(self, times: usize) -> Self {
        self.wants("\"allowed\":true", times)
            .wants("\"allowed\":false", 0)
            .wants("\"reason\":\"admitted\"", times)
    }

    /// Whether an answer is a success.
    ///
    /// # Errors
    /// When it is none, with the beginning of the answer.
    fn check(&self, answer: &Answer<'_>) -> Result<()> {
        ensure!(answer.status == 200, "no success: {answer}");
        Ok(())
    }

    /// Whether an answer says what is wanted.
    fn says(&self, answer: &Answer<'_>) -> bool {
        let holds = |wanted: &Wanted| {
            let found = memmem::find_iter(answer.body, wanted.text.as_bytes());
            found.take(wanted.times + 1).count() == wanted.times
        };
        self.wanted.iter().all(holds)
    }
}
