use super::map::{At, OrderedMap};

/// The entry of a key, which may not be there yet: [`OrderedMap::entry`].
pub struct Entry<'a, K, V> {
    pub(super) map: &'a mut OrderedMap<K, V>,
    pub(super) key: K,
    pub(super) found: Result<At, At>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Changes the value, if it is there.
    #[must_use]
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(at) = self.found {
            change(&mut self.map.at_mut(at).1);
        }
        self
    }

    /// The value, or this one from now on.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, or from now on what is made.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self.found {
            Ok(at) => &mut self.map.at_mut(at).1,
            Err(at) => self.map.put(at, self.key, make()),
        }
    }

    /// The value, or its type's default from now on.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

/// An entry that is there.
pub struct OccupiedEntry<'a, K, V> {
    pub(super) map: &'a mut OrderedMap<K, V>,
    pub(super) at: At,
}

impl<K, V> OccupiedEntry<'_, K, V> {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.map.at(self.at).0
    }

    /// Its value.
    #[must_use]
    pub fn get(&self) -> &V {
        &self.map.at(self.at).1
    }

    /// Its value, to change.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.at_mut(self.at).1
    }

    /// Removes it. Its value.
    pub fn remove(self) -> V {
        self.remove_entry().1
    }

    /// Removes it. Its key and value.
    pub fn remove_entry(self) -> (K, V) {
        self.map.take(self.at)
    }
}
