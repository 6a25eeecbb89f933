//! A log with the verdicts of a limiter: a line of JSON a request, or the `combined` format of access logs.

use jiff::fmt::strtime;
use serde::Deserialize;
use serde_json::Value;
use weir_shared::invalid::read_json;
use weir_shared::replay::agreement::Judged;
use weir_shared::replay::lines::numbered;
use weir_shared::replay::{Replay, in_order_by};
use weir_shared::wire::replay::TraceEntry;

use crate::failure::Failure;
use crate::lines::{text, unparsed};

/// Statuses by which limiters deny, where nobody says otherwise.
pub const DENIED: [u16; 2] = [429, 503];

/// How far the times of a log with milliseconds may be wrong: servers read their clock once for all that they do at a time.
const EXACT_MS: u64 = 10;

/// How far those of a log with seconds are.
const SECOND_MS: u64 = 1_000;

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

/// A line of JSON. Fields that are not named here are passed over: logs have many.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    /// Seconds since 1970 where it has a point, else milliseconds.
    at: Option<Value>,
    /// Seconds that the request took, where `at` is the time of its end.
    took: Option<Value>,
    tenant: Option<String>,
    budget: Option<String>,
    limit: Option<String>,
    meter: Option<String>,
    key: Option<String>,
    cost: Option<u64>,
    /// What the limiter said, in a word or as true or false.
    verdict: Option<Value>,
    /// The status of the answer, where no verdict is told.
    status: Option<Value>,
}

/// What one line says.
struct LogLine {
    entry: TraceEntry,
    admitted: bool,
    clock_ms: u64,
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
        let told = match line.starts_with('{') {
            true => reading.json(line),
            false => reading.combined(line),
        };
        let told = told.map_err(|why| unparsed(file, number, why))?;
        let entry = replay.entry(told.entry);
        let entry = entry.map_err(|refused| unparsed(file, number, refused))?;
        let admitted = told.admitted;
        clock_ms = clock_ms.max(told.clock_ms);
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

impl Reading {
    fn json(&self, line: &str) -> Result<LogLine, String> {
        let line: Line = read_json(line.as_bytes()).map_err(|refused| refused.to_string())?;
        let Some(at) = &line.at else {
            return Err("/at: is required".to_owned());
        };
        let (at_ms, clock_ms) = instant(at)?;
        let took_ms = match &line.took {
            Some(took) => seconds_ms(&plain(took)).ok_or("/took: is no number of seconds")?,
            None => 0,
        };
        let admitted = match (&line.verdict, &line.status) {
            (Some(verdict), _) => admits(verdict)?,
            (None, Some(status)) => {
                let status = plain(status);
                let status = status
                    .parse()
                    .map_err(|_| format!("/status: {status:?} is none"))?;
                !self.denied.contains(&status)
            }
            (None, None) => return Err("/verdict: is required, or a status".to_owned()),
        };
        let names = [&line.budget, &line.limit, &line.meter];
        let limit = match names.iter().all(|name| name.is_none()) {
            true => Some(self.limit()?),
            false => line.limit,
        };
        let entry = TraceEntry {
            at: Some(at_ms.saturating_sub(took_ms)),
            tenant: line.tenant,
            budget: line.budget,
            limit,
            meter: line.meter,
            key: line.key,
            cost: line.cost,
        };
        Ok(LogLine {
            entry,
            admitted,
            clock_ms,
        })
    }

    /// `ADDRESS - USER [TIME] "REQUEST" STATUS ...`: the key is the address.
    fn combined(&self, line: &str) -> Result<LogLine, String> {
        const FORM: &str =
            "a line is JSON, or ADDRESS - USER [TIME] \"REQUEST\" STATUS as in the format combined";
        let (address, rest) = line.split_once(' ').ok_or(FORM)?;
        let (_, rest) = rest.split_once('[').ok_or(FORM)?;
        let (time, rest) = rest.split_once(']').ok_or(FORM)?;
        let after = after_quotes(rest.trim_start()).ok_or(FORM)?;
        let status = after.split_whitespace().next().ok_or(FORM)?;
        let status: u16 = status
            .parse()
            .map_err(|_| format!("status {status:?} is none"))?;
        let read = strtime::parse("%d/%b/%Y:%H:%M:%S %z", time);
        let read = read.and_then(|broken| broken.to_timestamp());
        let at = read.map_err(|why| format!("time {time:?}: {why}"))?;
        let at = u64::try_from(at.as_millisecond())
            .map_err(|_| format!("time {time:?} is before 1970"))?;
        let entry = TraceEntry {
            at: Some(at),
            limit: Some(self.limit()?),
            key: Some(address.to_owned()),
            ..TraceEntry::default()
        };
        Ok(LogLine {
            entry,
            admitted: !self.denied.contains(&status),
            clock_ms: SECOND_MS,
        })
    }

    fn limit(&self) -> Result<String, String> {
        let limit = self.limit.clone();
        limit.ok_or_else(|| "it names no limit, and neither does --limit".to_owned())
    }
}

/// What stands behind a text in quotes, in which a backslash escapes.
fn after_quotes(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    for (index, letter) in inner.char_indices() {
        match letter {
            '"' if !escaped => return inner.get(index + 1..),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// A number or a text, as it stands there.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Milliseconds since 1970, and how far they may be wrong.
fn instant(at: &Value) -> Result<(u64, u64), String> {
    let text = plain(at);
    let bad =
        || format!("/at: {text:?} is neither milliseconds since 1970 nor seconds with a point");
    if text.contains('.') {
        return Ok((seconds_ms(&text).ok_or_else(bad)?, EXACT_MS));
    }
    Ok((text.parse().map_err(|_| bad())?, EXACT_MS))
}

/// Seconds with up to three places, exactly.
fn seconds_ms(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    let ms: u64 = part.parse().ok().filter(|_| digits)?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000)?
        .checked_add(ms)
}

/// Whether a word lets pass: the words of nginx's `$limit_req_status`, and plain ones.
fn admits(verdict: &Value) -> Result<bool, String> {
    let word = plain(verdict).to_lowercase();
    match word.as_str() {
        "true" | "admitted" | "allowed" | "passed" | "delayed" | "ok" => Ok(true),
        "false" | "denied" | "rejected" | "limited" | "rejected_dry_run" => Ok(false),
        "delayed_dry_run" => Ok(true),
        _ => Err(format!(
            "/verdict: {word:?} is none of passed, delayed, rejected, admitted, denied, true and false"
        )),
    }
}

#[cfg(test)]
mod tests {
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
