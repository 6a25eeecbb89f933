//! What was found first: the checker keeps the last state that shows a property, the first one is the shortest way.

use std::sync::{Arc, Mutex};

use weir_shared::ordered::OrderedMap;

/// The states looked at, and at which of them each property was first shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found(Arc<Mutex<Numbers>>);

#[derive(Debug, Default)]
struct Numbers {
    states: usize,
    failed: bool,
    over: bool,
    at: OrderedMap<&'static str, usize>,
}

impl Found {
    /// One more distinct state is looked at.
    pub(crate) fn state(&self) {
        self.0.lock().expect("no thread panics here").states += 1;
    }

    /// Whether `shown` is so for the first time.
    pub(crate) fn first(&self, name: &'static str, shown: bool) -> bool {
        if !shown {
            return false;
        }
        let mut numbers = self.0.lock().expect("no thread panics here");
        let (states, known) = (numbers.states, numbers.at.len());
        numbers.at.entry(name).or_insert(states);
        numbers.at.len() > known
    }

    /// A property that must always hold does not.
    pub(crate) fn fails(&self, name: &'static str, broken: bool) -> bool {
        let first = self.first(name, broken);
        if first {
            self.0.lock().expect("no thread panics here").failed = true;
        }
        first
    }

    /// The exploration is over: paths are walked again.
    pub(crate) fn is_over(&self) {
        self.0.lock().expect("no thread panics here").over = true;
    }

    /// Whether to make no more states: `most` were looked at, or a rule is broken, after which nothing is of interest.
    pub(crate) fn enough(&self, most: usize) -> bool {
        let numbers = self.0.lock().expect("no thread panics here");
        !numbers.over && (numbers.failed || numbers.states >= most)
    }

    /// States looked at.
    pub(crate) fn states(&self) -> usize {
        self.0.lock().expect("no thread panics here").states
    }

    /// The number of the state that showed a property first.
    pub(crate) fn at(&self, name: &str) -> Option<usize> {
        self.0
            .lock()
            .expect("no thread panics here")
            .at
            .get(name)
            .copied()
    }
}
