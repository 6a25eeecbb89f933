use std::{slice, vec};

/// Entries in the order of their keys: [`OrderedMap::iter`](super::OrderedMap::iter).
pub struct Iter<'a, K, V> {
    front: slice::Iter<'a, (K, V)>,
    runs: slice::Iter<'a, Vec<(K, V)>>,
    back: slice::Iter<'a, (K, V)>,
    left: usize,
}

impl<'a, K, V> Iter<'a, K, V> {
    pub(super) fn new(runs: &'a [Vec<(K, V)>], len: usize) -> Self {
        Self {
            front: [].iter(),
            runs: runs.iter(),
            back: [].iter(),
            left: len,
        }
    }

    /// From one place to before another, each a run and an index in it.
    pub(super) fn between(
        runs: &'a [Vec<(K, V)>],
        (from_run, from): (usize, usize),
        (to_run, to): (usize, usize),
    ) -> Self {
        if (from_run, from) >= (to_run, to) {
            return Self::new(&[], 0);
        }
        let (first, last) = (runs.get(from_run), runs.get(to_run));
        let (front, back, whole) = if from_run == to_run {
            let entries = first.map_or(&[][..], |run| &run[from..to]);
            (entries, &[][..], &[][..])
        } else {
            let front = first.map_or(&[][..], |run| &run[from..]);
            let back = last.map_or(&[][..], |run| &run[..to]);
            (front, back, &runs[from_run + 1..to_run])
        };
        let between: usize = whole.iter().map(Vec::len).sum();
        Self {
            front: front.iter(),
            runs: whole.iter(),
            back: back.iter(),
            left: front.len() + between + back.len(),
        }
    }
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self {
            front: self.front.clone(),
            runs: self.runs.clone(),
            back: self.back.clone(),
            left: self.left,
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.len() == 0 {
            self.front = match self.runs.next() {
                Some(run) => run.iter(),
                None => std::mem::replace(&mut self.back, [].iter()),
            };
        }
        let (key, value) = self.front.next()?;
        self.left -= 1;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.back.len() == 0 {
            self.back = match self.runs.next_back() {
                Some(run) => run.iter(),
                None => std::mem::replace(&mut self.front, [].iter()),
            };
        }
        let (key, value) = self.back.next_back()?;
        self.left -= 1;
        Some((key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

/// Keys in order: [`OrderedMap::keys`](super::OrderedMap::keys).
pub struct Keys<'a, K, V>(pub(super) Iter<'a, K, V>);

/// Values in the order of their keys: [`OrderedMap::values`](super::OrderedMap::values).
pub struct Values<'a, K, V>(pub(super) Iter<'a, K, V>);

/// Goes through entries, and gives one side of each.
macro_rules! side {
    ($name:ident, $item:ident, $side:tt) => {
        impl<K, V> Clone for $name<'_, K, V> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<'a, K, V> Iterator for $name<'a, K, V> {
            type Item = &'a $item;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|entry| entry.$side)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<K, V> DoubleEndedIterator for $name<'_, K, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map(|entry| entry.$side)
            }
        }

        impl<K, V> ExactSizeIterator for $name<'_, K, V> {}
    };
}

side!(Keys, K, 0);
side!(Values, V, 1);

/// Entries in the order of their keys, with values to change: [`OrderedMap::iter_mut`](super::OrderedMap::iter_mut).
pub struct IterMut<'a, K, V> {
    front: slice::IterMut<'a, (K, V)>,
    runs: slice::IterMut<'a, Vec<(K, V)>>,
    left: usize,
}

impl<'a, K, V> IterMut<'a, K, V> {
    pub(super) fn new(runs: &'a mut [Vec<(K, V)>], len: usize) -> Self {
        Self {
            front: [].iter_mut(),
            runs: runs.iter_mut(),
            left: len,
        }
    }
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.len() == 0 {
            self.front = self.runs.next()?.iter_mut();
        }
        let (key, value) = self.front.next()?;
        self.left -= 1;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}

/// Entries in the order of their keys, without their map.
pub struct IntoIter<K, V> {
    front: vec::IntoIter<(K, V)>,
    runs: vec::IntoIter<Vec<(K, V)>>,
    left: usize,
}

impl<K, V> IntoIter<K, V> {
    pub(super) fn new(runs: Vec<Vec<(K, V)>>, len: usize) -> Self {
        Self {
            front: Vec::new().into_iter(),
            runs: runs.into_iter(),
            left: len,
        }
    }
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        if self.front.len() == 0 {
            self.front = self.runs.next()?.into_iter();
        }
        let entry = self.front.next()?;
        self.left -= 1;
        Some(entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> ExactSizeIterator for IntoIter<K, V> {}
