//! Gathers what is asked within a short time, and cuts it into batches.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::answer::Decision;
use crate::error::WeirError;

/// What bounds a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Questions, at most.
    pub(crate) questions: usize,
    /// Bytes of their texts, commas included, at most. One that is longer goes alone.
    pub(crate) bytes: usize,
}

type Decided = Result<Decision, WeirError>;

/// A question that waits for its answer.
pub(crate) struct Waiting {
    /// JSON.
    pub(crate) text: String,
    sender: oneshot::Sender<Decided>,
}

impl Waiting {
    /// A question, and where its answer comes.
    pub(crate) fn new(text: String) -> (Self, oneshot::Receiver<Decided>) {
        let (sender, receiver) = oneshot::channel();
        (Self { text, sender }, receiver)
    }

    /// Answers, where anybody still waits.
    pub(crate) fn answer(self, decided: Decided) {
        // Who has left is not told.
        let _left = self.sender.send(decided);
    }
}

/// Questions that are together.
struct Open {
    bounds: Bounds,
    waiting: Vec<Waiting>,
    bytes: usize,
    /// How many batches have left: a timer sends none but its own.
    batches: u64,
}

impl Open {
    fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            waiting: Vec::new(),
            bytes: 0,
            batches: 0,
        }
    }

    /// Adds a question; what leaves by that, in its order.
    fn add(&mut self, one: Waiting) -> Vec<Vec<Waiting>> {
        let mut leaving = Vec::new();
        let bytes = one.text.len() + 1;
        if !self.waiting.is_empty() && self.bytes + bytes > self.bounds.bytes {
            leaving.push(self.take());
        }
        self.waiting.push(one);
        self.bytes += bytes;
        if self.waiting.len() >= self.bounds.questions {
            leaving.push(self.take());
        }
        leaving
    }

    fn take(&mut self) -> Vec<Waiting> {
        self.bytes = 0;
        self.batches += 1;
        mem::take(&mut self.waiting)
    }
}

/// All of a list, cut into batches.
pub(crate) fn cut(bounds: Bounds, list: impl IntoIterator<Item = Waiting>) -> Vec<Vec<Waiting>> {
    let mut open = Open::new(bounds);
    let mut batches: Vec<_> = list.into_iter().flat_map(|one| open.add(one)).collect();
    batches.push(open.take());
    batches.retain(|batch| !batch.is_empty());
    batches
}

/// Sends a batch on its way.
type Send = dyn Fn(Vec<Waiting>) + std::marker::Send + Sync;

/// Gathers questions, and hands them to `send` in batches, in their order.
pub(crate) struct Coalescer {
    within: Duration,
    open: Arc<Mutex<Open>>,
    send: Arc<Send>,
}

impl Coalescer {
    /// `within_ms`: how long a question may wait for company.
    pub(crate) fn new(
        within_ms: u64,
        bounds: Bounds,
        send: impl Fn(Vec<Waiting>) + std::marker::Send + Sync + 'static,
    ) -> Self {
        Self {
            within: Duration::from_millis(within_ms),
            open: Arc::new(Mutex::new(Open::new(bounds))),
            send: Arc::new(send),
        }
    }

    /// Where the answer to a question comes.
    pub(crate) fn ask(&self, text: String) -> oneshot::Receiver<Decided> {
        let (waiting, answer) = Waiting::new(text);
        let (leaving, timer) = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let leaving = open.add(waiting);
            // The first of a batch winds its clock.
            let timer = (open.waiting.len() == 1).then_some(open.batches);
            (leaving, timer)
        };
        leaving.into_iter().for_each(|batch| (self.send)(batch));
        if let Some(number) = timer {
            self.flush_later(number);
        }
        answer
    }

    fn flush_later(&self, number: u64) {
        let (within, open, send) = (self.within, Arc::clone(&self.open), Arc::clone(&self.send));
        tokio::spawn(async move {
            sleep(within).await;
            let batch = {
                let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                (open.batches == number).then(|| open.take())
            };
            batch.into_iter().for_each(|batch| send(batch));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Batches = Arc<Mutex<Vec<Vec<String>>>>;

    fn gather(within_ms: u64, bounds: Bounds) -> (Batches, Coalescer) {
        let batches = Batches::default();
        let left = Arc::clone(&batches);
        let coalescer = Coalescer::new(within_ms, bounds, move |batch| {
            let texts = batch.iter().map(|one| one.text.clone()).collect();
            left.lock().unwrap().push(texts);
            for one in batch {
                let told = WeirError::no_answer(&one.text);
                one.answer(Err(told));
            }
        });
        (batches, coalescer)
    }

    const WIDE: Bounds = Bounds {
        questions: 1_000,
        bytes: 65_536,
    };

    async fn ask(coalescer: &Coalescer, texts: &[&str]) -> Vec<String> {
        let asked: Vec<_> = texts
            .iter()
            .map(|text| coalescer.ask((*text).to_owned()))
            .collect();
        let mut told = Vec::new();
        for one in asked {
            told.push(one.await.unwrap().unwrap_err().detail);
        }
        told
    }

    #[tokio::test]
    async fn what_is_asked_within_the_time_is_one_batch_and_each_is_given_its_own_answer() {
        let (batches, coalescer) = gather(20, WIDE);
        assert_eq!(ask(&coalescer, &["a", "b", "c"]).await, ["a", "b", "c"]);
        assert_eq!(ask(&coalescer, &["d"]).await, ["d"]);
        assert_eq!(*batches.lock().unwrap(), [vec!["a", "b", "c"], vec!["d"]]);
    }

    #[tokio::test]
    async fn a_full_batch_leaves_at_once() {
        let bounds = Bounds {
            questions: 2,
            ..WIDE
        };
        let (batches, coalescer) = gather(60_000, bounds);
        ask(&coalescer, &["a", "b", "c", "d"]).await;
        assert_eq!(*batches.lock().unwrap(), [["a", "b"], ["c", "d"]]);
    }

    #[tokio::test]
    async fn bytes_are_those_of_utf_8_with_a_comma_each_and_one_that_is_too_long_goes_alone() {
        let bounds = Bounds { bytes: 10, ..WIDE };
        let (batches, coalescer) = gather(1, bounds);
        let long = "x".repeat(50);
        let texts = ["aaaa", "\u{fc}\u{fc}", "b", &long, "c"];
        ask(&coalescer, &texts).await;
        let expected = [
            vec!["aaaa", "\u{fc}\u{fc}"],
            vec!["b"],
            vec![&long],
            vec!["c"],
        ];
        assert_eq!(*batches.lock().unwrap(), expected);
        let cut = cut(bounds, texts.map(|text| Waiting::new(text.to_owned()).0));
        let cut: Vec<Vec<_>> = cut
            .iter()
            .map(|batch| batch.iter().map(|one| one.text.as_str()).collect())
            .collect();
        assert_eq!(cut, expected);
    }

    #[tokio::test]
    async fn who_has_left_is_not_answered_and_harms_nobody() {
        let (batches, coalescer) = gather(1, WIDE);
        drop(coalescer.ask("a".to_owned()));
        assert_eq!(ask(&coalescer, &["b"]).await, ["b"]);
        assert_eq!(*batches.lock().unwrap(), [["a", "b"]]);
    }
}
