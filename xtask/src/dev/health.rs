//! Whether the server answers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks `/healthz` once.
pub(super) fn answers(port: u16) -> bool {
    ask(port).is_ok_and(|status_line| is_success(&status_line))
}

/// The first bytes of the answer; they hold the status line.
fn ask(port: u16) -> std::io::Result<Vec<u8>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut head = vec![0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut head)?;
    Ok(head)
}

fn is_success(status_line: &[u8]) -> bool {
    status_line.ends_with(b" 200")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn check(answer: &'static [u8], expected: bool) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            assert!(request[..length].starts_with(b"GET /healthz "));
            stream.write_all(answer).unwrap();
        });
        assert_eq!(answers(port), expected, "{answer:?}");
        server.join().unwrap();
    }

    #[test]
    fn only_success_counts() {
        check(b"HTTP/1.1 200 OK\r\n\r\n", true);
        check(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", false);
        check(b"", false);
    }

    #[test]
    fn nobody_there_is_no_answer() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        assert!(!answers(port));
    }
}
