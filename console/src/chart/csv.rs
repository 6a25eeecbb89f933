//! What a chart shows, as comma-separated values: a row an interval, a column a line.

use std::fmt::Write;

use super::series::{Line, instants};
use crate::instant::rfc3339;

/// What a file says beside the lines of the chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// What the file is of, as its name; the chart's title where it is empty.
    pub parts: Vec<String>,
    /// Columns that are the same in each row, so that rows of several files can be put together.
    pub of: Vec<(&'static str, String)>,
    /// What was counted in each interval: columns before those of the chart.
    pub counted: Vec<Line>,
}

/// The file, with its heading. A value that is not known is an empty cell.
///
/// ```
/// use weir_console::chart::csv::{About, text};
/// use weir_console::chart::series::{Line, Tone};
/// let line = |name: &str, value| Line { name: name.to_owned(), tone: Tone::Blue, points: vec![(0, Some(value)), (60_000, None)] };
/// let about = About {
///     of: vec![("tenant", "acme".to_owned())],
///     counted: vec![line("Admitted, units", 90.0)],
///     ..About::default()
/// };
/// assert_eq!(
///     text(&[line("Admitted", 1.5)], "units/s", &about),
///     "time,tenant,\"Admitted, units\",\"Admitted, units/s\"\n1970-01-01T00:00:00Z,\"acme\",90,1.5\n\
///      1970-01-01T00:01:00Z,\"acme\",,\n"
/// );
/// ```
pub fn text(lines: &[Line], unit: &str, about: &About) -> String {
    let mut text = "time".to_owned();
    for (name, _) in &about.of {
        let _ = write!(text, ",{name}");
    }
    for line in &about.counted {
        let _ = write!(text, ",{}", cell(&line.name));
    }
    for line in lines {
        let name = match unit {
            "" => line.name.clone(),
            unit => format!("{}, {unit}", line.name),
        };
        let _ = write!(text, ",{}", cell(&name));
    }
    text.push('\n');
    for at_ms in instants(lines) {
        text.push_str(&rfc3339(at_ms));
        for (_, value) in &about.of {
            let _ = write!(text, ",{}", cell(value));
        }
        for line in about.counted.iter().chain(lines) {
            match line.value_at(at_ms) {
                Some(value) => {
                    let _ = write!(text, ",{value}");
                }
                None => text.push(','),
            }
        }
        text.push('\n');
    }
    text
}

/// The name of a file, of letters, digits and dashes alone: every system takes it.
///
/// ```
/// use weir_console::chart::csv::file_name;
/// assert_eq!(file_name(&["pro:hooli/eu".to_owned(), "tokens".to_owned(), "6h".to_owned()]), "pro-hooli-eu-tokens-6h.csv");
/// ```
pub fn file_name(parts: &[String]) -> String {
    let name = parts.join("-").to_lowercase();
    let name = name.replace(|one: char| !one.is_ascii_alphanumeric(), "-");
    format!("{name}.csv")
}

/// The address of a file of that text, which a link can download.
pub fn address(text: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    format!(
        "data:text/csv;charset=utf-8,{}",
        encoded.replace('+', "%20")
    )
}

/// A text in quotes. What a spreadsheet would take for a formula is made a text.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::super::series::Tone;
    use super::*;

    #[test]
    fn a_name_breaks_no_cell_and_is_no_formula() {
        let line = |name: &str| Line {
            name: name.to_owned(),
            tone: Tone::Blue,
            points: vec![(0, Some(2.0))],
        };
        let lines = [line("a\"b,c"), line("=1+1")];
        assert_eq!(
            text(&lines, "", &About::default()),
            "time,\"a\"\"b,c\",\"'=1+1\"\n1970-01-01T00:00:00Z,2,2\n"
        );
        assert_eq!(text(&[], "", &About::default()), "time\n");
        assert_eq!(address("a b,\n"), "data:text/csv;charset=utf-8,a%20b%2C%0A");
    }
}
