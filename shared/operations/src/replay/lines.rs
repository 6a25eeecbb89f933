//! A trace as text: a request a line, as JSON or as a row of `at,tenant,kind,name,key,cost` with commas.

use std::fmt;

use weir_core::invalid::{Invalid, read_json};
use weir_wire::replay::TraceEntry;

/// The columns of a row, and the first line of a text that has one.
pub const COLUMNS: &str = "at,tenant,kind,name,key,cost";

/// Cells of a row, at most.
const CELLS_MAX: usize = 6;

/// Why a line is no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineFault {
    /// It begins as JSON, and is no entry of a trace.
    Json(Invalid),
    /// A cell that is to be a whole number is none.
    Number {
        /// The column.
        column: &'static str,
        /// What stands there.
        text: String,
    },
    /// The kind is none of `budget`, `limit` and `meter`.
    Kind {
        /// What stands there.
        text: String,
    },
    /// It ends before its kind.
    Short,
    /// It has more than [`COLUMNS`].
    Cells {
        /// How many there are.
        got: usize,
    },
    /// A quote is not closed.
    Quote,
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(refused) => refused.fmt(f),
            Self::Number { column, text } => write!(f, "{column}: {text:?} is no whole number"),
            Self::Kind { text } => {
                write!(f, "kind: {text:?} is none of budget, limit and meter")
            }
            Self::Short => write!(f, "a line has {COLUMNS}, and key and cost may be empty"),
            Self::Cells { got } => write!(f, "{got} cells, and a line has {COLUMNS}"),
            Self::Quote => f.write_str("a quote is not closed"),
        }
    }
}

impl std::error::Error for LineFault {}

/// The requests of a text with the numbers of their lines, from 1. Blank lines are passed over, and so is a line of
/// [`COLUMNS`] before the first request. Whether a policy knows what they name is told by [`Entry::of`](super::Entry::of).
///
/// ```
/// use weir_operations::replay::lines::{LineFault, lines};
/// let text = "at,tenant,kind,name,key,cost\n5,a,budget,tokens,,3\n\n{\"at\":6,\"limit\":\"login\",\"key\":\"k\"}\n7,a\n";
/// let read: Vec<_> = lines(text).collect();
/// let (number, first) = &read[0];
/// assert_eq!((*number, first.as_ref().unwrap().cost), (2, Some(3)));
/// assert_eq!((read[1].0, read[2].0), (4, 5));
/// assert_eq!(read[2].1, Err(LineFault::Short));
/// ```
pub fn lines(text: &str) -> impl Iterator<Item = (usize, Result<TraceEntry, LineFault>)> {
    let mut begun = false;
    let said = numbered(text).filter(move |(_, line)| {
        let head = !begun && line.replace(' ', "") == COLUMNS;
        begun |= !head;
        !head
    });
    said.map(|(number, line)| (number, request(line)))
}

/// The lines of a text with their numbers, from 1, without blanks at their ends. Blank lines are passed over, and so is a byte
/// order mark.
///
/// ```
/// use weir_operations::replay::lines::numbered;
/// assert_eq!(numbered("a\n\n  b \r\n").collect::<Vec<_>>(), [(1, "a"), (3, "b")]);
/// ```
pub fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let numbered = text.lines().enumerate();
    let said = numbered.map(|(index, line)| (index + 1, line.trim()));
    said.filter(|(_, line)| !line.is_empty())
}

fn request(line: &str) -> Result<TraceEntry, LineFault> {
    if line.starts_with('{') {
        read_json::<TraceEntry>(line.as_bytes()).map_err(LineFault::Json)
    } else {
        row(line)
    }
}

/// One line of a table.
fn row(line: &str) -> Result<TraceEntry, LineFault> {
    let cells = cells(line)?;
    let mut cells = cells
        .into_iter()
        .map(|cell| Some(cell).filter(|cell| !cell.is_empty()));
    let mut next = || cells.next().flatten();
    let (at, tenant, kind, name, key, cost) = (next(), next(), next(), next(), next(), next());
    let mut entry = TraceEntry {
        at: number("at", at)?,
        tenant,
        key,
        cost: number("cost", cost)?,
        ..TraceEntry::default()
    };
    match kind.as_deref() {
        Some("budget") => entry.budget = name,
        Some("limit") => entry.limit = name,
        Some("meter") => entry.meter = name,
        Some(other) => {
            let text = other.to_owned();
            return Err(LineFault::Kind { text });
        }
        None => return Err(LineFault::Short),
    }
    Ok(entry)
}

fn number(column: &'static str, cell: Option<String>) -> Result<Option<u64>, LineFault> {
    let read = cell.map(|text| match text.parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) => Err(LineFault::Number { column, text }),
    });
    read.transpose()
}

/// The cells of a line. One in quotes may have commas, and its own quotes twice (RFC 4180).
fn cells(line: &str) -> Result<Vec<String>, LineFault> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            ',' if !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            other => cell.push(other),
        }
    }
    if quoted {
        return Err(LineFault::Quote);
    }
    cells.push(cell.trim().to_owned());
    match cells.len() {
        got if got > CELLS_MAX => Err(LineFault::Cells { got }),
        _ => Ok(cells),
    }
}
