//! One live socket that carries the messages of several regions: which lines are open over it, and what its client may
//! order. Pure: whoever holds the sockets does what it says.

use weir_core::invalid::read_json;
use weir_core::limits::{LINE_OPEN_MS_MIN, LINE_ORDER_BYTES_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Sequence};
use weir_wire::operator::live_lines::{LineNotice, LineOrder};

/// The codes of a socket that is closed for what its client said (RFC 6455, section 7.4.1).
const TOO_LONG: u16 = 1009;
const NOT_UNDERSTOOD: u16 = 1007;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Open a socket to a region, whose messages go over the line.
    Open {
        /// The line.
        line: u64,
        /// The region.
        region: String,
        /// The number of the last message that the client saw.
        after: Option<Sequence>,
    },
    /// Have the line's region say that it is there.
    Ask {
        /// The line.
        line: u64,
    },
    /// Close the line's socket, if it has one.
    Drop {
        /// The line.
        line: u64,
    },
    /// Tell the client.
    Tell(LineNotice),
    /// Close the client's socket, and with it every line.
    End {
        /// The code.
        code: u16,
        /// Why, for people.
        why: &'static str,
    },
}

/// The lines of one socket: at most one a region.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    regions: OrderedMap<u64, String>,
    ordered_at: OrderedMap<String, EpochMs>,
}

impl Lines {
    /// The client said something. `regions` are those of the policy.
    ///
    /// ```
    /// use weir_operations::report::lines::{Lines, Step};
    /// use weir_core::units::EpochMs;
    /// let mut lines = Lines::default();
    /// let regions = ["weur".to_owned()];
    /// let order = r#"{"do":"open","line":1,"region":"weur"}"#;
    /// let opened = Step::Open { line: 1, region: "weur".to_owned(), after: None };
    /// assert_eq!(lines.heard(order, &regions, EpochMs(5)), [opened]);
    /// ```
    pub fn heard(&mut self, text: &str, regions: &[String], now: EpochMs) -> Vec<Step> {
        if text.len() > LINE_ORDER_BYTES_MAX {
            let (code, why) = (TOO_LONG, "too long");
            return vec![Step::End { code, why }];
        }
        match read_json(text.as_bytes()) {
            Ok(LineOrder::Open {
                line,
                region,
                after,
            }) => self.open(line, region, after, regions, now),
            Ok(LineOrder::Ask { line: None }) => {
                vec![Step::Tell(LineNotice::Pong { line: None })]
            }
            // A line that is gone answers nothing: its end was told.
            Ok(LineOrder::Ask { line: Some(line) }) if self.has(line) => vec![Step::Ask { line }],
            Ok(LineOrder::Close { line }) if self.regions.remove(&line).is_some() => {
                vec![Step::Drop { line }]
            }
            Ok(LineOrder::Ask { .. } | LineOrder::Close { .. }) => Vec::new(),
            Err(_) => {
                let (code, why) = (NOT_UNDERSTOOD, "not understood");
                vec![Step::End { code, why }]
            }
        }
    }

    /// A line's socket did not open, or is closed: what to tell, unless nobody waits for the line any more.
    pub fn closed(&mut self, line: u64) -> Option<LineNotice> {
        let region = self.regions.remove(&line);
        region.map(|_| LineNotice::Closed { line })
    }

    /// Whether somebody waits for what comes over a line.
    #[must_use]
    pub fn has(&self, line: u64) -> bool {
        self.regions.contains_key(&line)
    }

    fn open(
        &mut self,
        line: u64,
        region: String,
        after: Option<Sequence>,
        regions: &[String],
        now: EpochMs,
    ) -> Vec<Step> {
        let ordered_at = self.ordered_at.get(&region);
        let soon = ordered_at.is_some_and(|at| now.since(*at) < LINE_OPEN_MS_MIN);
        if soon || self.has(line) || !regions.contains(&region) {
            return vec![Step::Tell(LineNotice::Closed { line })];
        }
        self.ordered_at.insert(region.clone(), now);
        let before = self.regions.iter().find(|(_, other)| **other == region);
        let before = before.map(|(line, _)| *line);
        let mut steps = Vec::new();
        if let Some(line) = before {
            self.regions.remove(&line);
            steps.push(Step::Drop { line });
        }
        self.regions.insert(line, region.clone());
        steps.push(Step::Open {
            line,
            region,
            after,
        });
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions() -> Vec<String> {
        ["weur", "apac"].map(str::to_owned).to_vec()
    }

    fn heard(lines: &mut Lines, text: &str, now: u64) -> Vec<Step> {
        lines.heard(text, &regions(), EpochMs(now))
    }

    fn open(line: u64, region: &str) -> String {
        format!("{{\"do\":\"open\",\"line\":{line},\"region\":\"{region}\"}}")
    }

    fn opened(line: u64, region: &str) -> Step {
        Step::Open {
            line,
            region: region.to_owned(),
            after: None,
        }
    }

    const fn closed(line: u64) -> Step {
        Step::Tell(LineNotice::Closed { line })
    }

    #[test]
    fn each_region_has_a_line_of_its_own_whose_end_is_told() {
        let mut lines = Lines::default();
        assert_eq!(heard(&mut lines, &open(1, "weur"), 0), [opened(1, "weur")]);
        assert_eq!(heard(&mut lines, &open(2, "apac"), 0), [opened(2, "apac")]);
        assert_eq!(lines.closed(1), Some(LineNotice::Closed { line: 1 }));
        assert_eq!(lines.closed(1), None, "told once");
        assert!(lines.has(2), "the other goes on");
        let ask = r#"{"do":"ask","line":2}"#;
        assert_eq!(heard(&mut lines, ask, 1), [Step::Ask { line: 2 }]);
        assert_eq!(heard(&mut lines, r#"{"do":"ask","line":1}"#, 1), []);
        let close = r#"{"do":"close","line":2}"#;
        assert_eq!(heard(&mut lines, close, 2), [Step::Drop { line: 2 }]);
        assert_eq!(lines.closed(2), None, "whoever closed it knows");
    }

    #[test]
    fn a_region_s_next_line_takes_the_place_of_the_one_before() {
        let mut lines = Lines::default();
        heard(&mut lines, &open(1, "weur"), 0);
        let again = r#"{"do":"open","line":2,"region":"weur","after":7}"#;
        let next = Step::Open {
            line: 2,
            region: "weur".to_owned(),
            after: Some(Sequence(7)),
        };
        assert_eq!(
            heard(&mut lines, again, LINE_OPEN_MS_MIN),
            [Step::Drop { line: 1 }, next]
        );
        assert_eq!(lines.closed(1), None);
        assert!(lines.has(2));
    }

    #[test]
    fn a_client_cannot_have_regions_called_as_fast_as_it_can_speak() {
        let mut lines = Lines::default();
        let mut calls = 0;
        for now in 0..LINE_OPEN_MS_MIN * 4 {
            for (place, region) in (0..).zip(["weur", "apac", "mars"]) {
                let line = now * 3 + place;
                let steps = heard(&mut lines, &open(line, region), now);
                calls += steps
                    .iter()
                    .filter(|step| matches!(step, Step::Open { .. }))
                    .count();
            }
        }
        assert_eq!(calls, 8, "two regions, four times each");
    }

    #[test]
    fn what_cannot_be_opened_is_told_so() {
        let mut lines = Lines::default();
        assert_eq!(heard(&mut lines, &open(1, "mars"), 0), [closed(1)]);
        heard(&mut lines, &open(2, "weur"), 0);
        assert_eq!(heard(&mut lines, &open(2, "apac"), 0), [closed(2)]);
        assert_eq!(heard(&mut lines, &open(3, "weur"), 1), [closed(3)]);
        assert!(lines.has(2), "nothing became of the others");
    }

    #[test]
    fn what_is_no_order_ends_the_socket() {
        let mut lines = Lines::default();
        let pong = Step::Tell(LineNotice::Pong { line: None });
        assert_eq!(heard(&mut lines, r#"{"do":"ask"}"#, 0), [pong]);
        for text in ["", "{}", "ping", r#"{"do":"sing"}"#, r#"{"do":"open"}"#] {
            let steps = heard(&mut lines, text, 0);
            assert!(
                matches!(steps[..], [Step::End { code: 1007, .. }]),
                "{text:?}"
            );
        }
        let long = open(1, &"w".repeat(LINE_ORDER_BYTES_MAX));
        let steps = heard(&mut lines, &long, 0);
        assert!(matches!(steps[..], [Step::End { code: 1009, .. }]));
    }
}
