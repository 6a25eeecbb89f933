//! A few values by name. There is one for each tenant, with an entry or two: a B-tree's first node has room for eleven,
//! which would be nine tenths of what counting a tenant takes.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// Values by name, in the order of the names. An object on the wire.
///
/// ```
/// use weir_wire::by_name::ByName;
/// let mut calls: ByName<u64> = [("b".to_owned(), 1)].into();
/// *calls.slot("a") += 2;
/// *calls.slot("b") += 2;
/// assert_eq!(calls.iter().collect::<Vec<_>>(), [(&"a".to_owned(), &2), (&"b".to_owned(), &3)]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ByName<V>(Vec<(String, V)>);

impl<V> ByName<V> {
    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&V> {
        let at = self.find(name).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Whether there is a value of that name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Puts a value under a name, in the place of one that is there.
    pub fn insert(&mut self, name: String, value: V) {
        match self.find(&name) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.put(at, name, value),
        }
    }

    /// The value of that name, put there if there is none.
    pub fn slot(&mut self, name: &str) -> &mut V
    where
        V: Default,
    {
        let at = match self.find(name) {
            Ok(at) => at,
            Err(at) => {
                self.put(at, name.to_owned(), V::default());
                at
            }
        };
        &mut self.0[at].1
    }

    /// Names and values, by name.
    pub fn iter(&self) -> Iter<'_, V> {
        self.into_iter()
    }

    /// Names and values that can be changed, by name.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut V)> {
        self.0.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    /// The values, by name.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Keeps those for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&String, &mut V) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
    }

    /// One more. Room is made for half as many again, which for the first is one.
    fn put(&mut self, at: usize, name: String, value: V) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(self.0.len() / 2 + 1);
        }
        self.0.insert(at, (name, value));
    }
}

/// Names and values, by name.
pub type Iter<'a, V> =
    std::iter::Map<std::slice::Iter<'a, (String, V)>, fn(&(String, V)) -> (&String, &V)>;

impl<V> Default for ByName<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for ByName<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V, N: Borrow<str> + ?Sized> Index<&N> for ByName<V> {
    type Output = V;

    /// # Panics
    /// When there is no value of that name.
    fn index(&self, name: &N) -> &V {
        self.get(name.borrow()).expect("no value of that name")
    }
}

impl<V, const N: usize> From<[(String, V); N]> for ByName<V> {
    fn from(entries: [(String, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> FromIterator<(String, V)> for ByName<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        let mut all = Self::new();
        for (name, value) in entries {
            all.insert(name, value);
        }
        all
    }
}

impl<V> IntoIterator for ByName<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a ByName<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Iter<'a, V> {
        let pair: fn(&(String, V)) -> (&String, &V) = |(name, value)| (name, value);
        self.0.iter().map(pair)
    }
}

impl<V: Serialize> Serialize for ByName<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ByName<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = ByName<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByName<V>, A::Error> {
                let mut all = ByName::new();
                while let Some((name, value)) = map.next_entry()? {
                    all.insert(name, value);
                }
                Ok(all)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}
