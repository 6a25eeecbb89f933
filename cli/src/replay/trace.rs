//! A trace out of a file, in the form of [`lines`].

use weir_shared::replay::lines::lines;
use weir_shared::replay::{Entry, Replay, in_order};

use crate::failure::Failure;
use crate::figures::count;
use crate::lines::{text, unparsed};

/// The requests of a trace, in the order of time; those of one instant as they stand in the file. Blank lines are passed
/// over.
///
/// # Errors
/// At the first line that is no entry, or one that neither policy could decide.
pub fn read(replay: &Replay<'_>, file: &str, bytes: &[u8]) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for (line, entry) in lines(text(file, bytes)?) {
        let entry = entry.map_err(|fault| unparsed(file, line, fault))?;
        let entry = replay.entry(entry);
        entries.push(entry.map_err(|refused| unparsed(file, line, refused))?);
    }
    in_order(&mut entries);
    Ok(entries)
}

/// Plays requests, and tells now and then how many are done.
pub fn play(replay: &mut Replay<'_>, entries: &[Entry], mut tell: impl FnMut(&str)) {
    let all = entries.len();
    // As often as a hundredth of a second takes.
    for (index, part) in entries.chunks(10_000).enumerate() {
        for entry in part {
            replay.play(entry);
        }
        let done = index * 10_000 + part.len();
        let (shown, of) = (count(done as u128), count(all as u128));
        tell(&format!(
            "{}% played, {shown} of {of} requests",
            done * 100 / all
        ));
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::invalid::read_json;
    use weir_shared::policy::Policy;

    use super::*;

    fn policy() -> Policy {
        let text = br#"{ "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
          "budgets": { "tokens": { "limit": 10, "window_ms": 1000, "sharing": "first_come", "scope": "global" } },
          "limits": { "per_ip": { "limit": 5, "period_ms": 1000, "scope": "region" } } }"#;
        Policy::try_from(&read_json(text).unwrap()).unwrap()
    }

    fn entries(text: &str) -> Result<Vec<Entry>, String> {
        let policy = policy();
        let read = read(&Replay::new(&policy, &policy), "t", text.as_bytes());
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
        let entries = read(&replay, "t", text.as_bytes()).unwrap();
        let mut told = Vec::new();
        play(&mut replay, &entries, |text| told.push(text.to_owned()));
        assert_eq!(
            (told.len(), told[2].as_str()),
            (3, "100% played, 25,000 of 25,000 requests")
        );
    }
}
