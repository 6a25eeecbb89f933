//! A file of one entry a line: a fault is told with the line at which it is.

use crate::failure::Failure;

/// The text of a file.
///
/// # Errors
/// At line 1 of a file that is not UTF-8.
pub fn text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|why| unparsed(file, 1, format!("this is no text: {why}")))
}

/// What is at fault in a line, by its number from 1 on.
#[must_use]
pub fn unparsed(file: &str, line: usize, why: impl ToString) -> Failure {
    Failure::Unparsed {
        file: file.to_owned(),
        line,
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_told_with_its_file() {
        assert_eq!(text("trace", b"one").unwrap(), "one");
        let refused = text("trace", b"one\n\xff").unwrap_err().to_string();
        assert!(
            refused.contains("trace") && refused.contains("this is no text"),
            "{refused}"
        );
    }
}
