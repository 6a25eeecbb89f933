use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};

use super::entry::{Entry, OccupiedEntry};
use super::iter::{Iter, IterMut, Keys, Values};

/// The most entries of a run. An insertion moves half of a run at most, and a run that is added moves the list of runs: at a
/// million entries both are a few thousand bytes. Twice as many entries cost more where values are large.
pub(super) const RUN_MAX: usize = 32;

/// Runs are joined where both have room in one, with a margin, so that an insertion does not divide them again.
pub(super) const JOINED_MAX: usize = RUN_MAX * 3 / 4;

/// A run with fewer entries is joined with a neighbour, if that has room.
const RUN_MIN: usize = RUN_MAX / 4;

/// Keys with their values, in the order of the keys. It is used as `std::collections::BTreeMap` is.
///
/// A lookup takes `log2(n)` comparisons. An insertion or a removal moves at most [`RUN_MAX`] entries, and `n / RUN_MAX` run
/// headers where a run is divided or joined.
///
/// ```
/// use weir_core::ordered::OrderedMap;
///
/// let mut used = OrderedMap::from([("globex", 7), ("acme", 3)]);
/// *used.entry("acme").or_default() += 2;
/// let listed: Vec<_> = used.iter().collect();
/// assert_eq!(listed, [(&"acme", &5), (&"globex", &7)]);
/// ```
pub struct OrderedMap<K, V> {
    /// None is empty, none has more than [`RUN_MAX`], and keys ascend through all.
    pub(super) runs: Vec<Vec<(K, V)>>,
    pub(super) len: usize,
}

/// Where an entry is, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    run: usize,
    index: usize,
}

impl<K, V> OrderedMap<K, V> {
    /// An empty map. It allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            runs: Vec::new(),
            len: 0,
        }
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// All entries, in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::new(&self.runs, self.len)
    }

    /// All entries, in the order of their keys; values can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut::new(&mut self.runs, self.len)
    }

    /// All keys, in order.
    #[must_use]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.iter())
    }

    /// All values, in the order of their keys.
    #[must_use]
    pub fn values(&self) -> Values<'_, K, V> {
        Values(self.iter())
    }

    /// All values, in the order of their keys, to change.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// All keys, in order, without the map.
    pub fn into_keys(self) -> impl ExactSizeIterator<Item = K> {
        self.into_iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys, without the map.
    pub fn into_values(self) -> impl ExactSizeIterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// The entry with the least key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The entry with the greatest key.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// The entry with the least key, to change or remove.
    pub fn first_entry(&mut self) -> Option<OccupiedEntry<'_, K, V>> {
        let at = At { run: 0, index: 0 };
        (!self.is_empty()).then_some(OccupiedEntry { map: self, at })
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.first_entry().map(OccupiedEntry::remove_entry)
    }

    /// Removes the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let run = self.runs.len().checked_sub(1)?;
        let index = self.runs[run].len().checked_sub(1)?;
        Some(self.take(At { run, index }))
    }

    /// Drops the entries that are not to be kept.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        let had = self.len;
        self.len = 0;
        for run in &mut self.runs {
            run.retain_mut(|(key, value)| keeps(key, value));
            self.len += run.len();
        }
        if self.len < had {
            self.join_all();
        }
    }

    pub(super) fn at(&self, at: At) -> &(K, V) {
        &self.runs[at.run][at.index]
    }

    pub(super) fn at_mut(&mut self, at: At) -> &mut (K, V) {
        &mut self.runs[at.run][at.index]
    }

    /// Inserts an entry at its place, where no entry has its key.
    pub(super) fn put(&mut self, at: At, key: K, value: V) -> &mut V {
        let At { run, index } = self.with_room(at);
        self.len += 1;
        let run = &mut self.runs[run];
        run.insert(index, (key, value));
        &mut run[index].1
    }

    /// The same place, in a run that has room.
    fn with_room(&mut self, At { run, index }: At) -> At {
        let runs = self.runs.len();
        if run == runs {
            // After all. Keys that come in order fill their runs.
            return match self.runs.last() {
                Some(last) if last.len() < RUN_MAX => At {
                    run: run - 1,
                    index: last.len(),
                },
                _ => {
                    self.runs.push(Vec::new());
                    At { run, index: 0 }
                }
            };
        }
        if self.runs[run].len() < RUN_MAX {
            return At { run, index };
        }
        let second = self.runs[run].split_off(RUN_MAX / 2);
        self.runs.insert(run + 1, second);
        match index.checked_sub(RUN_MAX / 2) {
            Some(index @ 1..) => At {
                run: run + 1,
                index,
            },
            _ => At { run, index },
        }
    }

    /// Removes an entry.
    pub(super) fn take(&mut self, At { run, index }: At) -> (K, V) {
        self.len -= 1;
        let entry = self.runs[run].remove(index);
        if self.runs[run].len() < RUN_MIN {
            self.join(run);
        }
        entry
    }

    /// Joins a small run with a neighbour that has room, and drops an empty one.
    fn join(&mut self, run: usize) {
        if self.runs[run].is_empty() {
            self.runs.remove(run);
            return;
        }
        for first in [run, run.wrapping_sub(1)] {
            let (Some(one), Some(next)) =
                (self.runs.get(first), self.runs.get(first.wrapping_add(1)))
            else {
                continue;
            };
            if one.len() + next.len() <= JOINED_MAX {
                let mut next = self.runs.remove(first + 1);
                self.runs[first].append(&mut next);
                return;
            }
        }
    }

    /// Joins all runs that have room in one, and drops empty ones.
    fn join_all(&mut self) {
        for mut run in std::mem::take(&mut self.runs) {
            match self.runs.last_mut() {
                _ if run.is_empty() => {}
                Some(last) if last.len() + run.len() <= JOINED_MAX => last.append(&mut run),
                _ => self.runs.push(run),
            }
        }
    }
}

impl<K: Ord, V> OrderedMap<K, V> {
    /// Where a key is, or where it would be.
    pub(super) fn find<Q>(&self, key: &Q) -> Result<At, At>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let is_before = |run: &Vec<(K, V)>| run.last().is_some_and(|(last, _)| last.borrow() < key);
        let run = self.runs.partition_point(is_before);
        let entries = self.runs.get(run).map_or(&[][..], Vec::as_slice);
        match entries.binary_search_by(|(one, _)| one.borrow().cmp(key)) {
            Ok(index) => Ok(At { run, index }),
            Err(index) => Err(At { run, index }),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// A key as it is kept, with its value.
    #[must_use]
    pub fn get_key_value<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let (key, value) = self.at(self.find(key).ok()?);
        Some((key, value))
    }

    /// The value of a key, to change.
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let at = self.find(key).ok()?;
        Some(&mut self.at_mut(at).1)
    }

    /// Whether a key is there.
    #[must_use]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.find(key).is_ok()
    }

    /// The entry of a key, which need not be there.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry {
            found: self.find(&key),
            map: self,
            key,
        }
    }

    /// Sets the value of a key. The value before it, if there was one; the key then stays as it is kept.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.at_mut(at).1, value)),
            Err(at) => {
                self.put(at, key, value);
                None
            }
        }
    }

    /// Removes a key. Its value, if it was there.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes a key. The entry, if it was there.
    pub fn remove_entry<Q>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let at = self.find(key).ok()?;
        Some(self.take(at))
    }

    /// The entries whose keys are in a range, in order.
    pub fn range<Q>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let from = self.place(range.start_bound(), false);
        let to = self.place(range.end_bound(), true);
        Iter::between(&self.runs, (from.run, from.index), (to.run, to.index))
    }

    /// Before which place a bound is. Above all where it is an end that is open.
    fn place<Q>(&self, bound: Bound<&Q>, is_end: bool) -> At
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let (key, is_through) = match bound {
            Bound::Unbounded => {
                let run = if is_end { self.runs.len() } else { 0 };
                return At { run, index: 0 };
            }
            Bound::Included(key) => (key, is_end),
            Bound::Excluded(key) => (key, !is_end),
        };
        match self.find(key) {
            Ok(at) if is_through => At {
                index: at.index + 1,
                ..at
            },
            Ok(at) | Err(at) => at,
        }
    }

    /// Takes off the entries from a key on.
    #[must_use]
    pub fn split_off<Q>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let (Ok(At { run, index }) | Err(At { run, index })) = self.find(key);
        let mut runs = self.runs.split_off(run);
        if index > 0
            && let Some(first) = runs.first_mut()
        {
            let after = first.split_off(index);
            self.runs.push(std::mem::replace(first, after));
        }
        let len = runs.iter().map(Vec::len).sum();
        self.len -= len;
        Self { runs, len }
    }

    /// Moves all entries of another map here, over those of the same keys.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(other));
    }
}
