//! Which mutants compile: all are written into the copy, and those that errors come from are taken out, until there are none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};

use super::blame::{CompilerError, Edited, blamed, errors};
use super::list::{Genre, Mutant};
use super::schema::{Written, write};
use super::site::{Found, find};
use super::{Id, examples, switch, tree};
use crate::{crates, paths, progress};

/// An error hides others, those of borrowing all of them: a handful of rounds is usual.
const ROUNDS_MAX: usize = 20;

/// The crate that has the switch: all others need it.
const CRATE: &str = "shared/core/src/lib.rs";

/// The package that has the examples as tests: it has all crates.
const MANIFEST: &str = "shared/Cargo.toml";

/// What came of the attempt to compile them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Viable {
    /// These are compiled into the copy.
    pub(super) tried: Vec<Id>,
    /// These do not compile.
    pub(super) unviable: Vec<Id>,
    /// These may compile by themselves, and cannot be behind a switch.
    pub(super) not_tried: Vec<Id>,
}

/// A file with mutants.
struct Source<'a> {
    text: String,
    mutants: Vec<(Id, &'a Mutant)>,
    found: Found,
}

/// Writes the copy with all mutants in it that compile.
pub(super) fn compiled(mutants: &[Mutant]) -> Result<Viable> {
    let sources = sources(mutants)?;
    let mut out = BTreeSet::new();
    for round in 1..=ROUNDS_MAX {
        let blamed = checked(&sources, mutants.len(), &out)?;
        if blamed.is_empty() {
            return Ok(sorted(mutants, &sources, &out));
        }
        progress::note(&format!("round {round}: {} do not compile", blamed.len()));
        out.extend(blamed);
    }
    bail!("after {ROUNDS_MAX} rounds there are still mutants that do not compile")
}

fn sources(mutants: &[Mutant]) -> Result<BTreeMap<&str, Source<'_>>> {
    let mut by_file: BTreeMap<&str, Vec<(Id, &Mutant)>> = BTreeMap::new();
    for (id, mutant) in (1..).zip(mutants) {
        by_file.entry(&mutant.file).or_default().push((id, mutant));
    }
    let mut sources = BTreeMap::new();
    for (file, mutants) in by_file {
        let text = read(file)?;
        let found = find(&text, &mutants).with_context(|| format!("reading {file}"))?;
        sources.insert(
            file,
            Source {
                text,
                mutants,
                found,
            },
        );
    }
    Ok(sources)
}

/// Writes the copy without those that are out, and returns whom the compiler's errors come from.
fn checked(
    sources: &BTreeMap<&str, Source<'_>>,
    count: usize,
    out: &BTreeSet<Id>,
) -> Result<BTreeSet<Id>> {
    let write =
        |source: &Source<'_>| write(&source.text, &source.found.sites, |id| out.contains(&id));
    let written = sources.iter();
    let written = written.map(|(file, source)| (*file, write(source)));
    let written: BTreeMap<&str, Written> = written.collect();
    tree::fill(&texts(&written, count)?)?;
    let mut cargo = tree::cargo(true);
    cargo.args(["check", "--package", "weir-shared", "--lib"]);
    cargo.args(["--quiet", "--message-format", "json"]);
    let output = cargo.output();
    let output = output.context("`cargo check` could not be started")?;
    if output.status.success() {
        return Ok(BTreeSet::new());
    }
    let errors = errors(&String::from_utf8_lossy(&output.stdout));
    let blamed = all_blamed(&errors, sources, &written, out);
    if blamed.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = errors.first().map_or(&*said, |error| &error.text);
        bail!("the copy does not compile, whatever mutant is left out: {first}");
    }
    Ok(blamed)
}

/// Whom these errors come from, of those that are not out already.
fn all_blamed(
    errors: &[CompilerError],
    sources: &BTreeMap<&str, Source<'_>>,
    written: &BTreeMap<&str, Written>,
    out: &BTreeSet<Id>,
) -> BTreeSet<Id> {
    let files = sources.iter().map(|(file, source)| {
        let remain = source.mutants.iter().filter(|(id, _)| !out.contains(id));
        let edited = Edited {
            source: &source.text,
            written: &written[file],
            mutants: remain.copied().collect(),
        };
        (*file, edited)
    });
    let files: BTreeMap<&str, Edited<'_>> = files.collect();
    let blamed = errors.iter().flat_map(|error| blamed(error, &files));
    blamed.collect()
}

/// The files of the copy that are not as they were.
fn texts(written: &BTreeMap<&str, Written>, count: usize) -> Result<BTreeMap<String, String>> {
    let text = |(file, written): (&&str, &Written)| ((*file).to_owned(), written.text.clone());
    let mut texts: BTreeMap<String, String> = written.iter().map(text).collect();
    let whole = format!("{}{}{}", switch::FEATURES, read(CRATE)?, switch::MODULE);
    texts.insert(CRATE.to_owned(), whole);
    texts.insert(
        "shared/core/src/mutant.rs".to_owned(),
        switch::module(count),
    );
    let manifest = read(MANIFEST)? + examples::TARGET;
    texts.insert(MANIFEST.to_owned(), manifest);
    texts.insert("shared/tests/examples.rs".to_owned(), examples()?);
    Ok(texts)
}

fn examples() -> Result<String> {
    let files = tree::listed()?;
    let is_source = |file: &&String| crates::source(file).is_some() && file.ends_with(".rs");
    let sources = files.iter().filter(is_source);
    let sources: Vec<(&str, String)> = sources
        .map(|file| Ok((file.as_str(), read(file)?)))
        .collect::<Result<_>>()?;
    Ok(examples::program(
        sources.iter().map(|(file, text)| (*file, text.as_str())),
    ))
}

fn read(file: &str) -> Result<String> {
    let path = paths::root().join(file);
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

fn sorted(mutants: &[Mutant], sources: &BTreeMap<&str, Source<'_>>, out: &BTreeSet<Id>) -> Viable {
    let mut viable = Viable::default();
    let of = |list: fn(&Found) -> &Vec<Id>| -> BTreeSet<Id> {
        sources
            .values()
            .flat_map(|source| list(&source.found))
            .copied()
            .collect()
    };
    let (unviable, not_tried) = (of(|found| &found.unviable), of(|found| &found.not_tried));
    for (id, mutant) in (1..).zip(mutants) {
        let list = if not_tried.contains(&id) || (out.contains(&id) && is_opaque(mutant)) {
            &mut viable.not_tried
        } else if unviable.contains(&id) || out.contains(&id) {
            &mut viable.unviable
        } else {
            &mut viable.tried
        };
        list.push(id);
    }
    viable
}

/// Whether it returns what has no name: all that it returns is of one type, so that nothing else can be returned beside it.
fn is_opaque(mutant: &Mutant) -> bool {
    let returns = mutant.function.as_ref().map(|function| &function.returns);
    mutant.genre == Genre::Return && returns.is_some_and(|returns| returns.contains("impl "))
}
