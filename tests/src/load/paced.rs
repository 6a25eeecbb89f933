//! Requests at a given pace, whether the earlier ones are answered or not: what a slow answer keeps waiting counts as
//! slow too.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Answer, Ask};
use crate::clock;

/// How long an answer may take.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// One request of a paced run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was due, in milliseconds since the epoch.
    pub due_at_ms: u64,
    /// From when it was due to its whole answer.
    pub latency: Duration,
    /// Whether the answer said what is wanted.
    pub is_wanted: bool,
}

/// A pace of requests, kept by several connections that take turns.
#[derive(Debug, Clone)]
pub struct Paced {
    /// What is asked of one address, in turn; at least one.
    pub asks: Vec<Ask>,
    /// Requests a second, of all connections.
    pub per_sec: u32,
    /// Connections, each with a thread that mostly sleeps. While so many answers are late, the next request is late too,
    /// and its sample says so.
    pub connections: u32,
    /// Where in the distance between two requests the first one lies, from 0 to 1: several runs need not beat together.
    pub phase: f64,
}

impl Paced {
    /// Asks for so long; every sample, in no order.
    ///
    /// # Errors
    /// When an answer is no success, or none comes.
    pub fn run(&self, duration: Duration) -> Result<Vec<Sample>> {
        let (start, epoch_ms) = (clock::now(), clock::epoch_ms());
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.connections)
                .map(|turn| scope.spawn(move || self.one(turn, start, epoch_ms, duration)))
                .collect();
            let mut samples = Vec::new();
            for thread in threads {
                let joined = thread.join();
                samples.extend(joined.map_err(|_| anyhow::anyhow!("a connection panicked"))??);
            }
            Ok(samples)
        })
    }

    fn one(
        &self,
        turn: u32,
        start: Instant,
        epoch_ms: u64,
        duration: Duration,
    ) -> Result<Vec<Sample>> {
        let mut stream = open(self.asks.first().context("nothing is asked")?)?;
        let distance = Duration::from_secs(1) / self.per_sec;
        let mut due = distance.mul_f64(self.phase) + distance * turn;
        let mut samples = Vec::new();
        let mut read = Vec::new();
        let mut number = turn as usize;
        while due < duration {
            thread::sleep((start + due).saturating_duration_since(clock::now()));
            let ask = &self.asks[number % self.asks.len()];
            let is_wanted = ask_once(&mut stream, ask, &mut read)?;
            samples.push(Sample {
                due_at_ms: epoch_ms + due.as_millis() as u64,
                latency: start.elapsed() - due,
                is_wanted,
            });
            number += self.connections as usize;
            due += distance * self.connections;
        }
        Ok(samples)
    }
}

impl Ask {
    /// Asks once, on a connection that is opened before; how long the answer took.
    ///
    /// # Errors
    /// When the answer is not the one that is wanted, or none comes.
    pub fn once(&self) -> Result<Duration> {
        let mut stream = open(self)?;
        let start = clock::now();
        let is_wanted = ask_once(&mut stream, self, &mut Vec::new())?;
        ensure!(is_wanted, "the answer is not what is wanted");
        Ok(start.elapsed())
    }
}

fn open(ask: &Ask) -> Result<TcpStream> {
    let stream = TcpStream::connect(ask.address).context("connect")?;
    stream.set_nodelay(true).context("set an option")?;
    let deadline = Some(ANSWER_DEADLINE);
    stream.set_read_timeout(deadline).context("set an option")?;
    Ok(stream)
}

fn ask_once(stream: &mut TcpStream, ask: &Ask, read: &mut Vec<u8>) -> Result<bool> {
    stream.write_all(&ask.bytes).context("send a request")?;
    read.clear();
    let mut chunk = [0; 8 * 1024];
    loop {
        let bytes = stream.read(&mut chunk).context("read an answer")?;
        ensure!(bytes > 0, "the server closed a connection");
        read.extend_from_slice(&chunk[..bytes]);
        if let Some(answer) = Answer::read(read)? {
            ask.check(&answer)?;
            return Ok(ask.says(&answer));
        }
    }
}
