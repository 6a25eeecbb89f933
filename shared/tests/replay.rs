//! Replays folders of golden vectors, one line at a time.

mod calendar;
mod combine;
mod config;
mod decision;
mod escrow_processes;
mod fair;
mod federated_escrow;
mod float;
mod leaky;
mod lease_sizer;
mod leasing;
mod line;
mod max_min;
mod multi;
mod numbers;
mod partition;
mod region_pool;
mod report;
mod share;
mod share_twin;
mod single;
mod spender;
mod twin;
mod validation;
mod weights;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use weir_shared::units::EpochMs;

use self::line::{Op, Sequence};
pub use self::report::{Counts, Report};
use self::report::{FileReport, Outcome, Why};

/// A sequence under way.
trait Replay {
    /// Applies one operation and compares what comes of it.
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome;
}

/// Makes the instance of a sequence, or says why nothing of it is compared.
type Start = fn(&Sequence) -> Result<Box<dyn Replay>, Why>;

/// How the sequences of a file are replayed.
enum Part {
    Served(Start),
    Unknown,
}

impl Part {
    fn of(file_stem: &str) -> Self {
        match file_stem {
            "gcra" | "token_bucket" | "fixed_window" | "sliding_window" | "sliding_window_log"
            | "quota" => Self::Served(single::start),
            "leaky_bucket" => Self::Served(leaky::start),
            "multi" => Self::Served(multi::start),
            "combine_decisions" => Self::Served(combine::start),
            "calendar" => Self::Served(calendar::start),
            "validation" => Self::Served(validation::start),
            "weighted_fair_escrow_l2" => Self::Served(escrow_processes::start),
            "lease_sizer" => Self::Served(lease_sizer::start),
            "federated_leasing" => Self::Served(leasing::start),
            "lease_spender" => Self::Served(spender::start),
            "static_partition" => Self::Served(partition::start),
            "federated_weighted_fair_escrow" => Self::Served(federated_escrow::start),
            "region_fair_pool" => Self::Served(region_pool::start),
            "fair_share" => Self::Served(share::fair),
            "weighted_fair_share" => Self::Served(share::weighted),
            "weighted_fair_escrow" => Self::Served(share::escrow),
            "weighted_max_min" => Self::Served(max_min::start),
            _ => Self::Unknown,
        }
    }

    fn start(&self, sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
        match self {
            Self::Served(start) => start(sequence),
            Self::Unknown => Err("a file of an unknown name".into()),
        }
    }
}

/// Replays every file of a folder and of the folders in it, by name.
pub fn folder(folder: &Path) -> Report {
    let mut names = Vec::new();
    list(folder, "", &mut names);
    names.sort();
    let mut report = Report::default();
    for name in names {
        match name.strip_suffix(".jsonl") {
            Some(_) => report.files.push(file(&name, &folder.join(&name))),
            None => report.ignored.push(name),
        }
    }
    report
}

/// Adds the files of a folder, each by its path from where the listing began.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("the folder {} cannot be read: {error}", folder.display()));
    for entry in entries {
        let entry = entry.expect("an entry of the folder can be read");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // A link is not followed: it could lead back here.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(&entry.path(), &format!("{name}/"), names),
            _ => names.push(name),
        }
    }
}

fn file(name: &str, path: &Path) -> FileReport {
    let mut report = FileReport::new(name);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match File::open(path).map(BufReader::new) {
        Ok(read) if fair::has(&stem) => fair::lines(&stem, read, &mut report),
        Ok(read) => lines(&Part::of(&stem), read, &mut report),
        Err(error) => report.broken(0, error),
    }
    report
}

fn lines(part: &Part, mut reader: impl BufRead, report: &mut FileReport) {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return report.broken(number, error),
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Sequence>(&line) {
            Ok(read) => sequence(part, &read, report),
            Err(error) => report.broken(number, error),
        }
    }
}

fn sequence(part: &Part, sequence: &Sequence, report: &mut FileReport) {
    report.counts.sequences += 1;
    let mut replay = match part.start(sequence) {
        Ok(replay) => replay,
        Err(why) => return report.skip(why, sequence.ops.len()),
    };
    let mut latest = EpochMs(0);
    for (index, op) in sequence.ops.iter().enumerate() {
        let outcome = match op.now() {
            None => Outcome::SkippedFromHere(
                "a time that is no whole number of milliseconds since 1970, and what follows"
                    .into(),
            ),
            Some(now) if now < latest => {
                Outcome::SkippedFromHere("a clock that goes back, and what follows".into())
            }
            Some(now) => {
                latest = now;
                replay.apply(op, now)
            }
        };
        if let Outcome::SkippedFromHere(why) = outcome {
            return report.skip(why, sequence.ops.len() - index);
        }
        report.add(&sequence.id, index, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(stem: &str, text: &str) -> FileReport {
        let mut report = FileReport::new(stem);
        lines(&Part::of(stem), text.as_bytes(), &mut report);
        report
    }

    /// One check of a fixed window of 2 units a second.
    fn check(result: &str) -> String {
        format!(
            r#"{{"id":"a","tags":[],"config":{{"type":"fixedWindow","limit":2,"windowMs":1000}},
            "ops":[{{"t":0,"op":"check","args":{{"key":"k"}},"result":{result}}}]}}"#
        )
        .replace('\n', " ")
    }

    #[test]
    fn what_agrees_passes_and_what_differs_fails() {
        let right = r#"{"allowed":true,"limit":2,"remaining":1,"resetAt":1000,"retryAfterMs":0}"#;
        let passed = report("fixed_window", &check(right));
        assert_eq!(
            (passed.counts.passed, passed.is_clean()),
            (1, true),
            "{passed}"
        );
        for (is, was) in [("true", "false"), (":1,", ":2,"), ("1000", "1001")] {
            let failed = report("fixed_window", &check(&right.replace(is, was)));
            assert_eq!(
                (failed.counts.failed, failed.is_clean()),
                (1, false),
                "{failed}"
            );
        }
        let thrown = report(
            "fixed_window",
            &check(r#"{"error":{"name":"RangeError","message":""}}"#),
        );
        assert_eq!(
            thrown.counts.failed, 1,
            "a good cost that was refused: {thrown}"
        );
    }

    #[test]
    fn a_line_that_is_no_sequence_is_a_failure_in_any_file() {
        for stem in ["gcra", "fair_share", "unheard_of"] {
            for line in ["{", "[]", r#"{"id":"a"}"#, "\u{fffd}"] {
                assert!(!report(stem, line).is_clean(), "{stem}: {line}");
            }
        }
        assert!(report("gcra", "\n\n").is_clean(), "empty lines are none");
    }

    #[test]
    fn what_is_not_served_is_skipped_with_its_reason() {
        let line = check("null");
        let unknown = report("unheard_of", &line);
        assert_eq!(
            unknown.skipped_for("a file of an unknown name"),
            1,
            "{unknown}"
        );
    }
}
