//! A line of a log of requests: JSON, or the `combined` format of access logs.

use jiff::fmt::strtime;
use serde::Deserialize;
use serde_json::Value;
use weir_shared::invalid::read_json;
use weir_shared::wire::replay::TraceEntry;

/// How far the times of a log with milliseconds may be wrong: servers read their clock once for all that they do at a time.
pub const EXACT_MS: u64 = 10;

/// How far those of a log with seconds are.
const SECOND_MS: u64 = 1_000;

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
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// What was asked for, which no policy has looked at yet.
    pub entry: TraceEntry,
    /// How far its time may be wrong, milliseconds.
    pub clock_ms: u64,
    verdict: Option<Value>,
    status: Option<Value>,
}

impl LogLine {
    /// Reads a line. `limit` is what it asks for where it names no rule.
    ///
    /// # Errors
    /// In words, what it lacks or what cannot be read.
    ///
    /// ```
    /// use weir_cli::log_line::LogLine;
    /// let line = "203.0.113.9 - - [14/Nov/2023:22:13:20 +0000] \"GET / HTTP/1.1\" 429 3 \"-\" \"curl\"";
    /// let read = LogLine::read(line, Some("per_ip")).unwrap();
    /// assert_eq!((read.entry.at, read.clock_ms), (Some(1_700_000_000_000), 1_000));
    /// assert_eq!((read.entry.limit.as_deref(), read.entry.key.as_deref()), (Some("per_ip"), Some("203.0.113.9")));
    /// assert_eq!((read.admitted(&[429]), read.admitted(&[503])), (Ok(false), Ok(true)));
    /// ```
    pub fn read(line: &str, limit: Option<&str>) -> Result<Self, String> {
        match is_json(line) {
            true => Self::json(line, limit),
            false => Self::combined(line, limit),
        }
    }

    /// Whether the limiter let the request pass, which denied by these statuses where the line has no verdict.
    ///
    /// # Errors
    /// In words, when the line does not tell.
    pub fn admitted(&self, denied: &[u16]) -> Result<bool, String> {
        match (&self.verdict, &self.status) {
            (Some(verdict), _) => admits(verdict),
            (None, Some(status)) => {
                let status = plain(status);
                let status = status
                    .parse()
                    .map_err(|_| format!("/status: {status:?} is none"))?;
                Ok(!denied.contains(&status))
            }
            (None, None) => Err("/verdict: is required, or a status".to_owned()),
        }
    }

    fn json(line: &str, limit: Option<&str>) -> Result<Self, String> {
        let line: Line = read_json(line.as_bytes()).map_err(|refused| refused.to_string())?;
        let Some(at) = &line.at else {
            return Err("/at: is required".to_owned());
        };
        let (at_ms, clock_ms) = instant(at)?;
        let took_ms = match &line.took {
            Some(took) => seconds_ms(&plain(took)).ok_or("/took: is no number of seconds")?,
            None => 0,
        };
        let names = [&line.budget, &line.limit, &line.meter];
        let limit = match names.iter().all(|name| name.is_none()) {
            true => Some(needed(limit)?),
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
        Ok(Self {
            entry,
            clock_ms,
            verdict: line.verdict,
            status: line.status,
        })
    }

    /// `ADDRESS - USER [TIME] "REQUEST" STATUS ...`: the key is the address.
    fn combined(line: &str, limit: Option<&str>) -> Result<Self, String> {
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
            limit: Some(needed(limit)?),
            key: Some(address.to_owned()),
            ..TraceEntry::default()
        };
        Ok(Self {
            entry,
            clock_ms: SECOND_MS,
            verdict: None,
            status: Some(status.into()),
        })
    }
}

/// Whether a line is JSON, or is meant to be.
fn is_json(line: &str) -> bool {
    line.starts_with('{')
}

/// Whether a line is of an access log in the `combined` format.
#[must_use]
pub fn is_combined(line: &str) -> bool {
    !is_json(line) && LogLine::read(line, Some("any")).is_ok()
}

fn needed(limit: Option<&str>) -> Result<String, String> {
    let limit = limit.map(str::to_owned);
    limit.ok_or_else(|| "it names no limit, and neither does --limit".to_owned())
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
    use super::*;

    #[test]
    fn lines_of_json_and_the_combined_format_ask_the_same() {
        let json = "{\"at\":1700000000.250,\"took\":\"0.250\",\"key\":\"2001:db8::9\",\"status\":\"429\",\"uri\":\"/\"}";
        let combined = "2001:db8::9 - bob [14/Nov/2023:23:13:20 +0100] \"GET /\\\"a HTTP/1.1\" 429 3 \"-\" \"curl\"";
        let read = |line| LogLine::read(line, Some("one")).unwrap();
        let (json, combined) = (read(json), read(combined));
        assert_eq!(json.entry, combined.entry);
        assert_eq!((json.clock_ms, combined.clock_ms), (EXACT_MS, SECOND_MS));
        for line in [json, combined] {
            assert_eq!(
                (line.admitted(&[429]), line.admitted(&[])),
                (Ok(false), Ok(true))
            );
        }
    }

    #[test]
    fn a_rule_that_a_line_names_is_meant_and_without_any_there_is_none() {
        let named = LogLine::read("{\"at\":1,\"budget\":\"tokens\"}", Some("one")).unwrap();
        let rules = (named.entry.budget.as_deref(), named.entry.limit.as_deref());
        assert_eq!(rules, (Some("tokens"), None));
        // Whether it passed is asked only where that counts.
        assert!(
            named
                .admitted(&[])
                .unwrap_err()
                .starts_with("/verdict: is required")
        );
        for line in [
            "{\"at\":1}",
            "::1 - - [14/Nov/2023:22:13:20 +0000] \"-\" 400 0",
        ] {
            let refused = LogLine::read(line, None).unwrap_err();
            assert_eq!(refused, "it names no limit, and neither does --limit");
        }
    }

    #[test]
    fn an_access_log_is_told_from_a_trace() {
        assert!(is_combined(
            "::1 - - [14/Nov/2023:22:13:20 +0000] \"-\" 400 0"
        ));
        for line in [
            "1,a,budget,tokens,,3",
            "{\"at\":1}",
            "::1 - - [14/Nov/1923:22:13:20 +0000] \"-\" 400 0",
            "::1 - - [14/Nov/2023:22:13:20 +0000] \"-\" later",
        ] {
            assert!(!is_combined(line), "{line}");
        }
    }
}
