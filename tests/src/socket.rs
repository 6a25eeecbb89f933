//! A WebSocket (RFC 6455) as far as the live channel needs one: text in short frames.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::Client;

/// How long a message is waited for.
const MESSAGE_DEADLINE: Duration = Duration::from_secs(30);

/// The first bytes of a whole frame: of text, and of one that closes.
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// An open socket.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Socket {
    /// Opens a socket; an error with the head of the answer unless the server switches.
    pub async fn open(client: &Client, path: &str, headers: &[(&str, &str)]) -> Result<Self> {
        let address = client.origin().trim_start_matches("http://");
        let mut request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        let mut stream = TcpStream::connect(address).await.context("connect")?;
        stream.write_all(request.as_bytes()).await.context("ask")?;
        let mut socket = Self {
            stream,
            read: Vec::new(),
        };
        let end = loop {
            let at = socket.read.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(at) = at {
                break at + 4;
            }
            socket.more().await?;
        };
        let head: Vec<u8> = socket.read.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        ensure!(head.starts_with("HTTP/1.1 101"), "{head}");
        Ok(socket)
    }

    async fn more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.read);
        let read = tokio::time::timeout(MESSAGE_DEADLINE, read).await;
        let read = read.context("nothing comes")?.context("read")?;
        ensure!(read > 0, "the socket ends");
        Ok(())
    }

    async fn take(&mut self, bytes: usize) -> Result<Vec<u8>> {
        while self.read.len() < bytes {
            self.more().await?;
        }
        Ok(self.read.drain(..bytes).collect())
    }

    /// The next message.
    pub async fn next(&mut self) -> Result<Value> {
        let (head, body) = self.frame().await?;
        match head {
            TEXT => serde_json::from_slice(&body).context("a message is JSON"),
            other => bail!("a frame that begins with {other:#x}: {body:?}"),
        }
    }

    /// The code with which the server closes the socket within that time (RFC 6455, section 7.4); `None` while it does not.
    pub async fn closed(&mut self, within: Duration) -> Option<u16> {
        let wait = async {
            loop {
                match self.frame().await {
                    Ok((CLOSE, body)) if body.len() >= 2 => {
                        return Some(u16::from_be_bytes([body[0], body[1]]));
                    }
                    Ok(_) => {}
                    Err(_) => return None,
                }
            }
        };
        tokio::time::timeout(within, wait).await.ok().flatten()
    }

    /// The next frame: its first byte, and its body.
    async fn frame(&mut self) -> Result<(u8, Vec<u8>)> {
        let head = self.take(2).await?;
        let length = match head[1] {
            126 => {
                let bytes = self.take(2).await?;
                usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
            }
            127 => {
                let bytes = self.take(8).await?;
                let length = <[u8; 8]>::try_from(bytes.as_slice()).context("eight bytes")?;
                usize::try_from(u64::from_be_bytes(length)).context("a length")?
            }
            length => usize::from(length),
        };
        Ok((head[0], self.take(length).await?))
    }

    /// The next message of which that is true; others are passed over.
    pub async fn next_that(&mut self, is: impl Fn(&Value) -> bool) -> Result<Value> {
        let wait = async {
            loop {
                let message = self.next().await?;
                if is(&message) {
                    return Ok(message);
                }
            }
        };
        let found = tokio::time::timeout(MESSAGE_DEADLINE, wait).await;
        found.context("no such message comes")?
    }

    /// Sends a short text.
    pub async fn send(&mut self, text: &str) -> Result<()> {
        let length = u8::try_from(text.len()).context("a short text")?;
        ensure!(length < 126, "a short text");
        // The mask of nothing but zeros leaves the text as it is.
        let mut frame = vec![0x81, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).await.context("send")
    }
}
