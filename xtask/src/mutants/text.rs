//! Where a line and a column are in a text.

use std::ops::Range;

use anyhow::{Context, Result};

use super::list::{Place, Span};

/// A text and where its lines begin.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) whole: &'a str,
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(whole: &'a str) -> Self {
        let ends = whole.match_indices('\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1));
        Self {
            whole,
            starts: starts.collect(),
        }
    }

    /// The bytes of a span.
    pub(super) fn range(&self, span: Span) -> Result<Range<usize>> {
        Ok(self.offset(span.start)?..self.offset(span.end)?)
    }

    fn offset(&self, Place { line, column }: Place) -> Result<usize> {
        let found = || {
            let start = *self.starts.get(line.checked_sub(1)?)?;
            let rest = self.whole.get(start..)?;
            let mut characters = rest.char_indices().map(|(at, _)| at);
            let at = characters.nth(column.checked_sub(1)?);
            // The place after the last character of the file is one, too.
            Some(start + at.unwrap_or(rest.len()))
        };
        found().with_context(|| format!("no line {line} with a column {column}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_offsets_are_bytes() {
        let text = Text::new("a\nbäc\n");
        let place = |line, column| Place { line, column };
        let range = |start, end| text.range(Span { start, end }).unwrap();
        assert_eq!(range(place(1, 1), place(1, 2)), 0..1);
        assert_eq!(range(place(2, 2), place(2, 3)), 3..5);
        assert_eq!(range(place(2, 3), place(3, 1)), 5..7);
        let beyond = place(4, 1);
        assert!(
            text.range(Span {
                start: place(1, 1),
                end: beyond
            })
            .is_err()
        );
    }
}
