//! How far a policy agrees with the limiter that it is to replace.

pub mod log;

use std::fmt::Write;

use serde_json::{Value, json};
use weir_shared::replay::agreement::{Agreement, Difference, Reason};

use crate::agreement::log::Log;
use crate::figures::{counted, instant, tenant};
use crate::table::{Side, Table};

/// Differences of a text: what a screen shows.
const ROWS_SHOWN: usize = 20;

/// What is told of an agreement, with the log that it is about.
#[derive(Debug)]
pub struct AgreementReport {
    /// The requests.
    pub log: Log,
    /// How far they agree.
    pub agreement: Agreement,
}

impl AgreementReport {
    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let agreement = &self.agreement;
        let requests = &self.log.requests;
        let (Some(first), Some(last)) = (requests.first(), requests.last()) else {
            return "The log has no request.\n".to_owned();
        };
        let mut text = format!(
            "{} from {} to {}. The policy gives {} of them the old verdict: {:.2}%.\n",
            counted(agreement.requests as u64, "request"),
            instant(first.entry.at),
            instant(last.entry.at),
            agreement.agreed(),
            // Rounded down: 100% is all of them.
            (agreement.percent() * 100.0).floor() / 100.0,
        );
        let denied = agreement.requests - agreement.admitted;
        let _ = writeln!(
            text,
            "The old limiter admitted {} and denied {denied}.",
            agreement.admitted
        );
        for (reason, count) in agreement.reasons() {
            let _ = writeln!(
                text,
                "{} {}: {}",
                counted(count as u64, "difference"),
                reason.name(),
                self.why(reason)
            );
        }
        if agreement.differences.is_empty() {
            return text;
        }
        let mut table = Table::new(&[
            ("line", Side::Right),
            ("at", Side::Left),
            ("of", Side::Left),
            ("tenant", Side::Left),
            ("key", Side::Left),
            ("old", Side::Left),
            ("policy", Side::Left),
            ("by", Side::Left),
        ]);
        for difference in agreement.differences.iter().take(ROWS_SHOWN) {
            table.row(self.row(difference));
        }
        text.push_str(&table.text());
        let hidden = agreement.differences.len().saturating_sub(ROWS_SHOWN);
        if hidden > 0 {
            let _ = writeln!(
                text,
                "{} not shown; --json has all.",
                counted(hidden as u64, "difference")
            );
        }
        text
    }

    fn row(&self, difference: &Difference) -> [String; 8] {
        let word = |admitted| if admitted { "admitted" } else { "denied" }.to_owned();
        let shown = |text: &Option<String>| text.as_deref().map(tenant).unwrap_or_default();
        [
            self.line(difference).to_string(),
            instant(difference.at),
            format!("{} {}", difference.kind.name(), difference.name),
            shown(&difference.tenant),
            shown(&difference.key),
            word(difference.admitted),
            word(!difference.admitted),
            difference.reason.name().to_owned(),
        ]
    }

    fn line(&self, difference: &Difference) -> usize {
        self.log
            .lines
            .get(difference.index)
            .copied()
            .unwrap_or_default()
    }

    fn why(&self, reason: Reason) -> String {
        match reason {
            Reason::Clock => format!(
                "the times of the log are true to {} ms, and that decides",
                self.log.clock_ms
            ),
            Reason::Boundary => "the old windows begin at another instant".to_owned(),
            Reason::Burst => "the old limiter lets one more or one less pass at once".to_owned(),
            Reason::Key => "the old limiter counts other requests under this key".to_owned(),
            Reason::Unexplained => "neither clock, windows, burst nor key explains it".to_owned(),
        }
    }

    /// For a script.
    #[must_use]
    pub fn value(&self) -> Value {
        let agreement = &self.agreement;
        let reasons = agreement.reasons();
        let reasons = reasons
            .iter()
            .map(|(reason, count)| (reason.name().to_owned(), json!(count)));
        let differences = agreement.differences.iter().map(|difference| {
            let mut value = json!(difference);
            value["line"] = json!(self.line(difference));
            value
        });
        json!({
            "requests": agreement.requests,
            "agreed": agreement.agreed(),
            "percent": agreement.percent(),
            "clock_ms": self.log.clock_ms,
            "reasons": reasons.collect::<serde_json::Map<_, _>>(),
            "differences": differences.collect::<Vec<_>>(),
        })
    }
}
