//! Decisions as they are made, of all regions: a sample of them, as the deployment tells.

pub mod filter;
pub mod line;
pub mod link;
pub mod socket;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use weir_shared::ordered::OrderedSet;
use weir_shared::visible::visible;
use weir_shared::wire::operator::live::DecisionSample;

use crate::client::Client;
use crate::clock;
use crate::credentials::Login;
use crate::failure::Failure;
use crate::output::{Output, aside};
use filter::Filter;
use link::{Heard, Link};
use socket::{Next, Socket};

/// How often it is asked which regions the policy has.
const REGIONS_EVERY: Duration = Duration::from_secs(30);

/// What a region's socket tells.
enum TailEvent {
    /// Decisions of a region.
    Decisions(String, Vec<DecisionSample>),
    /// Something that is no decision.
    Aside(String),
    /// It cannot go on.
    Failed(Failure),
}

/// Shows decisions until so many were shown, or for ever.
///
/// # Errors
/// When the deployment does not let it in, or nobody reads what it shows.
pub fn tail(
    client: &Client,
    filter: &Filter,
    count: Option<u64>,
    output: Output,
) -> Result<(), Failure> {
    let (sender, receiver) = channel();
    let mut followed = OrderedSet::new();
    follow(client, &mut followed, &sender)?;
    let mut left = count;
    let mut looked = clock::now();
    while left != Some(0) {
        match receiver.recv_timeout(REGIONS_EVERY.saturating_sub(looked.elapsed())) {
            Ok(TailEvent::Decisions(region, samples)) => {
                for sample in samples.iter().filter(|sample| filter.shows(sample)) {
                    if left == Some(0) {
                        break;
                    }
                    show(&region, sample, output)?;
                    left = left.map(|left| left - 1);
                }
            }
            Ok(TailEvent::Aside(text)) => aside(&text),
            Ok(TailEvent::Failed(failure)) => return Err(failure),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                looked = clock::now();
                match follow(client, &mut followed, &sender) {
                    Err(failure) if !failure.passes() => return Err(failure),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn show(region: &str, sample: &DecisionSample, output: Output) -> Result<(), Failure> {
    if output.json {
        output.line(&line::value(region, sample))
    } else {
        output.text(&line::text(region, sample))
    }
}

/// Follows each region of the policy that is not followed yet.
fn follow(
    client: &Client,
    followed: &mut OrderedSet<String>,
    sender: &Sender<TailEvent>,
) -> Result<(), Failure> {
    for status in client.regions()?.regions {
        if followed.insert(status.region.clone()) {
            let (login, sender) = (client.login().clone(), sender.clone());
            let link = Link::new(status.region);
            thread::spawn(move || keep(&login, link, &sender));
        }
    }
    Ok(())
}

/// Reads one region's sockets, one after the other, until nobody listens.
fn keep(login: &Login, mut link: Link, sender: &Sender<TailEvent>) {
    loop {
        let ended = read(login, &mut link, sender);
        let region = visible(link.region());
        let why = match ended {
            Ok(Some(why)) => why,
            Ok(None) => return,
            Err(failure) if failure.passes() => failure.to_string(),
            Err(failure) => {
                let last = match failure {
                    Failure::Answered { status: 400, .. } => {
                        TailEvent::Aside(format!("{region}: the policy no longer has this region"))
                    }
                    failure => TailEvent::Failed(failure),
                };
                let _unheard = sender.send(last);
                return;
            }
        };
        let lost = format!(
            "{region}: the socket is lost and opened again: {}",
            visible(&why)
        );
        if sender.send(TailEvent::Aside(lost)).is_err() {
            return;
        }
        thread::sleep(link.lost());
    }
}

/// Reads one socket to its end, and answers why it ended; nothing where nobody listens.
fn read(
    login: &Login,
    link: &mut Link,
    sender: &Sender<TailEvent>,
) -> Result<Option<String>, Failure> {
    let mut socket = Socket::open(login, &link.path())?;
    loop {
        let message = match socket.read() {
            Ok(Next::Message(message)) => *message,
            Ok(Next::Alive) => continue,
            Err(why) => return Ok(Some(why)),
        };
        let told = match link.heard(message) {
            Heard::Decisions(samples) => TailEvent::Decisions(link.region().to_owned(), samples),
            Heard::Missed => TailEvent::Aside(format!(
                "{}: decisions were missed and are no longer there",
                visible(link.region())
            )),
            Heard::Nothing => continue,
        };
        if sender.send(told).is_err() {
            return Ok(None);
        }
    }
}
