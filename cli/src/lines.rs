//! A file of one entry a line: a fault is told with the line at which it is.

use crate::failure::Failure;

/// Reads each line, with its number from 1 on. Blank lines are passed over, and so is a byte order mark.
///
/// # Errors
/// At the first line that `read` refuses, or at line 1 of a file that is not UTF-8.
pub fn each(
    file: &str,
    bytes: &[u8],
    mut read: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), Failure> {
    let unparsed = |line: usize, why: String| Failure::Unparsed {
        file: file.to_owned(),
        line,
        why,
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|why| unparsed(1, format!("this is no text: {why}")))?
        .trim_start_matches('\u{feff}');
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if !line.is_empty() {
            read(number, line).map_err(|why| unparsed(number, why))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(bytes: &[u8]) -> Result<Vec<(usize, String)>, String> {
        let mut lines = Vec::new();
        let read = |number: usize, line: &str| match line {
            "bad" => Err("it is bad".to_owned()),
            line => {
                lines.push((number, line.to_owned()));
                Ok(())
            }
        };
        let ended = each("trace", bytes, read);
        ended.map_err(|failure| failure.to_string())?;
        Ok(lines)
    }

    #[test]
    fn each_line_has_its_number_whatever_is_blank_between() {
        let lines = numbered("\u{feff}one\n\n  \t\r\n two \r\n".as_bytes()).unwrap();
        assert_eq!(lines, [(1, "one".to_owned()), (4, "two".to_owned())]);
    }

    #[test]
    fn a_fault_is_told_with_its_file_and_line() {
        let refused = numbered(b"one\n\nbad\ntwo").unwrap_err();
        assert!(
            refused.contains("trace") && refused.contains('3') && refused.contains("it is bad")
        );
        let refused = numbered(b"one\n\xff").unwrap_err();
        assert!(refused.contains("this is no text"), "{refused}");
    }
}
