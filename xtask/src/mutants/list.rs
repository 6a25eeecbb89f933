//! What can be changed: the list of cargo-mutants.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{crates, paths, process, tools};

/// Crates of the core that decide.
pub(super) const ROOMS: [&str; 9] = [
    "access",
    "accounting",
    "algorithms",
    "fairness",
    "federation",
    "gateway",
    "limiting",
    "node",
    "overload",
];

/// A change of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    /// The place and the change, as people read it. No two mutants have the same.
    pub(super) name: String,
    /// From the root of the repository.
    pub(super) file: String,
    pub(super) genre: Genre,
    /// What is replaced: an operator, a guard, the statements of a function.
    pub(super) span: Span,
    pub(super) replacement: String,
    pub(super) function: Option<Function>,
}

/// The function that a mutant is in; a constant is in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) span: Span,
    /// As it is written, with the arrow.
    pub(super) returns: String,
}

/// What kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Genre {
    /// A function returns at once.
    Return,
    /// Another operator with two sides.
    Binary,
    /// Without an operator with one side.
    Unary,
    /// Without an arm of a match.
    Arm,
    /// The guard of an arm is always or never true.
    Guard,
    /// A field has the value of the base.
    Field,
}

/// From a place on, to another that is no longer part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
}

/// A line and a column in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Mutant {
    /// The crate of the core that it is in.
    pub(super) fn room(&self) -> &str {
        crates::source(&self.file).map_or(&*self.file, |(folder, _)| folder)
    }
}

/// All mutants of the crates that decide.
pub(super) fn all() -> Result<Vec<Mutant>> {
    let mut cargo = Command::new(tools::MUTANTS.bin()?.join("cargo-mutants"));
    cargo.current_dir(paths::root()).arg("mutants");
    cargo.args(["--no-config", "--colors", "never"]);
    for room in ROOMS {
        cargo.arg("--package").arg(format!("weir-{room}"));
    }
    cargo.args(["--list", "--json"]);
    read(&process::capture(&mut cargo)?)
}

fn read(json: &str) -> Result<Vec<Mutant>> {
    let list: Vec<Value> = serde_json::from_str(json).context("reading the list of mutants")?;
    list.iter()
        .map(|one| mutant(one).with_context(|| format!("reading {one}")))
        .collect()
}

fn mutant(value: &Value) -> Result<Mutant> {
    let function = &value["function"];
    let function = match function {
        Value::Null => None,
        _ => Some(Function {
            span: span(&function["span"])?,
            returns: text(&function["return_type"])?,
        }),
    };
    Ok(Mutant {
        name: text(&value["name"])?,
        file: text(&value["file"])?,
        genre: genre(&text(&value["genre"])?)?,
        span: span(&value["span"])?,
        replacement: text(&value["replacement"])?,
        function,
    })
}

fn genre(name: &str) -> Result<Genre> {
    Ok(match name {
        "FnValue" => Genre::Return,
        "BinaryOperator" => Genre::Binary,
        "UnaryOperator" => Genre::Unary,
        "MatchArm" => Genre::Arm,
        "MatchArmGuard" => Genre::Guard,
        "StructField" => Genre::Field,
        other => bail!("no kind of mutant that is known: {other}"),
    })
}

fn span(value: &Value) -> Result<Span> {
    Ok(Span {
        start: place(&value["start"])?,
        end: place(&value["end"])?,
    })
}

fn place(value: &Value) -> Result<Place> {
    let number = |name: &str| -> Result<usize> {
        let number = value[name].as_u64().filter(|number| *number > 0);
        let number = number.with_context(|| format!("no {name} from 1 on"))?;
        Ok(usize::try_from(number)?)
    };
    Ok(Place {
        line: number("line")?,
        column: number("column")?,
    })
}

fn text(value: &Value) -> Result<String> {
    let text = value.as_str().context("no text")?;
    Ok(text.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A mutant of the first place in `source` where `what` is, in the function of the whole source.
    pub(in super::super) fn mutant_of(
        source: &str,
        genre: Genre,
        what: &str,
        with: &str,
    ) -> Mutant {
        let start = source.find(what).unwrap();
        let place = |offset: usize| Place {
            line: source[..offset].matches('\n').count() + 1,
            column: source[..offset]
                .chars()
                .rev()
                .take_while(|c| *c != '\n')
                .count()
                + 1,
        };
        let span = |from, to| Span {
            start: place(from),
            end: place(to),
        };
        Mutant {
            name: format!("a.rs:{start}: replace {what} with {with}"),
            file: "shared/limiting/src/a.rs".to_owned(),
            genre,
            span: span(start, start + what.len()),
            replacement: with.to_owned(),
            function: Some(Function {
                span: span(0, source.len()),
                returns: String::new(),
            }),
        }
    }

    #[test]
    fn a_mutant_is_read_with_its_place() {
        let json = r#"[{"name": "shared/node/src/a.rs:3:9: replace f -> u8 with 1", "file": "shared/node/src/a.rs",
            "genre": "FnValue", "replacement": "1", "package": "weir-node",
            "span": {"start": {"line": 3, "column": 9}, "end": {"line": 4, "column": 2}},
            "function": {"function_name": "f", "return_type": "-> u8",
                "span": {"start": {"line": 2, "column": 1}, "end": {"line": 5, "column": 2}}}}]"#;
        let [one] = &read(json).unwrap()[..] else {
            panic!("one mutant")
        };
        assert_eq!((one.genre, one.room()), (Genre::Return, "node"));
        assert_eq!(one.span.start, Place { line: 3, column: 9 });
        assert_eq!(one.function.as_ref().unwrap().returns, "-> u8");
        let without = json.replace(r#""line": 3"#, r#""line": 0"#);
        assert!(read(&without).is_err());
        let unknown = json.replace("FnValue", "Other");
        assert!(read(&unknown).is_err());
    }

    #[test]
    fn every_room_that_decides_is_there() {
        for room in ROOMS {
            assert!(crates::FOLDERS.contains(&room), "{room}");
        }
    }
}
