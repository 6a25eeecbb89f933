//! `GET /operator/v1/live?lines=true`: one socket for any number of regions.
//!
//! The server says first which regions there are ([`LineNotice::Lines`]). The client opens a line for each that it wants
//! ([`LineOrder::Open`]). A line tells what a socket of that region would, and each message has the number of its line
//! beside what it says: `{"line":1,"sequence":9,"channel":"health",…}`.

use serde::{Deserialize, Serialize};
use weir_core::units::Sequence;

/// What a client says over a socket of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum LineOrder {
    /// Opens a line. A region has one at most: an earlier one is dropped without a word.
    Open {
        /// The line's number, which the client chooses and uses once.
        line: u64,
        /// The region.
        region: String,
        /// The number of the last message of that region that the client saw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Sequence>,
    },
    /// Has the region answer that it is there; without a line, the socket's own end.
    Ask {
        /// The line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
    },
    /// Closes a line.
    Close {
        /// The line.
        line: u64,
    },
}

/// What the socket's own end says, beside what comes over its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "channel", rename_all = "snake_case")]
pub enum LineNotice {
    /// The first message: the regions of the policy.
    Lines {
        /// The region that is nearest to the client.
        region: String,
        /// Every region.
        regions: Vec<String>,
    },
    /// A line did not open, or is closed: nothing more comes over it.
    Closed {
        /// The line.
        line: u64,
    },
    /// The answer that somebody is there.
    Pong {
        /// The line that was asked over; absent for the socket's own end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
    },
}

/// What a message of a region begins with, once it goes over a line, instead of its first brace.
///
/// ```
/// use weir_wire::operator::live_lines::beginning;
/// let message = r#"{"channel":"pong"}"#;
/// assert_eq!(beginning(7) + &message[1..], r#"{"line":7,"channel":"pong"}"#);
/// ```
#[must_use]
pub fn beginning(line: u64) -> String {
    format!("{{\"line\":{line},")
}
