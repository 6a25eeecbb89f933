use std::borrow::Borrow;
use std::fmt::{self, Debug, Formatter};

use super::iter::{IntoIter, Keys};
use super::map::OrderedMap;

/// Values in order, each once. It is used as `std::collections::BTreeSet` is.
///
/// ```
/// use weir_core::ordered::OrderedSet;
///
/// let regions = OrderedSet::from(["weur", "enam", "weur"]);
/// assert!(regions.iter().eq(&["enam", "weur"]));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderedSet<T> {
    map: OrderedMap<T, ()>,
}

/// The values of a set, in order, without the set.
pub struct IntoValues<T>(IntoIter<T, ()>);

impl<T> Iterator for IntoValues<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(value, ())| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for IntoValues<T> {}

impl<T> OrderedSet<T> {
    /// An empty set. It allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            map: OrderedMap::new(),
        }
    }

    /// How many values there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// All values, in order.
    #[must_use]
    pub fn iter(&self) -> Keys<'_, T, ()> {
        self.map.keys()
    }

    /// The least value.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// The greatest value.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// Removes the least value.
    pub fn pop_first(&mut self) -> Option<T> {
        self.map.pop_first().map(|(value, ())| value)
    }

    /// Removes the greatest value.
    pub fn pop_last(&mut self) -> Option<T> {
        self.map.pop_last().map(|(value, ())| value)
    }

    /// Drops the values that are not to be kept.
    pub fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.map.retain(|value, ()| keeps(value));
    }
}

impl<T: Ord> OrderedSet<T> {
    /// Adds a value; whether it was not there.
    pub fn insert(&mut self, value: T) -> bool {
        self.map.insert(value, ()).is_none()
    }

    /// Removes a value; whether it was there.
    pub fn remove<Q>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.map.remove(value).is_some()
    }

    /// Whether a value is there.
    #[must_use]
    pub fn contains<Q>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.map.contains_key(value)
    }

    /// Whether all values are in another set.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|value| other.contains(value))
    }

    /// Whether all values of another set are here.
    #[must_use]
    pub fn is_superset(&self, other: &Self) -> bool {
        other.is_subset(self)
    }

    /// A value as it is kept.
    #[must_use]
    pub fn get<Q>(&self, value: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.map.get_key_value(value).map(|(value, ())| value)
    }
}

impl<T> Default for OrderedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Debug> Debug for OrderedSet<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self).finish()
    }
}

impl<T: Ord> Extend<T> for OrderedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<T: Ord> FromIterator<T> for OrderedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::new();
        set.extend(values);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for OrderedSet<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T> IntoIterator for OrderedSet<T> {
    type Item = T;
    type IntoIter = IntoValues<T>;

    fn into_iter(self) -> IntoValues<T> {
        IntoValues(self.map.into_iter())
    }
}

impl<'a, T> IntoIterator for &'a OrderedSet<T> {
    type Item = &'a T;
    type IntoIter = Keys<'a, T, ()>;

    fn into_iter(self) -> Keys<'a, T, ()> {
        self.iter()
    }
}
