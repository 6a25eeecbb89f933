//! The windows that a budget had, newest first, a page at a time.

use std::cmp::Reverse;

use weir_core::limits::WINDOWS_READ_MAX;
use weir_core::ordered::sort_by;
use weir_core::units::EpochMs;
use weir_wire::operator::page::PageReport;
use weir_wire::operator::series::WindowsView;
use weir_wire::windows::{WindowRecord, WindowsReply};

/// Which of the windows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The number of the page, from 1.
    pub page: u64,
    /// Windows of a full page.
    pub size: u64,
}

impl Span {
    /// Windows that each ledger has to tell: those of the page, all before it, and one more, which shows whether there is
    /// another page. Bounded: who wants older ones names an earlier end.
    ///
    /// ```
    /// use weir_operations::report::windows::Span;
    /// assert_eq!(Span { page: 3, size: 20 }.needed(), 61);
    /// ```
    #[must_use]
    pub fn needed(self) -> u64 {
        let needed = self.page.saturating_mul(self.size).saturating_add(1);
        needed.min(WINDOWS_READ_MAX)
    }
}

/// A part of all windows that a budget had, newest first, and where the next begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The windows.
    pub windows: Vec<WindowRecord>,
    /// The next part holds those that end before this; `None` after the last.
    pub before: Option<EpochMs>,
}

/// The answers of ledgers to one question as a part of the whole. A ledger that has more than it told is silent on what
/// ends before its oldest: what others told of that time comes in the next part, so that none is missed nor told twice.
#[must_use]
pub fn part(answers: impl IntoIterator<Item = WindowsReply>) -> Part {
    let mut windows = Vec::new();
    let mut before = None;
    for answer in answers {
        let oldest = answer.windows.last().map(|record| record.ends_at);
        if answer.more {
            before = before.max(oldest);
        }
        windows.extend(answer.windows);
    }
    windows.retain(|record| before.is_none_or(|before| record.ends_at >= before));
    sort(&mut windows);
    Part { windows, before }
}

fn sort(windows: &mut [WindowRecord]) {
    sort_by(windows, |one, other| {
        let place = |of: &WindowRecord| (Reverse((of.ends_at, of.label)), of.region.clone());
        place(one).cmp(&place(other))
    });
}

/// The answers of the ledgers that have them, in one. The number of windows in all is that of those that were told.
#[must_use]
pub fn merged(
    budget: String,
    span: Span,
    answers: Vec<(String, Option<WindowsReply>)>,
) -> WindowsView {
    let mut windows = Vec::new();
    let mut unreachable = Vec::new();
    for (region, answer) in answers {
        match answer {
            Some(answer) => windows.extend(answer.windows),
            None => unreachable.push(region),
        }
    }
    sort(&mut windows);
    let total = windows.len() as u64;
    let skipped = usize::try_from((span.page - 1).saturating_mul(span.size)).unwrap_or(usize::MAX);
    let size = usize::try_from(span.size).unwrap_or(usize::MAX);
    WindowsView {
        budget,
        page: PageReport {
            page: span.page,
            page_size: span.size,
            pages: total.div_ceil(span.size).max(1),
            total,
        },
        unreachable,
        windows: windows.into_iter().skip(skipped).take(size).collect(),
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::WindowLabel;
    use weir_wire::count::Count;

    use super::*;

    fn record(region: Option<&str>, label: u64, ends_at: u64) -> WindowRecord {
        WindowRecord {
            budget: "tokens".to_owned(),
            region: region.map(str::to_owned),
            label: WindowLabel(label),
            ends_at: EpochMs(ends_at),
            limit: 10,
            complete: true,
            granted: None,
            admitted: Count(0),
            reserved: Count(0),
            beyond: Count(0),
            returned: Count(0),
            unaccounted: None,
            exact: true,
            denied: Count(0),
            would_deny: Count(0),
            jain: None,
            tenants_seen: 0,
            weights: None,
            tenants: Vec::new(),
        }
    }

    #[test]
    fn parts_of_a_file_tell_every_window_once_whatever_regions_tell_at_a_time() {
        let all: Vec<(&str, Vec<u64>)> = vec![
            ("enam", (1..=9).rev().map(|end| end * 10).collect()),
            ("oc", vec![85, 80]),
            ("weur", (1..=30).rev().map(|end| end * 3).collect()),
        ];
        let told = |region: &str, ends: &[u64], before: u64, count: usize| {
            let ends: Vec<u64> = ends.iter().copied().filter(|end| *end < before).collect();
            let windows = ends.iter().take(count);
            WindowsReply {
                windows: windows
                    .map(|end| record(Some(region), *end, *end))
                    .collect(),
                more: ends.len() > count,
            }
        };
        for count in 1..=12 {
            let mut found = Vec::new();
            let mut before = Some(EpochMs(u64::MAX));
            while let Some(EpochMs(end)) = before {
                let answers = all
                    .iter()
                    .map(|(region, ends)| told(region, ends, end, count));
                let part = part(answers);
                assert!(
                    part.before.is_none_or(|next| next < EpochMs(end)),
                    "it goes on"
                );
                found.extend(
                    part.windows
                        .iter()
                        .map(|one| (one.ends_at.0, one.region.clone())),
                );
                before = part.before;
            }
            let mut expected: Vec<_> = all
                .iter()
                .flat_map(|(region, ends)| {
                    ends.iter().map(|end| (*end, Some((*region).to_owned())))
                })
                .collect();
            expected.sort_by_key(|(end, region)| (Reverse(*end), region.clone()));
            assert_eq!(found, expected, "{count} at a time");
        }
    }

    #[test]
    fn windows_of_several_regions_are_one_list_newest_first() {
        let reply = |windows| {
            Some(WindowsReply {
                windows,
                more: false,
            })
        };
        let answers = vec![
            (
                "weur".to_owned(),
                reply(vec![
                    record(Some("weur"), 2, 20),
                    record(Some("weur"), 1, 10),
                ]),
            ),
            ("enam".to_owned(), reply(vec![record(Some("enam"), 2, 20)])),
            ("oc".to_owned(), None),
        ];
        let view = merged(
            "tokens".to_owned(),
            Span { page: 1, size: 2 },
            answers.clone(),
        );
        let told = |view: &WindowsView| -> Vec<(Option<String>, u64)> {
            let windows = view.windows.iter();
            windows
                .map(|one| (one.region.clone(), one.label.0))
                .collect()
        };
        let (enam, weur) = (Some("enam".to_owned()), Some("weur".to_owned()));
        assert_eq!(told(&view), [(enam, 2), (weur.clone(), 2)]);
        assert_eq!((view.page.pages, view.page.total), (2, 3));
        assert_eq!(view.unreachable, ["oc"]);
        let view = merged("tokens".to_owned(), Span { page: 2, size: 2 }, answers);
        assert_eq!(told(&view), [(weur, 1)]);
    }
}
