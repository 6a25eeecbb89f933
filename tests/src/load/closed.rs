//! As many requests as are answered: each connection asks again as soon as it has its answer.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Answer, Ask};
use crate::clock;

/// How long nothing may arrive.
const SILENCE_MS_MAX: u16 = 10_000;

/// What a read takes at once; larger answers take several.
const READ_BYTES: usize = 64 * 1024;

/// Kept connections to one address, served by the calling thread alone.
#[derive(Debug)]
pub struct Closed {
    ask: Ask,
    connections: Vec<Connection>,
}

/// What one round came to.
#[derive(Debug, Clone)]
pub struct Round {
    /// Answers, each of them a success.
    pub answers: u64,
    /// Those of them that did not say what is wanted.
    pub unwanted: u64,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// How long each answer took, in microseconds, ascending.
    pub latencies_us: Vec<u32>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
    filled: usize,
    sent_at: Option<Instant>,
}

impl Closed {
    /// Opens the connections.
    pub fn open(ask: &Ask, connections: usize) -> Result<Self> {
        let connections = (0..connections)
            .map(|_| Connection::open(ask))
            .collect::<Result<_>>()?;
        Ok(Self {
            ask: ask.clone(),
            connections,
        })
    }

    /// Asks for so long, then waits for what is still to be answered.
    ///
    /// # Errors
    /// When an answer is no success, or none comes.
    pub fn run(&mut self, duration: Duration) -> Result<Round> {
        let start = clock::now();
        let end = start + duration;
        let mut latencies_us = Vec::new();
        let mut unwanted = 0;
        for connection in &mut self.connections {
            connection.send(&self.ask)?;
        }
        while self.connections.iter().any(Connection::waits) {
            for index in self.ready()? {
                let connection = &mut self.connections[index];
                if let Some((latency, is_wanted)) = connection.receive(&self.ask)? {
                    unwanted += u64::from(!is_wanted);
                    let us = u32::try_from(latency.as_micros()).unwrap_or(u32::MAX);
                    latencies_us.push(us);
                    if clock::now() < end {
                        connection.send(&self.ask)?;
                    }
                }
            }
        }
        let elapsed = start.elapsed();
        latencies_us.sort_unstable();
        Ok(Round {
            answers: latencies_us.len() as u64,
            unwanted,
            elapsed,
            latencies_us,
        })
    }

    /// The connections on which something has arrived.
    fn ready(&self) -> Result<Vec<usize>> {
        let mut waiting: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| PollFd::new(connection.stream.as_fd(), connection.interest()))
            .collect();
        let count = poll(&mut waiting, PollTimeout::from(SILENCE_MS_MAX)).context("poll")?;
        ensure!(count > 0, "no answer within {SILENCE_MS_MAX} ms");
        let ready = waiting.iter().enumerate();
        Ok(ready
            .filter(|(_, descriptor)| descriptor.any().unwrap_or(true))
            .map(|(index, _)| index)
            .collect())
    }
}

impl Connection {
    fn open(ask: &Ask) -> Result<Self> {
        let stream = TcpStream::connect(ask.address).context("connect")?;
        stream.set_nodelay(true).context("set an option")?;
        stream.set_nonblocking(true).context("set an option")?;
        Ok(Self {
            stream,
            read: vec![0; READ_BYTES],
            filled: 0,
            sent_at: None,
        })
    }

    fn waits(&self) -> bool {
        self.sent_at.is_some()
    }

    fn interest(&self) -> PollFlags {
        if self.waits() {
            PollFlags::POLLIN
        } else {
            PollFlags::empty()
        }
    }

    fn send(&mut self, ask: &Ask) -> Result<()> {
        self.sent_at = Some(clock::now());
        // A request fits the buffer of a socket on which everything before it was answered.
        self.stream.write_all(&ask.bytes).context("send a request")
    }

    /// How long the answer took and whether it says what is wanted, once it is whole.
    fn receive(&mut self, ask: &Ask) -> Result<Option<(Duration, bool)>> {
        if self.filled == self.read.len() {
            self.read.resize(2 * self.filled, 0);
        }
        match self.stream.read(&mut self.read[self.filled..]) {
            Ok(0) => bail!("the server closed a connection"),
            Ok(bytes) => self.filled += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error).context("read an answer"),
        }
        let bytes = &self.read[..self.filled];
        let Some(answer) = Answer::read(bytes)? else {
            return Ok(None);
        };
        ask.check(&answer)?;
        let is_wanted = ask.says(&answer);
        self.filled = 0;
        let sent_at = self.sent_at.take().context("an answer to no request")?;
        Ok(Some((sent_at.elapsed(), is_wanted)))
    }
}
