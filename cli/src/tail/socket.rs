//! A live socket (RFC 6455), read until it ends.

use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Error, HandshakeError, Message, WebSocket, client_tls};
use weir_shared::invalid::read_json;
use weir_shared::wire::operator::live::LiveMessage;
use weir_shared::wire::problem::Problem;

use crate::credentials::Login;
use crate::failure::Failure;

/// How long a connection and each step of its handshake may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// A socket that says nothing for so long is asked whether it is there, and given up if it does not answer as long again.
const SILENT: Duration = Duration::from_secs(15);

/// What is said to be answered.
const ARE_YOU_THERE: &str = "{}";

/// An open socket.
pub struct Socket {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    asked: bool,
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// A message.
    Message(Box<LiveMessage>),
    /// That it is there.
    Alive,
}

impl Socket {
    /// Opens one.
    ///
    /// # Errors
    /// When the deployment is out of reach, or refuses.
    pub fn open(login: &Login, path: &str) -> Result<Self, Failure> {
        let unreached = |why: String| Failure::OutOfReach {
            url: login.url.clone(),
            why,
        };
        let address = format!("ws{}{path}", login.url.trim_start_matches("http"));
        let mut request = address
            .into_client_request()
            .map_err(|why| unreached(why.to_string()))?;
        let bearer = HeaderValue::try_from(format!("Bearer {}", login.token));
        let bearer = bearer.map_err(|_| Failure::Option {
            option: "--token",
            why: "this has a character that no token has.".to_owned(),
        })?;
        request.headers_mut().insert("authorization", bearer);
        let uri = request.uri();
        let port = uri.port_u16().unwrap_or(match uri.scheme_str() {
            Some("wss") => 443,
            _ => 80,
        });
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let stream = connected(host, port).map_err(|why| unreached(why.to_string()))?;
        let (socket, _) = client_tls(request, stream).map_err(|error| match error {
            HandshakeError::Failure(Error::Http(response)) => Failure::Answered {
                status: response.status().as_u16(),
                problem: problem(response.body().as_deref()).map(Box::new),
            },
            HandshakeError::Failure(why) => unreached(why.to_string()),
            HandshakeError::Interrupted(_) => unreached("it does not answer".to_owned()),
        })?;
        let socket = Self {
            socket,
            asked: false,
        };
        let stream = socket.stream();
        if let Some(stream) = stream {
            stream
                .set_read_timeout(Some(SILENT))
                .map_err(|why| unreached(why.to_string()))?;
        }
        Ok(socket)
    }

    fn stream(&self) -> Option<&TcpStream> {
        match self.socket.get_ref() {
            MaybeTlsStream::Plain(stream) => Some(stream),
            MaybeTlsStream::Rustls(stream) => Some(&stream.sock),
            _ => None,
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// When the socket is no more, in words.
    pub fn read(&mut self) -> Result<Next, String> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    self.asked = false;
                    let read = read_json(text.as_bytes()).ok();
                    return Ok(read.map_or(Next::Alive, |message| Next::Message(Box::new(message))));
                }
                Ok(Message::Close(frame)) => {
                    let why = frame.map(|frame| frame.to_string());
                    return Err(why.unwrap_or_else(|| "it was closed".to_owned()));
                }
                Ok(_) => self.asked = false,
                Err(Error::Io(error)) if is_silence(error.kind()) => self.ask()?,
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn ask(&mut self) -> Result<(), String> {
        if self.asked {
            return Err("it does not answer".to_owned());
        }
        self.asked = true;
        let asked = self.socket.send(Message::text(ARE_YOU_THERE));
        asked.map_err(|error| error.to_string())
    }
}

fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn connected(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_DEADLINE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(CONNECT_DEADLINE))?;
                stream.set_write_timeout(Some(CONNECT_DEADLINE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn problem(body: Option<&[u8]>) -> Option<Problem> {
    read_json(body?).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// What is said first to who listens, who then answers and leaves.
    fn first_byte(scheme: &str, answer: &'static [u8]) -> (u8, Failure) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap();
            stream.write_all(answer).unwrap();
            bytes[..length][0]
        });
        let login = Login {
            url: format!("{scheme}://localhost:{port}"),
            token: "token".to_owned(),
        };
        let failure = Socket::open(&login, "/operator/v1/live").err().unwrap();
        (heard.join().unwrap(), failure)
    }

    #[test]
    fn what_is_encrypted_begins_with_a_handshake_of_tls() {
        let (byte, failure) = first_byte("https", b"no tls");
        assert_eq!(byte, 22);
        assert!(matches!(failure, Failure::OutOfReach { .. }), "{failure}");
    }

    #[test]
    fn a_refusal_says_why() {
        let answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
        let (byte, failure) = first_byte("http", answer);
        assert_eq!(byte, b'G');
        assert!(
            matches!(failure, Failure::Answered { status: 401, .. }),
            "{failure}"
        );
    }
}
