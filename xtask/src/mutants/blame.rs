//! Whose an error of the compiler is: what lies where the error is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use super::Id;
use super::list::Mutant;
use super::schema::Written;
use super::text::Text;

/// An error of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompilerError {
    /// As a person reads it.
    pub(super) text: String,
    /// Where it is, the main place first.
    pub(super) places: Vec<ErrorPlace>,
}

/// A part of a file of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorPlace {
    /// From the root of the copy.
    pub(super) file: String,
    pub(super) range: Range<usize>,
    main: bool,
}

/// The errors in what cargo says, a line each.
pub(super) fn errors(output: &str) -> Vec<CompilerError> {
    let lines = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: Value| error(&line)).collect()
}

fn error(line: &Value) -> Option<CompilerError> {
    let message = &line["message"];
    let is_error = line["reason"] == "compiler-message" && message["level"] == "error";
    // What sums the errors up is nowhere.
    let spans = message["spans"]
        .as_array()
        .filter(|spans| is_error && !spans.is_empty())?;
    let mut places: Vec<ErrorPlace> = spans.iter().filter_map(place).collect();
    places.sort_by_key(|place| !place.main);
    let text = message["rendered"].as_str().unwrap_or_default().to_owned();
    Some(CompilerError { text, places })
}

/// Where it is; for what a macro wrote, where the macro is called.
fn place(span: &Value) -> Option<ErrorPlace> {
    let mut at = span;
    while !at["expansion"].is_null() {
        at = &at["expansion"]["span"];
    }
    let byte = |name: &str| usize::try_from(at[name].as_u64()?).ok();
    Some(ErrorPlace {
        file: at["file_name"].as_str()?.to_owned(),
        range: byte("byte_start")?..byte("byte_end")?,
        main: span["is_primary"] == true,
    })
}

/// An edited file.
pub(super) struct Edited<'a> {
    pub(super) source: &'a str,
    pub(super) written: &'a Written,
    /// Its mutants that are written.
    pub(super) mutants: Vec<(Id, &'a Mutant)>,
}

/// The mutants that an error comes from: what is nearest to it, and all of the function or of the file if nothing is near. None
/// where it is in a file without any.
pub(super) fn blamed(error: &CompilerError, files: &BTreeMap<&str, Edited<'_>>) -> BTreeSet<Id> {
    let in_files = error.places.iter();
    let places: Vec<(&ErrorPlace, &Edited<'_>)> = in_files
        .filter_map(|place| Some((place, files.get(place.file.as_str())?)))
        .collect();
    let (main, others): (Vec<_>, Vec<_>) = places.iter().partition(|(place, _)| place.main);
    let guesses: [&dyn Fn() -> BTreeSet<Id>; 5] = [
        &|| gathered(&main, of_mutants),
        &|| gathered(&others, of_mutants),
        &|| gathered(&places, of_site),
        &|| gathered(&places, of_function),
        &|| gathered(&places, of_file),
    ];
    let mut guesses = guesses.iter().map(|guess| guess());
    guesses.find(|ids| !ids.is_empty()).unwrap_or_default()
}

fn gathered(
    places: &[(&ErrorPlace, &Edited<'_>)],
    of: fn(&ErrorPlace, &Edited<'_>) -> Vec<Id>,
) -> BTreeSet<Id> {
    places
        .iter()
        .flat_map(|(place, file)| of(place, file))
        .collect()
}

/// What the place is in, or what is in it.
fn of_mutants(place: &ErrorPlace, file: &Edited<'_>) -> Vec<Id> {
    let near = file
        .written
        .mutants
        .iter()
        .filter(|(range, _)| contains(range, &place.range) || contains(&place.range, range));
    near.map(|(_, id)| *id).collect()
}

/// The innermost place with mutants around it.
fn of_site(place: &ErrorPlace, file: &Edited<'_>) -> Vec<Id> {
    let around = file.written.sites.iter();
    let around = around.filter(|(range, _)| contains(range, &place.range));
    let innermost = around.min_by_key(|(range, _)| range.len());
    innermost.map(|(_, ids)| ids.clone()).unwrap_or_default()
}

fn of_function(place: &ErrorPlace, file: &Edited<'_>) -> Vec<Id> {
    let text = Text::new(file.source);
    let Some(at) = file.written.source(place.range.start) else {
        return Vec::new();
    };
    let is_around = |mutant: &Mutant| {
        let function = mutant.function.as_ref();
        let range = function.and_then(|function| text.range(function.span).ok());
        range.is_some_and(|range| range.contains(&at))
    };
    let around = file.mutants.iter().filter(|(_, mutant)| is_around(mutant));
    around.map(|(id, _)| *id).collect()
}

fn of_file(_: &ErrorPlace, file: &Edited<'_>) -> Vec<Id> {
    file.mutants.iter().map(|(id, _)| *id).collect()
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::super::list::Genre::{Binary, Return};
    use super::super::list::tests::mutant_of;
    use super::super::schema::write;
    use super::super::site::find;
    use super::*;

    const SOURCE: &str = "fn f() { g(a + b); h(c) }";

    /// Who is blamed for an error at the first place of these texts, the main one first.
    fn blamed_for(parts: &[&str], file: &str) -> Vec<Id> {
        let mutants = [
            mutant_of(SOURCE, Return, "g(a + b); h(c)", "Other::default()"),
            mutant_of(SOURCE, Binary, "+", "-"),
            mutant_of(SOURCE, Binary, "+", "*"),
        ];
        let numbered: Vec<(Id, &Mutant)> = (1..).zip(&mutants).collect();
        let written = write(SOURCE, &find(SOURCE, &numbered).unwrap().sites, |_| false);
        let place = |(index, part): (usize, &&str)| {
            let start = written.text.find(part).unwrap();
            ErrorPlace {
                file: file.to_owned(),
                range: start..start + part.len(),
                main: index == 0,
            }
        };
        let places = parts.iter().enumerate().map(place).collect();
        let error = CompilerError {
            text: String::new(),
            places,
        };
        let edited = Edited {
            source: SOURCE,
            written: &written,
            mutants: numbered,
        };
        blamed(&error, &BTreeMap::from([("a.rs", edited)]))
            .into_iter()
            .collect()
    }

    #[test]
    fn an_error_is_that_of_the_mutant_that_it_is_in() {
        assert_eq!(blamed_for(&["default"], "a.rs"), [1]);
        assert_eq!(blamed_for(&["a * b"], "a.rs"), [3]);
        // A place beside it names the mutant.
        assert_eq!(blamed_for(&["a + b", "a - b"], "a.rs"), [2]);
    }

    #[test]
    fn an_error_near_no_mutant_is_that_of_what_is_around() {
        assert_eq!(blamed_for(&["a + b"], "a.rs"), [2, 3]);
        assert_eq!(blamed_for(&["h(c)"], "a.rs"), [1, 2, 3]);
        assert!(blamed_for(&["h(c)"], "b.rs").is_empty());
    }

    #[test]
    fn an_error_of_a_macro_is_where_the_macro_is_called() {
        let span = r#"{"file_name": "std.rs", "byte_start": 1, "byte_end": 2, "is_primary": true,
            "expansion": {"span": {"file_name": "a.rs", "byte_start": 5, "byte_end": 9, "expansion": null}}}"#;
        let line = format!(
            r#"{{"reason": "compiler-message", "message": {{"level": "error", "rendered": "no", "spans": [{span}]}}}}"#
        );
        let line = line.replace('\n', " ");
        let due = ErrorPlace {
            file: "a.rs".to_owned(),
            range: 5..9,
            main: true,
        };
        assert_eq!(errors(&line)[0].places, [due]);
        assert_eq!(errors(&line.replace("\"error\"", "\"warning\"")), []);
    }
}
