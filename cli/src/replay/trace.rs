//! A trace out of a file, in the form of [`lines`], or an access log.

use weir_shared::replay::lines::{lines, numbered};
use weir_shared::replay::progress::Progress;
use weir_shared::replay::{Entry, Replay, in_order};
use weir_shared::wire::replay::TraceEntry;

use crate::failure::Failure;
use crate::lines::{text, unparsed};
use crate::log_line::{LogLine, is_combined};

/// The requests of a trace, in the order of time; those of one instant as they stand in the file. Blank lines are passed
/// over. With a limit it is a log as [`LogLine`] reads it, of which each line that names no rule asks for that limit.
///
/// # Errors
/// At the first line that is no entry, or one that neither policy could decide.
pub fn read(
    replay: &Replay<'_>,
    limit: Option<&str>,
    file: &str,
    bytes: &[u8],
) -> Result<Vec<Entry>, Failure> {
    let text = text(file, bytes)?;
    let mut entries = match limit {
        Some(limit) => {
            let read = |line| LogLine::read(line, Some(limit)).map(|line| line.entry);
            let said = numbered(text).map(|(number, line)| (number, read(line)));
            known(replay, file, said)
        }
        None => {
            let said = lines(text).map(|(number, entry)| {
                let entry = entry.map_err(|fault| match is_of_a_log(text, number) {
                    true => "this is a line of an access log: --limit NAME says what it asks for"
                        .to_owned(),
                    false => fault.to_string(),
                });
                (number, entry)
            });
            known(replay, file, said)
        }
    }?;
    in_order(&mut entries);
    Ok(entries)
}

/// Those that a policy knows.
fn known(
    replay: &Replay<'_>,
    file: &str,
    said: impl Iterator<Item = (usize, Result<TraceEntry, String>)>,
) -> Result<Vec<Entry>, Failure> {
    let entries = said.map(|(line, entry)| {
        let entry = replay.entry(entry.map_err(|why| unparsed(file, line, why))?);
        entry.map_err(|refused| unparsed(file, line, refused))
    });
    entries.collect()
}

fn is_of_a_log(text: &str, number: usize) -> bool {
    let line = numbered(text).find(|(found, _)| *found == number);
    line.is_some_and(|(_, line)| is_combined(line))
}

/// Plays requests. `tell` hears now and then how many are done, and of how many.
pub fn play(replay: &mut Replay<'_>, entries: &[Entry], tell: &mut dyn FnMut(usize, usize)) {
    let mut progress = Progress::new(entries.len(), tell);
    for entry in entries {
        replay.play(entry);
        progress.one();
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::invalid::read_json;
    use weir_shared::policy::Policy;
    use weir_shared::units::EpochMs;

    use super::*;

    fn policy() -> Policy {
        let text = br#"{ "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
          "budgets": { "tokens": { "limit": 10, "window_ms": 1000, "sharing": "first_come", "scope": "global" } },
          "limits": { "per_ip": { "limit": 5, "period_ms": 1000, "scope": "region" } } }"#;
        Policy::try_from(&read_json(text).unwrap()).unwrap()
    }

    fn entries(text: &str) -> Result<Vec<Entry>, String> {
        let policy = policy();
        let read = read(&Replay::new(&policy, &policy), None, "t", text.as_bytes());
        read.map_err(|failure| failure.to_string())
    }

    fn logged(text: &str, limit: &str) -> Result<Vec<Entry>, String> {
        let policy = policy();
        let replay = Replay::new(&policy, &policy);
        let read = read(&replay, Some(limit), "t", text.as_bytes());
        read.map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_table_and_lines_of_json_say_the_same() {
        let table = "at,tenant,kind,name,key,cost\r\n5,\"a,\"\"b\",budget,tokens,,3\n\n2,,limit,per_ip,10.0.0.1,\n";
        let lines = "{\"at\":5,\"tenant\":\"a,\\\"b\",\"budget\":\"tokens\",\"cost\":3}\n\
                     {\"at\":2,\"limit\":\"per_ip\",\"key\":\"10.0.0.1\"}\n";
        let read = entries(table).unwrap();
        assert_eq!(read, entries(lines).unwrap());
        let at: Vec<u64> = read.iter().map(|entry| entry.at.0).collect();
        assert_eq!(at, [2, 5]);
        assert_eq!(entries("").unwrap(), []);
    }

    #[test]
    fn a_line_of_an_access_log_asks_for_the_limit_by_its_address() {
        let log = "10.0.0.2 - - [14/Nov/2023:22:13:21 +0000] \"GET / HTTP/1.1\" 200 3 \"-\" \"curl\"\n\n\
                   10.0.0.1 - - [14/Nov/2023:22:13:20 +0000] \"GET / HTTP/1.1\" 429 3 \"-\" \"curl\"\n\
                   {\"at\":1700000002.5,\"took\":0.5,\"tenant\":\"a\",\"budget\":\"tokens\",\"verdict\":\"\"}\n";
        let trace = "1700000000000,,limit,per_ip,10.0.0.1,\n1700000001000,,limit,per_ip,10.0.0.2,\n\
                     1700000002000,a,budget,tokens,,\n";
        assert_eq!(logged(log, "per_ip"), entries(trace));
        assert_eq!(logged("", "per_ip"), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_is_of_no_log_is_named_and_so_is_a_log_that_is_taken_for_a_trace() {
        let line = "10.0.0.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /\" 200";
        for (text, why) in [
            (
                format!("{line}\n1,,limit,per_ip,a,"),
                "t:2: a line is JSON, or ADDRESS",
            ),
            (line.replace("200", ""), "t:1: a line is JSON, or ADDRESS"),
            (line.replace("14/Nov", "31/Nov"), "t:1: time \"31/Nov/2023"),
            (line.replace("10.0.0.1", &"a".repeat(129)), "t:1: /key: "),
            (
                line.replace("2023", "1923"),
                "t:1: time \"14/Nov/1923:22:13:20 +0000\" is before 1970",
            ),
        ] {
            let refused = logged(&text, "per_ip").unwrap_err();
            assert!(refused.starts_with(why), "{text:?}: {refused}");
        }
        let refused = logged(line, "nope").unwrap_err();
        assert_eq!(refused, "t:1: /limit: \"nope\" is not a known limit");
        let refused = entries(&format!("at,tenant,kind,name,key,cost\n{line}")).unwrap_err();
        assert!(
            refused.starts_with("t:2: this is a line of an access log: --limit NAME"),
            "{refused}"
        );
    }

    #[test]
    fn a_line_that_is_no_entry_is_named() {
        for (text, why) in [
            ("1,a,budget,tokens\n1,a,budget", "t:2: /budget: is required"),
            ("x,a,budget,tokens", "t:1: at: \"x\" is no whole number"),
            ("1,a,queue,tokens", "t:1: kind: \"queue\" is none"),
            ("1,a", "t:1: a line has at,tenant"),
            ("1,\"a,budget,tokens", "t:1: a quote is not closed"),
            ("1,a,budget,tokens,,1,7", "t:1: 7 cells"),
            ("1,a,budget,tokens,k", "t:1: /key: cannot be given"),
            ("{\"at\":1,\"colour\":1}", "t:1: /colour: "),
            (
                "1,a,budget,nope",
                "t:1: /budget: \"nope\" is not a known budget",
            ),
        ] {
            let refused = entries(text).unwrap_err();
            assert!(refused.starts_with(why), "{text:?}: {refused}");
        }
    }

    #[test]
    fn what_is_done_is_told_up_to_the_end() {
        let policy = policy();
        let text = "1,a,budget,tokens\n".repeat(25_000);
        let mut replay = Replay::new(&policy, &policy);
        let entries = read(&replay, None, "t", text.as_bytes()).unwrap();
        let mut told = Vec::new();
        play(&mut replay, &entries, &mut |done, of| told.push((done, of)));
        assert_eq!((told.len(), told[2]), (3, (25_000, 25_000)));
        assert_eq!(replay.told(EpochMs(0), None).entries, 25_000);
    }
}
