//! A trace out of a file: bounded and read before anything is sent, so that a fault is told with its line.

use std::fmt;

use weir_shared::limits::{REPLAY_BODY_BYTES_MAX, REPLAY_ENTRIES_MAX};
use weir_shared::ordered::OrderedSet;
use weir_shared::policy::Policy;
use weir_shared::replay::Entry;
use weir_shared::replay::lines::lines;
use weir_shared::wire::replay::TraceEntry;

use crate::format::{count, counted};
use crate::instant::{TimeZone, date_time};
use crate::visible::visible;

/// The largest file that is read: what it comes to as JSON has to fit into the body of a replay, and is hardly ever smaller.
pub const FILE_BYTES_MAX: usize = REPLAY_BODY_BYTES_MAX;

/// Lines that a trace may have, one of each form.
pub const EXAMPLE: &str = "1767225600000,acme,budget,tokens,,1500
1767225600250,acme,limit,per_ip,203.0.113.9,
{\"at\":1767225600300,\"tenant\":\"acme\",\"meter\":\"results_ingested\",\"cost\":20}";

/// The requests of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// The file's name.
    pub name: String,
    /// Its requests, in its order.
    pub entries: Vec<TraceEntry>,
    /// The number of each one's line.
    lines: Vec<usize>,
}

/// Why a file is no trace that can be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceFault {
    /// It is larger than [`FILE_BYTES_MAX`].
    Bytes {
        /// Its size.
        got: usize,
    },
    /// It is no text.
    Text,
    /// It has no request.
    Empty,
    /// It has more than [`REPLAY_ENTRIES_MAX`] requests.
    Entries {
        /// The line of the first one beyond.
        line: usize,
    },
    /// A line is no request, or names what neither policy has.
    Line {
        /// Its number.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for TraceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |number: usize| count(number as u128);
        match self {
            Self::Bytes { got } => write!(
                f,
                "The file has {} bytes; at most {} are read. The command weir replay plays a trace of any length.",
                of(*got),
                of(FILE_BYTES_MAX)
            ),
            Self::Text => f.write_str("The file is no text in UTF-8."),
            Self::Empty => f.write_str("The file has no request."),
            Self::Entries { line } => write!(
                f,
                "Line {}: at most {} are played at once. The command weir replay plays a trace of any length.",
                of(*line),
                counted(REPLAY_ENTRIES_MAX, "request")
            ),
            Self::Line { line, why } => write!(f, "Line {}: {}", of(*line), visible(why)),
        }
    }
}

impl TraceFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The first fault, with its line.
    ///
    /// ```
    /// use weir_console::trace_file::TraceFile;
    /// let read = |text: &str| TraceFile::read("t.csv", text.as_bytes());
    /// assert_eq!(read("0,a,budget,tokens\n\n5,b,budget,tokens,,3\n").unwrap().entries.len(), 2);
    /// assert_eq!(read("0,a,budget,tokens\nsoon,b").unwrap_err().to_string(), "Line 2: at: \"soon\" is no whole number");
    /// ```
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, TraceFault> {
        fits(bytes.len())?;
        let text = std::str::from_utf8(bytes).map_err(|_| TraceFault::Text)?;
        let (mut entries, mut numbers) = (Vec::new(), Vec::new());
        for (line, entry) in lines(text) {
            if entries.len() == REPLAY_ENTRIES_MAX {
                return Err(TraceFault::Entries { line });
            }
            let why = |fault| TraceFault::Line {
                line,
                why: format!("{fault}"),
            };
            entries.push(entry.map_err(why)?);
            numbers.push(line);
        }
        if entries.is_empty() {
            return Err(TraceFault::Empty);
        }
        Ok(Self {
            name: name.to_owned(),
            entries,
            lines: numbers,
        })
    }

    /// Whether each request can be played against both policies.
    ///
    /// # Errors
    /// The first that cannot, with its line.
    pub fn check(&self, policies: [&Policy; 2]) -> Result<(), TraceFault> {
        for (entry, line) in self.entries.iter().zip(&self.lines) {
            let why = |refused: weir_shared::invalid::Invalid| TraceFault::Line {
                line: *line,
                why: refused.to_string().trim_start_matches('/').to_owned(),
            };
            Entry::of(policies, entry.clone()).map_err(why)?;
        }
        Ok(())
    }

    /// What it holds, in a line.
    pub fn words(&self, zone: TimeZone) -> String {
        let tenants: OrderedSet<&str> = self
            .entries
            .iter()
            .filter_map(|entry| entry.tenant.as_deref())
            .collect();
        let at = self.entries.iter().filter_map(|entry| entry.at);
        let from = at.clone().min().unwrap_or_default();
        let to = at.max().unwrap_or_default();
        format!(
            "{}: {} of {}, from {} to {}.",
            visible(&self.name),
            counted(self.entries.len(), "request"),
            counted(tenants.len(), "tenant"),
            date_time(from, zone),
            date_time(to, zone)
        )
    }
}

/// Whether a file of that size is read.
///
/// # Errors
/// [`TraceFault::Bytes`].
pub fn fits(bytes: usize) -> Result<(), TraceFault> {
    if bytes > FILE_BYTES_MAX {
        return Err(TraceFault::Bytes { got: bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_shared::invalid::read_json;

    use super::*;

    fn policy(budget: &str) -> Policy {
        let text = format!(
            r#"{{ "regions": ["weur"], "tiers": {{ "free": {{ "weight": 1 }} }}, "default_tier": "free",
            "budgets": {{ "{budget}": {{ "limit": 5, "window_ms": 1000, "sharing": "first_come", "scope": "global" }} }} }}"#
        );
        Policy::try_from(&read_json(text.as_bytes()).unwrap()).unwrap()
    }

    fn read(text: &str) -> Result<TraceFile, String> {
        TraceFile::read("t.csv", text.as_bytes()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_file_says_what_it_holds() {
        let file = read("at,tenant,kind,name,key,cost\n60000,a,budget,tokens\n0,b,budget,tokens\n");
        let words = file.unwrap().words(TimeZone::UTC);
        assert!(
            words.starts_with("t.csv: 2 requests of 2 tenants, "),
            "{words}"
        );
        assert!(words.contains("1970") && words.contains("00:01"), "{words}");
    }

    #[test]
    fn the_example_is_a_trace() {
        assert_eq!(read(EXAMPLE).unwrap().entries.len(), 3);
    }

    #[test]
    fn a_fault_is_told_with_its_line() {
        for (text, told) in [
            ("", "The file has no request."),
            (
                "\n at, tenant,kind,name,key,cost\n",
                "The file has no request.",
            ),
            (
                "1,a,budget,tokens\n\n1,a,queue,tokens",
                "Line 3: kind: \"queue\" is none of",
            ),
            ("{\"at\":1,\"colour\":1}", "Line 1: /colour: "),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.starts_with(told), "{text:?}: {refused}");
        }
        let fault = TraceFile::read("t", &[0xff, 0xfe]).unwrap_err();
        assert_eq!(fault, TraceFault::Text);
    }

    #[test]
    fn no_more_is_read_than_is_played() {
        let line = "1,a,budget,tokens\n";
        let most = line.repeat(REPLAY_ENTRIES_MAX);
        assert_eq!(read(&most).unwrap().entries.len(), REPLAY_ENTRIES_MAX);
        let refused = read(&format!("{most}{line}")).unwrap_err();
        assert!(
            refused.starts_with("Line 20,001: at most 20,000 requests"),
            "{refused}"
        );
        assert_eq!(fits(FILE_BYTES_MAX), Ok(()));
        let refused = fits(FILE_BYTES_MAX + 1).unwrap_err().to_string();
        assert!(
            refused.contains("4,194,305 bytes; at most 4,194,304"),
            "{refused}"
        );
    }

    #[test]
    fn what_neither_policy_has_is_refused_at_its_line() {
        let (present, candidate) = (policy("tokens"), policy("images"));
        let check = |text: &str| read(text).unwrap().check([&present, &candidate]);
        assert_eq!(check("1,a,budget,tokens\n1,a,budget,images\n"), Ok(()));
        let refused = check("1,a,budget,tokens\n\n1,a,budget,nope\n").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "Line 3: budget: \"nope\" is not a known budget"
        );
        let refused = check("1,,budget,tokens\n").unwrap_err().to_string();
        assert_eq!(refused, "Line 1: tenant: is required");
    }
}
