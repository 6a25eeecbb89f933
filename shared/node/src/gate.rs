//! What leaves a node waits here for the row that it rests on.

use std::mem;

use super::Refund;

/// Holds back what leaves until the row that it rests on is durable. One write is under way at a time.
#[derive(Debug, Clone)]
pub(super) struct Gate<R, O> {
    writing: Option<Write<R, O>>,
    /// What rests on a row that is not being written yet.
    behind: Vec<O>,
}

/// A row on its way, and what it lets out.
#[derive(Debug, Clone)]
pub(super) struct Write<R, O> {
    pub(super) row: R,
    pub(super) lets_out: Vec<O>,
}

/// What is to be done now.
#[derive(Debug, PartialEq)]
pub(super) enum Step<R, O> {
    /// Nothing: a write is under way, and what was given waits behind it.
    Wait,
    /// Write the row.
    Write(R),
    /// It all leaves.
    Leave(Vec<O>),
}

impl<R, O> Default for Gate<R, O> {
    fn default() -> Self {
        Self {
            writing: None,
            behind: Vec::new(),
        }
    }
}

impl<R: Clone, O> Gate<R, O> {
    /// Takes what is to leave. `due` is the row that is not durable yet, if there is one.
    pub(super) fn take(&mut self, out: Option<O>, due: impl FnOnce() -> Option<R>) -> Step<R, O> {
        self.behind.extend(out);
        if self.writing.is_some() {
            return Step::Wait;
        }
        let lets_out = mem::take(&mut self.behind);
        let Some(row) = due() else {
            return Step::Leave(lets_out);
        };
        self.writing = Some(Write {
            row: row.clone(),
            lets_out,
        });
        Step::Write(row)
    }

    /// Takes units back: `take` says how many, and the row that is due then, which whoever asked writes with its own. `None`
    /// while a write is under way: then nothing is taken.
    pub(super) fn refund(&mut self, take: impl FnOnce() -> (u64, Option<R>)) -> Option<Refund<R>> {
        if !self.is_free() {
            return None;
        }
        let (units, due) = take();
        let row = self.rest(|| due);
        Some(Refund { units, row })
    }

    /// The row to be written where nothing happens any more: `due` says it. Nothing while a write is under way.
    pub(super) fn rest(&mut self, due: impl FnOnce() -> Option<R>) -> Option<R> {
        if !self.is_free() {
            return None;
        }
        match self.take(None, due) {
            Step::Write(row) => Some(row),
            Step::Wait | Step::Leave(_) => None,
        }
    }

    /// Whether no write is under way.
    pub(super) fn is_free(&self) -> bool {
        self.writing.is_none()
    }

    /// Whether nothing waits behind the write that is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.behind.is_empty()
    }

    /// The write that was under way has ended: it is durable, or it is not and nothing of what it lets out may leave.
    pub(super) fn ended(&mut self) -> Option<Write<R, O>> {
        self.writing.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_before_the_row_that_it_rests_on() {
        let mut gate = Gate::default();
        assert_eq!(gate.take(Some('a'), || None), Step::Leave(vec!['a']));
        assert_eq!(gate.take(Some('b'), || Some(1)), Step::Write(1));
        assert_eq!(gate.take(Some('c'), || Some(2)), Step::Wait);
        assert_eq!(gate.ended().unwrap().lets_out, ['b']);
        assert_eq!(gate.take(None, || Some(2)), Step::Write(2));
        assert_eq!(gate.ended().unwrap().lets_out, ['c']);
        assert!(gate.ended().is_none());
    }

    #[test]
    fn a_row_at_rest_is_written_between_writes_and_holds_back_what_comes() {
        let mut gate = Gate::default();
        assert_eq!(gate.rest(|| None), None);
        assert_eq!(gate.take(Some('a'), || Some(1)), Step::Write(1));
        assert_eq!(gate.rest(|| Some(2)), None);
        assert_eq!(gate.ended().unwrap().lets_out, ['a']);
        assert_eq!(gate.rest(|| Some(2)), Some(2));
        assert_eq!(gate.take(Some('b'), || Some(3)), Step::Wait);
        assert!(gate.ended().unwrap().lets_out.is_empty());
        assert_eq!(gate.take(None, || Some(3)), Step::Write(3));
    }

    #[test]
    fn what_came_during_a_write_waits_behind_it() {
        let mut gate = Gate::default();
        assert!(gate.is_free() && gate.is_empty());
        assert_eq!(gate.take(Some('a'), || Some(1)), Step::Write(1));
        assert!(!gate.is_free() && gate.is_empty());
        assert_eq!(gate.take(Some('b'), || Some(2)), Step::Wait);
        assert!(!gate.is_empty());
    }
}
