//! A log with the verdicts of a limiter, in the order of time.

use weir_shared::replay::agreement::Judged;
use weir_shared::replay::lines::numbered;
use weir_shared::replay::{Replay, in_order_by};

use crate::failure::Failure;
use crate::lines::{text, unparsed};
use crate::log_line::{EXACT_MS, LogLine};

/// Statuses by which limiters deny, where nobody says otherwise.
pub const DENIED: [u16; 2] = [429, 503];

/// What is read into a log besides what its lines say.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The limit for lines that name no rule.
    pub limit: Option<String>,
    /// The statuses by which requests were denied.
    pub denied: Vec<u16>,
}

/// The requests of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// In the order of time.
    pub requests: Vec<Judged>,
    /// The line of each.
    pub lines: Vec<usize>,
    /// How far its times may be wrong, milliseconds.
    pub clock_ms: u64,
}

/// Reads a log. Blank lines are passed over.
///
/// # Errors
/// At the first line that is no request, or one that the policy could not decide.
pub fn read(
    replay: &Replay<'_>,
    reading: &Reading,
    file: &str,
    bytes: &[u8],
) -> Result<Log, Failure> {
    let mut requests = Vec::new();
    let mut clock_ms = EXACT_MS;
    for (number, line) in numbered(text(file, bytes)?) {
        let at_fault = |why: String| unparsed(file, number, why);
        let line = LogLine::read(line, reading.limit.as_deref()).map_err(at_fault)?;
        let admitted = line.admitted(&reading.denied).map_err(at_fault)?;
        clock_ms = clock_ms.max(line.clock_ms);
        let entry = replay.entry(line.entry);
        let entry = entry.map_err(|refused| unparsed(file, number, refused))?;
        requests.push((number, Judged { entry, admitted }));
    }
    in_order_by(&mut requests, |(_, judged)| judged.entry.at);
    let (lines, requests) = requests.into_iter().unzip();
    Ok(Log {
        requests,
        lines,
        clock_ms,
    })
}

#[cfg(test)]
mod tests {
    use weir_shared::invalid::read_json;
    use weir_shared::policy::Policy;

    use super::*;

    fn policy() -> Policy {
        let text = br#"{ "regions": ["weur"], "limits": {
          "one": { "limit": 5, "period_ms": 1000, "scope": "region" } } }"#;
        Policy::try_from(&read_json(text).unwrap()).unwrap()
    }

    fn log(text: &str) -> Result<Log, String> {
        let policy = policy();
        let reading = Reading {
            limit: Some("one".to_owned()),
            denied: DENIED.to_vec(),
        };
        let replay = Replay::new(&policy, &policy);
        read(&replay, &reading, "l", text.as_bytes()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn lines_of_json_and_the_combined_format_say_the_same() {
        let lines = "{\"at\":1700000001000,\"key\":\"10.0.0.1\",\"verdict\":\"REJECTED\",\"uri\":\"/\"}\n\
                     {\"at\":1700000000.250,\"took\":\"0.250\",\"key\":\"10.0.0.1\",\"status\":\"200\",\"limit\":\"one\"}\n";
        let combined = "10.0.0.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /\\\"a HTTP/1.1\" 200 3 \"-\" \"curl\"\n\n\
                        10.0.0.1 - bob [14/Nov/2023:23:13:21 +0100] \"GET / HTTP/1.1\" 429 3 \"-\" \"curl\"\n";
        let (read, other) = (log(lines).unwrap(), log(combined).unwrap());
        assert_eq!(read.requests, other.requests);
        let admitted: Vec<bool> = read.requests.iter().map(|judged| judged.admitted).collect();
        assert_eq!(admitted, [true, false]);
        assert_eq!((read.lines, other.lines), (vec![2, 1], vec![1, 3]));
        assert_eq!((read.clock_ms, other.clock_ms), (10, 1_000));
        assert_eq!(log("").unwrap().requests, []);
    }

    #[test]
    fn a_line_that_is_no_request_is_named() {
        for (text, why) in [
            ("{}", "l:1: /at: is required"),
            ("{\"at\":1}", "l:1: /verdict: is required, or a status"),
            (
                "{\"at\":1,\"verdict\":\"maybe\"}",
                "l:1: /verdict: \"maybe\" is none of",
            ),
            (
                "{\"at\":\"noon\",\"verdict\":true}",
                "l:1: /at: \"noon\" is neither",
            ),
            ("{\"at\":1.1x,\"verdict\":true}", "l:1: "),
            ("{\"at\":1,\"status\":\"x\"}", "l:1: /status: \"x\" is none"),
            ("{\"at\":1,\"verdict\":true}", "l:1: /key: is required"),
            (
                "{\"at\":1,\"verdict\":true,\"limit\":\"two\",\"key\":\"a\"}",
                "l:1: /limit: \"two\" is not a known limit",
            ),
            ("\nhello", "l:2: a line is JSON, or ADDRESS"),
            ("1.1.1.1 - - [noon] \"GET /\" 200", "l:1: time \"noon\": "),
            (
                "1.1.1.1 - - [14/Nov/2023:22:13:20 +0000] \"GET / 200",
                "l:1: a line is JSON, or ADDRESS",
            ),
        ] {
            let refused = log(text).unwrap_err();
            assert!(refused.starts_with(why), "{text:?}: {refused}");
        }
    }
}
