//! What a chart shows, as comma-separated values: a row an interval, a column a line.

use std::fmt::Write;

use super::series::{Line, instants};
use crate::instant::rfc3339;

/// The file, with its heading. A value that is not known is an empty cell.
///
/// ```
/// use weir_console::chart::csv::text;
/// use weir_console::chart::series::{Line, Tone};
/// let line = Line { name: "Admitted".to_owned(), tone: Tone::Blue, points: vec![(0, Some(1.5)), (60_000, None)] };
/// assert_eq!(
///     text(&[line], "units/s"),
///     "time,\"Admitted, units/s\"\n1970-01-01T00:00:00Z,1.5\n1970-01-01T00:01:00Z,\n"
/// );
/// ```
pub fn text(lines: &[Line], unit: &str) -> String {
    let mut text = "time".to_owned();
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
        for line in lines {
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
            text(&lines, ""),
            "time,\"a\"\"b,c\",\"'=1+1\"\n1970-01-01T00:00:00Z,2,2\n"
        );
        assert_eq!(text(&[], ""), "time\n");
        assert_eq!(address("a b,\n"), "data:text/csv;charset=utf-8,a%20b%2C%0A");
    }
}
