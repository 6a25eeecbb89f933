//! What the end of a forwarded request says of the origin.

pub use weir_overload::resource::Outcome;

/// How a forwarded request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The origin answered with this status.
    Answered(u16),
    /// It did not begin its answer in time, or broke it off.
    TimedOut,
    /// It could not be reached.
    Unreachable,
    /// The client went away before the answer began: nobody knows what it would have been.
    ClientLeft,
}

/// What that says of the origin; `None` for what says nothing.
///
/// An answer of the server's own failing (5xx), one that says it is asked too often (429), none in time and no
/// connection are failures. Another 4xx is the client's fault, and cheap to answer: it is no sign of capacity, and whoever
/// sends nonsense must not look like proof that all is well. `501` and `505` are of the same kind: the server says
/// that it does not know what is asked.
///
/// ```
/// use weir_gateway::outcome::{Ending, Outcome, outcome};
/// assert_eq!(outcome(Ending::Answered(200)), Some(Outcome::Success));
/// assert_eq!(outcome(Ending::Answered(503)), Some(Outcome::Failure));
/// assert_eq!(outcome(Ending::Answered(404)), None);
/// ```
#[must_use]
pub fn outcome(ending: Ending) -> Option<Outcome> {
    match ending {
        Ending::Answered(429) => Some(Outcome::Failure),
        Ending::Answered(501 | 505) | Ending::ClientLeft => None,
        Ending::Answered(101..=399) => Some(Outcome::Success),
        Ending::Answered(500..=599) | Ending::TimedOut | Ending::Unreachable => {
            Some(Outcome::Failure)
        }
        Ending::Answered(_) => None,
    }
}
