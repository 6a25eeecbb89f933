//! Letters on their way. Any of them may arrive next, arrive twice, or never.

use std::fmt;

use weir_shared::units::{Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, ReplyBody};

use super::part::Part;

/// A parent's answer.
pub(crate) type Answer = Result<ReplyBody, Refusal>;

/// One message or answer.
#[derive(Debug, Clone)]
pub(crate) enum Letter {
    /// Of an isolate to its region.
    ToRegion { from: Caller, body: ExchangeBody },
    /// The answer to it.
    ToIsolate {
        to: Caller,
        sequence: Sequence,
        answer: Answer,
    },
    /// Of a region to the coordinator.
    ToCoordinator { region: usize, body: ExchangeBody },
    /// The answer to it, for the life that asked.
    FromCoordinator {
        region: usize,
        life: Incarnation,
        sequence: Sequence,
        answer: Answer,
    },
}

/// One life of an isolate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) isolate: usize,
    pub(crate) life: u64,
}

/// In short, for the path to a discovery.
impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToRegion { from, body } => {
                write!(f, "isolate {}.{} asks: ", from.isolate, from.life)?;
                asked(f, body)
            }
            Self::ToCoordinator { region, body } => {
                write!(f, "region {region}.{} asks: ", body.incarnation)?;
                asked(f, body)
            }
            Self::ToIsolate { to, answer, .. } => {
                write!(f, "isolate {}.{} is told: ", to.isolate, to.life)?;
                told(f, answer)
            }
            Self::FromCoordinator {
                region,
                life,
                answer,
                ..
            } => {
                write!(f, "region {region}.{life} is told: ")?;
                told(f, answer)
            }
        }
    }
}

fn asked(f: &mut fmt::Formatter<'_>, body: &ExchangeBody) -> fmt::Result {
    write!(
        f,
        "#{}, window {:?}",
        body.sequence,
        body.window.map(|label| label.0)
    )?;
    for want in &body.wants {
        let tenant = want.tenant.as_deref().unwrap_or_default();
        let (waiting, expected, held) = (want.waiting, want.expected, want.held);
        write!(
            f,
            ", {tenant} waits for {waiting}, expects {expected}, has {held}"
        )?;
    }
    let returned: u64 = body.returns.iter().map(|back| back.units).sum();
    write!(f, ", returns {returned}, wants {} ahead", body.ahead)
}

fn told(f: &mut fmt::Formatter<'_>, answer: &Answer) -> fmt::Result {
    let reply = match answer {
        Ok(reply) => reply,
        Err(refusal) => return write!(f, "{refusal:?}"),
    };
    let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
    let (to, window) = (reply.to.sequence, reply.window);
    write!(f, "#{to}, {granted} of window {}", window.label)?;
    write!(f, " for {} ms, {} left", window.remaining_ms, reply.left)?;
    for ahead in &reply.ahead {
        write!(f, ", {} of window {}", ahead.units, ahead.label)?;
        write!(f, " in {} ms", ahead.starts_ms)?;
    }
    Ok(())
}

/// The letters on their way, in an order that does not tell when they were sent.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network(Vec<Part<Letter>>);

impl Network {
    pub(crate) fn send(&mut self, letter: Letter) {
        let letter = Part::new(letter);
        let at = self
            .0
            .partition_point(|other| other.print() < letter.print());
        self.0.insert(at, letter);
    }

    /// One letter, of which a copy may stay on its way.
    pub(crate) fn take(&mut self, index: usize, copied: bool) -> Part<Letter> {
        if copied {
            self.0[index].clone()
        } else {
            self.0.remove(index)
        }
    }

    pub(crate) fn keep(&mut self, keep: impl Fn(&Letter) -> bool) {
        self.0.retain(|letter| keep(letter));
    }

    /// Places of letters that differ from each other.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        let first = |at: &usize| *at == 0 || self.0[*at] != self.0[*at - 1];
        (0..self.0.len()).filter(first)
    }

    pub(crate) fn get(&self, index: usize) -> &Letter {
        &self.0[index]
    }
}
