//! Rows of text as a table: in columns for a terminal, in Markdown for a pull request. Names of strangers stand in them,
//! so what nobody sees of a name is written out.

use weir_shared::visible::visible;

/// On which side of its column a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    heads: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(heads: &[(&'static str, Side)]) -> Self {
        Self {
            heads: heads.to_vec(),
            rows: Vec::new(),
        }
    }

    /// One more row. What has no head is left out, what is missing is empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| visible(&cell)).collect();
        cells.resize(self.heads.len(), String::new());
        self.rows.push(cells);
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// In columns, a line a row, each ended.
    ///
    /// ```
    /// use weir_cli::table::{Side, Table};
    /// let mut table = Table::new(&[("tenant", Side::Left), ("used", Side::Right)]);
    /// table.row(["acme".to_owned(), "12".to_owned()]);
    /// assert_eq!(table.text(), "tenant  used\nacme      12\n");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let heads: Vec<String> = self
            .heads
            .iter()
            .map(|(head, _)| (*head).to_owned())
            .collect();
        let lines = || std::iter::once(&heads).chain(&self.rows);
        let widest = |column: usize| lines().map(|line| width(&line[column])).max();
        let widths: Vec<usize> = (0..heads.len()).map(|at| widest(at).unwrap_or(0)).collect();
        let mut text = String::new();
        for line in lines() {
            let cells = line.iter().zip(&widths).zip(&self.heads);
            let cells: Vec<String> = cells
                .map(|((cell, width), (_, side))| padded(cell, *width, *side))
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// In Markdown, a line a row, each ended.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        text.push_str(&line(
            self.heads.iter().map(|(head, _)| escaped(head)).collect(),
        ));
        let rule = |side: &Side| match side {
            Side::Left => "---".to_owned(),
            Side::Right => "---:".to_owned(),
        };
        text.push_str(&line(
            self.heads.iter().map(|(_, side)| rule(side)).collect(),
        ));
        for row in &self.rows {
            text.push_str(&line(row.iter().map(|cell| escaped(cell)).collect()));
        }
        text
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn padded(cell: &str, width_wanted: usize, side: Side) -> String {
    let room = " ".repeat(width_wanted.saturating_sub(width(cell)));
    match side {
        Side::Left => format!("{cell}{room}"),
        Side::Right => format!("{room}{cell}"),
    }
}

/// A text in Markdown that stands for itself (CommonMark, section 2.4).
///
/// ```
/// assert_eq!(weir_cli::table::escaped("a|b `c` <d>"), "a\\|b \\`c\\` \\<d>");
/// ```
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if "\\`*_[]<|#@!".contains(c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("tenant", Side::Left), ("used", Side::Right)]);
        table.row(["ac\u{1b}[2Jme".to_owned(), "1,200".to_owned()]);
        table.row(["b".to_owned()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_hide_nothing() {
        assert_eq!(
            table().text(),
            "tenant            used\nac⟨U+001B⟩[2Jme  1,200\nb\n"
        );
    }

    #[test]
    fn markdown_has_a_rule_and_no_name_ends_its_cell() {
        let mut table = table();
        table.row(["a|b".to_owned(), "2".to_owned()]);
        assert_eq!(
            table.markdown(),
            "| tenant | used |\n| --- | ---: |\n| ac⟨U+001B⟩\\[2Jme | 1,200 |\n| b |  |\n| a\\|b | 2 |\n"
        );
    }
}
