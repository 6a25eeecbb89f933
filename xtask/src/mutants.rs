//! `mutants`: whether the tests notice when what decides is changed (mutation testing; DeMillo, Lipton and Sayward, 1978).
//!
//! A sample of the changes that cargo-mutants knows is tried, one after the other, by all tests of the quick profile. What they
//! let pass is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::args::MutantsOptions;
use crate::{paths, process, progress, tools};

/// Rooms of `shared` that decide.
const ROOMS: [&str; 9] = [
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

/// Mutants of one run, where it is not said.
pub(crate) const SAMPLE: usize = 60;

/// The seed of a sample, where it is not said.
pub(crate) const SEED: u64 = 1;

/// The profile of nextest: that of the quick run, but that it ends with the first test that fails.
const NEXTEST_PROFILE: &str = "mutants";

/// How long tests may take that end by themselves within seconds: a mutant that loops is caught.
const TIMEOUT_SECS: &str = "300";

/// Samples, tries, and lists what no test noticed. Succeeds whatever that is: it is a figure, and no test.
pub(crate) fn run(options: &MutantsOptions) -> Result<ExitCode> {
    tools::ensure(&[&tools::MUTANTS, &tools::NEXTEST])?;
    let all = names(&process::capture(&mut list()?)?);
    let drawn = shard(sample(&all, options.sample, options.seed), options.shard);
    progress::note(&format!("{} of {} mutants", drawn.len(), all.len()));
    let found = tried(&drawn)?;
    let tried = drawn.len() - found.unviable;
    let caught = tried - found.missed.len();
    println!(
        "seed {}: {caught} of {tried} mutants caught ({} more do not compile)",
        options.seed, found.unviable
    );
    for name in &found.missed {
        println!("survives: {name}");
    }
    Ok(ExitCode::SUCCESS)
}

/// What came of mutants.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    missed: Vec<String>,
    unviable: usize,
}

fn tried(mutants: &[String]) -> Result<Found> {
    if mutants.is_empty() {
        return Ok(Found::default());
    }
    let output = paths::root().join("target/mutants/tried");
    if output.exists() {
        fs::remove_dir_all(&output).with_context(|| format!("removing {}", output.display()))?;
    }
    fs::create_dir_all(&output).with_context(|| format!("creating {}", output.display()))?;
    let read = |file: &str| {
        let path = paths::root().join(file);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    };
    let sampled = output.join("sample.diff");
    fs::write(&sampled, diff(mutants, read)?)
        .with_context(|| format!("writing {}", sampled.display()))?;
    // It ends with a status of its own where a mutant was missed: the lists say what came of each.
    process::end(&mut command(mutants, &output)?)?;
    let found = output.join("mutants.out");
    let list = |name: &str| -> Result<Vec<String>> {
        let path = found.join(name);
        let text = fs::read_to_string(&path);
        Ok(names(
            &text.with_context(|| format!("reading {}", path.display()))?,
        ))
    };
    let [caught, timeout, missed, unviable] =
        ["caught.txt", "timeout.txt", "missed.txt", "unviable.txt"].map(list);
    let (missed, unviable) = (missed?, unviable?.len());
    let judged = caught?.len() + timeout?.len() + missed.len() + unviable;
    if judged != mutants.len() {
        bail!("of {} mutants {judged} were judged", mutants.len());
    }
    Ok(Found { missed, unviable })
}

fn list() -> Result<Command> {
    let mut cargo = base()?;
    cargo.arg("--list");
    Ok(cargo)
}

fn command(mutants: &[String], output: &Path) -> Result<Command> {
    let mut cargo = base()?;
    // Mutants that drop a field are chosen by line alone: an expression passes over them (27.1.0).
    cargo.arg("--in-diff").arg(output.join("sample.diff"));
    cargo.arg("--re").arg(exactly(mutants));
    cargo.arg("--output").arg(output);
    cargo.args(["--profile", "mutants", "--timeout", TIMEOUT_SECS]);
    // The tests pass before anybody asks what they notice.
    cargo.args(["--baseline", "skip"]);
    // One folder for all runs: what packages are built from is compiled once.
    cargo.env(
        "CARGO_TARGET_DIR",
        paths::root().join("target/mutants/build"),
    );
    cargo.env("CARGO_INCREMENTAL", "1");
    cargo.env("NEXTEST_PROFILE", NEXTEST_PROFILE);
    cargo.args(["--test-tool", "nextest", "--", "--lib"]);
    cargo.args(["--test", "promises"]);
    Ok(cargo)
}

/// What both listing and trying say.
fn base() -> Result<Command> {
    let mut cargo = Command::new(tools::MUTANTS.bin()?.join("cargo-mutants"));
    cargo.current_dir(paths::root()).arg("mutants");
    cargo.args([
        "--no-config",
        "--colors",
        "never",
        "--package",
        "weir-shared",
    ]);
    for room in ROOMS {
        cargo.arg("--file").arg(format!("shared/src/{room}/**"));
        cargo.arg("--file").arg(format!("shared/src/{room}.rs"));
    }
    Ok(cargo)
}

fn names(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The `count` mutants whose names come first in an order that the seed draws: it does not depend on how many there are, so
/// a change of the code changes few of a sample.
fn sample(all: &[String], count: usize, seed: u64) -> Vec<String> {
    let mut drawn: Vec<(u64, &String)> = all.iter().map(|name| (rank(name, seed), name)).collect();
    drawn.sort_unstable();
    let drawn = drawn.into_iter().take(count);
    drawn.map(|(_, name)| name.clone()).collect()
}

/// FNV-1a of the name, mixed with the seed (Vigna's finalizer of SplitMix64).
fn rank(name: &str, seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Every `of`-th mutant, from the `index`-th on, counted from 1.
fn shard(drawn: Vec<String>, (index, of): (usize, usize)) -> Vec<String> {
    let drawn = drawn.into_iter().skip(index - 1);
    drawn.step_by(of).collect()
}

/// An expression that these names match and no others.
fn exactly(mutants: &[String]) -> String {
    let names: Vec<String> = mutants.iter().map(|name| escaped(name)).collect();
    format!("^(?:{})$", names.join("|"))
}

/// What stands for itself in an expression.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(2 * name.len());
    for character in name.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// A change that adds the lines of these mutants, and those alone, to files as `read` has them.
fn diff(mutants: &[String], read: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut lines: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for name in mutants {
        let (file, line) =
            place(name).with_context(|| format!("a mutant without a place: {name}"))?;
        lines.entry(file).or_default().insert(line);
    }
    let mut diff = String::new();
    for (file, numbers) in lines {
        let text = read(file)?;
        diff += &format!("--- a/{file}\n+++ b/{file}\n");
        for (added, number) in numbers.into_iter().enumerate() {
            let line = text.lines().nth(number - 1);
            let line = line.with_context(|| format!("{file} has no line {number}"))?;
            let before = number - 1 - added;
            diff += &format!("@@ -{before},0 +{number},1 @@\n+{line}\n");
        }
    }
    Ok(diff)
}

/// The file and the line of a mutant, from 1.
fn place(name: &str) -> Option<(&str, usize)> {
    let mut parts = name.splitn(3, ':');
    let (file, line) = (parts.next()?, parts.next()?.parse().ok()?);
    (line > 0).then_some((file, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: usize) -> Vec<String> {
        let name = |index| format!("shared/src/a.rs:{index}:5: replace f -> bool with true");
        (0..count).map(name).collect()
    }

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_another_for_another() {
        let all = all(1_000);
        let one = sample(&all, 50, 1);
        assert_eq!(one.len(), 50);
        assert_eq!(one, sample(&all, 50, 1));
        assert_eq!(one[..20], sample(&all, 20, 1)[..]);
        let both = |other: &[String]| one.iter().filter(|name| other.contains(name)).count();
        assert!(both(&sample(&all, 50, 2)) < 15);
        // A mutant more changes one of a sample at most.
        let more = self::all(1_001);
        assert!(both(&sample(&more, 50, 1)) >= 49);
        assert_eq!(sample(&all, 2_000, 1).len(), 1_000);
    }

    #[test]
    fn shards_are_apart_and_are_the_whole_together() {
        let drawn = sample(&all(100), 50, 1);
        let mut together = Vec::new();
        for index in 1..=3 {
            together.extend(shard(drawn.clone(), (index, 3)));
        }
        assert_eq!(together.len(), 50);
        together.sort();
        together.dedup();
        assert_eq!(together.len(), 50);
        assert_eq!(shard(drawn.clone(), (1, 1)), drawn);
    }

    #[test]
    fn a_name_is_matched_as_it_stands() {
        let name = "shared/src/a.rs:1:2: replace + with * in <impl A for B>::f (x|y) [z] {} .*";
        // `\<` would be the beginning of a word.
        assert_eq!(escaped("a.rs:1: + with <A>"), r"a\.rs:1: \+ with <A>");
        let expression = exactly(&[name.to_owned(), "b".to_owned()]);
        assert!(expression.starts_with(r"^(?:shared/src/a\.rs:1:2: "));
        assert!(expression.ends_with(r"\.\*|b)$"), "{expression}");
    }

    #[test]
    fn a_diff_has_the_lines_of_the_mutants() {
        let names = ["b.rs:3:1: x", "a.rs:2:9: y", "b.rs:1:5: z", "b.rs:3:7: w"].map(str::to_owned);
        let read = |_: &str| Ok("one\ntwo\nthree\n".to_owned());
        let due = "--- a/a.rs\n+++ b/a.rs\n@@ -1,0 +2,1 @@\n+two\n\
                   --- a/b.rs\n+++ b/b.rs\n@@ -0,0 +1,1 @@\n+one\n@@ -1,0 +3,1 @@\n+three\n";
        assert_eq!(diff(&names, read).unwrap(), due);
        for bad in ["b.rs:4:1: x", "b.rs", "b.rs:0:1: x"] {
            assert!(diff(&[bad.to_owned()], read).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_room_that_decides_is_there() {
        for room in ROOMS {
            let source = paths::root().join("shared/src");
            let is_there =
                source.join(room).is_dir() || source.join(format!("{room}.rs")).is_file();
            assert!(is_there, "{room}");
        }
    }

    #[test]
    fn mutants_are_tried_by_the_tests_of_the_quick_run() {
        let text = fs::read_to_string(paths::root().join(".config/nextest.toml")).unwrap();
        let filter = |profile: &str| {
            let from = text
                .split_once(&format!("[profile.{profile}]\n"))
                .unwrap()
                .1;
            let from = from.split_once("default-filter = '''").unwrap().1;
            from.split_once("'''").unwrap().0.to_owned()
        };
        assert_eq!(filter("quick"), filter(NEXTEST_PROFILE));
        let cargo = fs::read_to_string(paths::root().join("Cargo.toml")).unwrap();
        assert!(cargo.contains("\n[profile.mutants]\n"));
    }
}
