//! The short messages of what happened: which of them stand, and for how long.

use std::collections::VecDeque;

use crate::visible::visible;

/// Messages that stand at a time; an older one gives way.
pub const TOASTS_MAX: usize = 3;

/// How long a message of something that was done stands.
pub const DONE_MS: u64 = 8_000;

/// What a message tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something was done. It goes by itself: the page shows it too.
    Done,
    /// Something was not done. It stays until it is dismissed.
    Failed,
}

impl Kind {
    /// Its name in the page's `data-kind`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// Rises by one a message.
    pub number: u64,
    /// What it tells.
    pub kind: Kind,
    /// The message.
    pub text: String,
    /// When it goes by itself, on the page's clock.
    pub until_ms: Option<u64>,
}

/// The messages that stand, oldest first.
#[derive(Debug, Clone, Default)]
pub struct ToastQueue {
    toasts: VecDeque<Toast>,
    told: u64,
}

impl ToastQueue {
    /// Adds a message. The same text once more replaces what stands, so that it is read aloud again and not shown twice.
    pub fn push(&mut self, kind: Kind, text: &str, now_ms: u64) {
        let text = visible(text);
        self.toasts
            .retain(|toast| toast.kind != kind || toast.text != text);
        if self.toasts.len() == TOASTS_MAX {
            self.make_room();
        }
        self.told += 1;
        self.toasts.push_back(Toast {
            number: self.told,
            kind,
            text,
            until_ms: (kind == Kind::Done).then_some(now_ms + DONE_MS),
        });
    }

    /// What goes by itself gives way before what somebody has to read.
    fn make_room(&mut self) {
        let done = self
            .toasts
            .iter()
            .position(|toast| toast.kind == Kind::Done);
        self.toasts.remove(done.unwrap_or(0));
    }

    /// Takes a message away.
    pub fn dismiss(&mut self, number: u64) {
        self.toasts.retain(|toast| toast.number != number);
    }

    /// Takes away what has stood long enough.
    pub fn expire(&mut self, now_ms: u64) {
        self.toasts
            .retain(|toast| toast.until_ms.is_none_or(|until_ms| until_ms > now_ms));
    }

    /// The messages of one kind, oldest first.
    pub fn of(&self, kind: Kind) -> Vec<Toast> {
        let of_kind = self.toasts.iter().filter(|toast| toast.kind == kind);
        of_kind.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(queue: &ToastQueue, kind: Kind) -> Vec<String> {
        queue.of(kind).into_iter().map(|toast| toast.text).collect()
    }

    fn queue(pushed: &[(Kind, &str)]) -> ToastQueue {
        let mut queue = ToastQueue::default();
        for (kind, text) in pushed {
            queue.push(*kind, text, 1_000);
        }
        queue
    }

    #[test]
    fn what_was_done_goes_by_itself_and_what_failed_stays() {
        let mut queue = queue(&[(Kind::Done, "saved"), (Kind::Failed, "not saved")]);
        queue.expire(1_000 + DONE_MS - 1);
        assert_eq!(texts(&queue, Kind::Done), ["saved"]);
        queue.expire(1_000 + DONE_MS);
        assert!(texts(&queue, Kind::Done).is_empty());
        queue.expire(u64::MAX);
        assert_eq!(texts(&queue, Kind::Failed), ["not saved"]);
        let number = queue.of(Kind::Failed)[0].number;
        queue.dismiss(number);
        assert!(texts(&queue, Kind::Failed).is_empty());
    }

    #[test]
    fn a_message_that_comes_again_stands_once_and_is_new() {
        let mut queue = queue(&[(Kind::Done, "saved")]);
        let first = queue.of(Kind::Done)[0].number;
        queue.push(Kind::Done, "saved", 2_000);
        let again = queue.of(Kind::Done);
        assert_eq!(again.len(), 1);
        assert!(again[0].number > first);
        assert_eq!(again[0].until_ms, Some(2_000 + DONE_MS));
    }

    #[test]
    fn a_name_in_a_message_is_told_with_what_nobody_sees_of_it() {
        let queue = queue(&[(Kind::Done, "Saved: \u{202e}acme.")]);
        assert_eq!(texts(&queue, Kind::Done), ["Saved: ⟨U+202E⟩acme."]);
    }

    #[test]
    fn of_too_many_those_that_go_by_themselves_give_way_first() {
        let mut queue = queue(&[
            (Kind::Failed, "a"),
            (Kind::Done, "b"),
            (Kind::Failed, "c"),
            (Kind::Failed, "d"),
        ]);
        assert!(texts(&queue, Kind::Done).is_empty());
        assert_eq!(texts(&queue, Kind::Failed), ["a", "c", "d"]);
        queue.push(Kind::Failed, "e", 0);
        assert_eq!(texts(&queue, Kind::Failed), ["c", "d", "e"]);
    }
}
