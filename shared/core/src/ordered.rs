//! Maps and sets in the order of their keys, for what becomes wasm.
//!
//! `std`'s B-tree becomes some 6 kB of wasm for each pair of types that is inserted into and removed from, and building one
//! from a list sorts, which becomes 5 kB more. Weir has a hundred such pairs. These here are short lists of entries in a row:
//! what searches, splits and joins them is a few lines, so a pair of types becomes a quarter of that. They keep what is relied
//! on of `std`'s: one order on every platform, steps that grow with the logarithm of the length, and memory that follows
//! what is kept.

mod entry;
mod iter;
mod map;
mod map_traits;
mod serialized;
mod set;
mod sort;

pub use entry::{Entry, OccupiedEntry};
pub use iter::{IntoIter, Iter, IterMut, Keys, Values};
pub use map::OrderedMap;
pub use set::{IntoValues, OrderedSet};
pub use sort::{sort_by, sort_by_key};

#[cfg(test)]
mod tests;
