//! One part of a deployment within a state, shared between the states in which it is the same.

use std::fmt::{self, Debug, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A part, and the hash of all that it knows: of its text for debugging, which names every field. Two parts are the
/// same when their hashes are, as two states are to the checker.
pub(crate) struct Part<T> {
    value: Arc<T>,
    print: u64,
}

impl<T: Clone + Debug> Part<T> {
    pub(crate) fn new(value: T) -> Self {
        let print = print(&value);
        let value = Arc::new(value);
        Self { value, print }
    }

    /// Changes it in this state alone.
    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        let value = Arc::make_mut(&mut self.value);
        let changed = change(value);
        self.print = print(value);
        changed
    }

    pub(crate) fn print(&self) -> u64 {
        self.print
    }
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            print: self.print,
        }
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> PartialEq for Part<T> {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl<T> Eq for Part<T> {}

impl<T> Hash for Part<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.print.hash(hasher);
    }
}

impl<T: Debug> Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

fn print(value: &impl Debug) -> u64 {
    let mut text = String::with_capacity(2_048);
    write!(text, "{value:?}").expect("text takes any text");
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
