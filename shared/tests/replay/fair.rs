//! Golden vectors of FAIR: one JSON object a line, in a form of its own for each file.

mod decay;
mod hash;
mod near;
mod structure;
mod trace;
mod tracker;
mod tuned;
mod validate;

use std::io::BufRead;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::report::{FileReport, Outcome};

/// What a line is.
enum Line {
    /// A sequence of one operation.
    Single(Outcome),
    /// The first line of a sequence.
    Opened,
    /// An operation of the sequence that was opened last.
    Step(Outcome),
}

/// Reads one file line by line. An error is a line that is no vector.
trait Reader {
    fn line(&mut self, line: Value) -> Result<Line, String>;
}

/// A file of lines that stand for themselves.
struct Singles<T>(fn(&T) -> Outcome);

impl<T: DeserializeOwned> Reader for Singles<T> {
    fn line(&mut self, line: Value) -> Result<Line, String> {
        parse(line).map(|read| Line::Single((self.0)(&read)))
    }
}

/// Whether a file of this name is one of FAIR's.
pub fn has(file_stem: &str) -> bool {
    reader(file_stem).is_some()
}

fn reader(file_stem: &str) -> Option<Box<dyn Reader>> {
    Some(match file_stem {
        "hash" => Box::new(Singles(hash::compare)),
        "tuned" => Box::new(Singles(tuned::compare)),
        "decay" => Box::new(Singles(decay::compare)),
        "validate" => Box::new(Singles(validate::compare)),
        "trace_structure" => Box::new(trace::Traces::<structure::Trace>::default()),
        "trace_tracker" => Box::new(trace::Traces::<tracker::Trace>::default()),
        _ => return None,
    })
}

/// Replays the file of this name.
pub fn lines(file_stem: &str, lines: impl BufRead, report: &mut FileReport) {
    let Some(mut reader) = reader(file_stem) else {
        return report.broken(0, "a file of an unknown name");
    };
    let mut index = 0;
    for (number, line) in (1..).zip(lines.lines()) {
        let line = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => line,
            Err(error) => return report.broken(number, error),
        };
        let read = serde_json::from_str(&line).map_err(|error| error.to_string());
        match read.and_then(|line| reader.line(line)) {
            Ok(Line::Opened) => {
                report.counts.sequences += 1;
                index = 0;
            }
            Ok(Line::Single(outcome)) => {
                report.counts.sequences += 1;
                report.add(&format!("line {number}"), 0, outcome);
            }
            Ok(Line::Step(outcome)) => {
                report.add(&format!("line {number}"), index, outcome);
                index += 1;
            }
            Err(error) => report.broken(number, error),
        }
    }
}

fn parse<T: DeserializeOwned>(line: Value) -> Result<T, String> {
    serde_json::from_value(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"cfg":{"L":3,"M":1000,"Pd":0.00004,"Pi":0.04,"final":"min","lambda":0.01},"kind":"trace","murmur_seed":1610464650,"t0_ms":0,"trace":"a"}
{"final":0.04,"id":"client-0","idx":[91,738,681],"kind":"step","op":"failure","p":[0.04,0.04,0.04],"t_ms":1000,"trace":"a"}
{"final":0.04,"id":"client-0","idx":[91,738,681],"kind":"step","op":"register","p":[0.04,0.04,0.04],"t_ms":1000,"throttle":true,"trace":"a","u":0.03}
"#;

    fn report(stem: &str, text: &str) -> FileReport {
        let mut report = FileReport::new(stem);
        lines(stem, text.as_bytes(), &mut report);
        report
    }

    #[test]
    fn a_trace_that_agrees_passes_and_one_that_differs_anywhere_fails() {
        let right = report("trace_structure", TRACE);
        let counts = &right.counts;
        assert_eq!((counts.sequences, counts.passed), (1, 2), "{right}");
        assert!(right.is_clean(), "{right}");
        for (is, was) in [
            (
                r#"738,681],"kind":"step","op":"failure""#,
                r#"738,680],"kind":"step","op":"failure""#,
            ),
            (
                r#""p":[0.04,0.04,0.04],"t_ms":1000,"thr"#,
                r#""p":[0.04,0.04,0.0400001],"t_ms":1000,"thr"#,
            ),
            (r#""throttle":true"#, r#""throttle":false"#),
            (r#"{"final":0.04,"id""#, r#"{"final":0.05,"id""#),
            (r#""op":"register""#, r#""op":"unheard_of""#),
            (r#""murmur_seed":1610464650"#, r#""murmur_seed":1610464651"#),
            (r#""Pi":0.04"#, r#""Pi":0.05"#),
            (r#""L":3"#, r#""L":0"#),
        ] {
            let text = TRACE.replacen(is, was, 1);
            assert_ne!(text, TRACE, "{is}");
            assert!(!report("trace_structure", &text).is_clean(), "{was}");
        }
    }

    #[test]
    fn a_step_without_its_trace_is_broken() {
        let steps: String = TRACE.lines().skip(1).collect::<Vec<_>>().join("\n");
        assert!(!report("trace_structure", &steps).is_clean());
        let other = TRACE.replacen(r#""t0_ms":0,"trace":"a""#, r#""t0_ms":0,"trace":"b""#, 1);
        assert!(!report("trace_structure", &other).is_clean());
    }

    #[test]
    fn what_follows_a_clock_that_goes_back_is_not_compared() {
        let back = TRACE.replacen(r#""t_ms":1000,"throttle""#, r#""t_ms":999,"throttle""#, 1);
        let report = report("trace_structure", &back);
        assert_eq!(
            (report.counts.passed, report.counts.skipped),
            (1, 1),
            "{report}"
        );
    }

    #[test]
    fn single_lines_that_differ_fail() {
        let hash = r#"{"h64":"bef385faead16340","hash1":3939590976,"hash2":3203630586,"hashes":[3939590976,2848254266],"id":"a","id_hex":"61","idx":{"7":[6,4]},"seed":4294967295}"#;
        let decay = r#"{"delta_ms":1001,"lambda":10,"out":0.000044948192913572124,"out_bits":"3f0790d8260c4532","p":1}"#;
        let validate = r#"{"L":3,"M":1000,"Pd":0.1,"Pi":0.5,"ok":true}"#;
        let tuned = r#"{"B":500,"L":64,"M":500,"M_bad":1000,"Pd":0.00004,"Pd_bits":"3f04f8b588e368f1","Pi":0.04,"Pi_bits":"3fa47ae147ae147b","clients":1000000,"lambda":0.01,"ok":true,"raw_L":63.475651689467256,"rotation_ms":300000,"structure_accepts":true,"tol":25}"#;
        for (stem, line, is, was) in [
            ("hash", hash, "[6,4]", "[6,5]"),
            ("hash", hash, "bef3", "bef4"),
            ("hash", hash, ":3939590976,", ":3939590977,"),
            ("decay", decay, "449481929", "449481930"),
            ("validate", validate, "true", "false"),
            ("tuned", tuned, r#""L":64"#, r#""L":63"#),
            ("tuned", tuned, "3fa47ae147ae147b", "3fa47ae147ae147c"),
            ("tuned", tuned, r#""M_bad":1000,"#, r#""M_bad":1001,"#),
        ] {
            let right = report(stem, line);
            assert!(right.is_clean() && right.counts.passed == 1, "{right}");
            let text = line.replacen(is, was, 1);
            assert_ne!(text, line, "{is}");
            assert!(!report(stem, &text).is_clean(), "{stem}: {was}");
        }
        for stem in ["hash", "decay", "validate", "tuned", "trace_tracker"] {
            for line in ["{", "{}", "7"] {
                assert!(!report(stem, line).is_clean(), "{stem}: {line}");
            }
        }
    }
}
