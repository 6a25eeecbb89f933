//! Where an answer ends.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use memchr::{memchr_iter, memmem};

/// More than any answer that is asked for.
const BYTES_MAX: usize = 1024 * 1024;

/// What a message shows of a body.
const SHOWN_BYTES_MAX: usize = 2_000;

/// One whole answer at the beginning of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// Status line and header fields.
    pub head: &'a [u8],
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The answer, once all of it is there.
    ///
    /// # Errors
    /// When the bytes are no answer, or one without `content-length`: nothing that is measured streams its answer.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Self>> {
        ensure!(bytes.len() <= BYTES_MAX, "the answer does not end");
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
            return Ok(None);
        };
        let (head, rest) = (&bytes[..end], &bytes[end + 4..]);
        let length = length(head)?;
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        ensure!(
            rest.len() == length,
            "more than the answer of one request arrived"
        );
        let status = status(head)?;
        Ok(Some(Self { status, head, body }))
    }
}

/// The beginning of the answer.
impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes);
        let body = &self.body[..self.body.len().min(SHOWN_BYTES_MAX)];
        write!(f, "{}\n\n{}", text(self.head), text(body))
    }
}

fn status(head: &[u8]) -> Result<u16> {
    let digits = head
        .strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    number(digits.context("no status line of HTTP/1.1")?)
        .and_then(|status| u16::try_from(status).context("a status"))
}

fn length(head: &[u8]) -> Result<usize> {
    const NAME: &[u8] = b"content-length:";
    for at in memchr_iter(b'\n', head) {
        let line = &head[at + 1..];
        if line
            .get(..NAME.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
        {
            let value = line[NAME.len()..].trim_ascii_start();
            let end = value.iter().position(|byte| !byte.is_ascii_digit());
            return number(&value[..end.unwrap_or(value.len())]);
        }
    }
    bail!(
        "an answer without a length: {}",
        String::from_utf8_lossy(head)
    )
}

fn number(digits: &[u8]) -> Result<usize> {
    let text = std::str::from_utf8(digits).context("digits")?;
    text.parse().with_context(|| format!("a number: {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\na: b\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";

    #[test]
    fn an_answer_is_read_when_it_is_whole() {
        for end in 0..WHOLE.len() {
            assert_eq!(Answer::read(&WHOLE[..end]).unwrap(), None, "{end}");
        }
        let answer = Answer::read(WHOLE).unwrap().unwrap();
        assert_eq!((answer.status, answer.body), (200, &b"hello"[..]));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let refused = |bytes: &[u8]| Answer::read(bytes).unwrap_err().to_string();
        assert!(refused(b"HTTP/1.1 200 OK\r\n\r\n").contains("without a length"));
        assert!(refused(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab").contains("more than"));
        assert!(refused(b"nonsense\r\ncontent-length: 0\r\n\r\n").contains("no status line"));
    }
}
