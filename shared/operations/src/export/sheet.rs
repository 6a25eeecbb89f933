//! How the entries of a list become lines of a spreadsheet: by a table of columns, each read where it stands in the entry.

use serde_json::Value;

use super::cell::{cell, time};
use super::file_form::FileForm;

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in the first line.
    pub name: &'static str,
    /// Where its value may stand, as JSON pointers (RFC 6901): the first that is there counts.
    pub at: &'static [&'static str],
    /// What its value is.
    pub form: CellForm,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellForm {
    /// A text, a number or a truth; nothing where it is absent.
    Plain,
    /// A count, which entries leave out where it is 0.
    Count,
    /// An instant in epoch milliseconds, written as RFC 3339 has it.
    Time,
    /// Any value, as JSON.
    Json,
}

/// What an entry holds by name, each of which is a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// What is held (`budget`), and where (`/budgets`).
    pub kinds: &'static [(&'static str, &'static str)],
    /// Whether an entry that holds nothing is a line, too.
    pub every_entry: bool,
    /// What each line tells of it, after `kind` and `name`, in the order of these groups.
    pub columns: &'static [&'static [Column]],
}

impl Named {
    fn columns(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.columns.iter().copied().flatten()
    }
}

/// The lines of one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sheet {
    /// What it is a list of: the name of its file, after `weir-`.
    pub name: &'static str,
    /// What is told of an entry.
    pub entry: &'static [Column],
    /// What is told of that which it holds by name; without it an entry is one line.
    pub named: Option<Named>,
}

impl Sheet {
    /// The line of names; empty where a file has none.
    #[must_use]
    pub fn header(&self, form: FileForm) -> String {
        if form == FileForm::JsonLines {
            return String::new();
        }
        let mut names: Vec<&str> = self.entry.iter().map(|column| column.name).collect();
        if let Some(named) = self.named {
            names.extend(["kind", "name"]);
            names.extend(named.columns().map(|column| column.name));
        }
        names.join(",") + "\r\n"
    }

    /// Adds the lines of an entry, which is given as JSON.
    ///
    /// # Errors
    /// A text that is not JSON.
    pub fn write(
        &self,
        form: FileForm,
        entry: &str,
        out: &mut String,
    ) -> Result<(), serde_json::Error> {
        match form {
            FileForm::JsonLines => {
                out.push_str(entry);
                out.push('\n');
            }
            FileForm::Csv => self.write_csv(&serde_json::from_str(entry)?, out),
        }
        Ok(())
    }

    fn write_csv(&self, entry: &Value, out: &mut String) {
        let start = cells(self.entry.iter(), entry);
        let Some(named) = self.named else {
            write_line(&start, out);
            return;
        };
        let mut lines = 0;
        for (kind, at) in named.kinds {
            let Some(Value::Object(held)) = entry.pointer(at) else {
                continue;
            };
            for (name, value) in held {
                let mut line = start.clone();
                line.extend([cell(kind), cell(name)]);
                line.extend(cells(named.columns(), value));
                write_line(&line, out);
                lines += 1;
            }
        }
        if lines == 0 && named.every_entry {
            let mut line = start;
            line.extend([String::new(), String::new()]);
            line.extend(cells(named.columns(), &Value::Null));
            write_line(&line, out);
        }
    }
}

fn write_line(cells: &[String], out: &mut String) {
    out.push_str(&cells.join(","));
    out.push_str("\r\n");
}

fn cells<'a>(columns: impl Iterator<Item = &'a Column>, value: &Value) -> Vec<String> {
    columns.map(|column| column.cell(value)).collect()
}

impl Column {
    fn cell(&self, value: &Value) -> String {
        let found = self.at.iter().find_map(|at| value.pointer(at));
        match (self.form, found) {
            (CellForm::Count, None) => "0".to_owned(),
            (CellForm::Json, Some(value)) => cell(&value.to_string()),
            (_, None | Some(Value::Null)) => String::new(),
            (CellForm::Time, Some(at)) => at.as_u64().map(time).unwrap_or_default(),
            (_, Some(Value::String(text))) => cell(text),
            (_, Some(other)) => cell(&other.to_string()),
        }
    }
}
