//! Where each of many names is in a list that keeps them: a hash table with an ordered map behind it.
//!
//! A name lies in the group of four places that its hash says, or, where those are taken, in the map. So a search looks
//! at one group and compares one name, nearly always, whatever the number of names; and names that were invented to
//! share a group only fill the map, in which a search is never longer than `log n`. The hash needs no secret for that.

use weir_core::name_hash::hash;
use weir_core::ordered::OrderedMap;

/// Places that a hash leads to: 16 bytes, a quarter of a cache line.
const GROUP: usize = 4;

/// Of a place, the bits that say which name it is, counted from 1; those above are of its hash. More than
/// [`TENANTS_MAX`](weir_core::limits::TENANTS_MAX) and those that a policy names; what is beyond lies in the map.
const ID_BITS: u32 = 20;

const ID_MAX: u32 = (1 << ID_BITS) - 1;

/// Names that are numbered from 0 in the order in which they came. The names themselves are kept by the caller, who
/// tells each by its number.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameIndex {
    groups: Vec<[u32; GROUP]>,
    spilled: OrderedMap<Box<str>, usize>,
    len: usize,
}

impl NameIndex {
    /// The number of a name.
    pub(crate) fn get<'a>(
        &self,
        name: &str,
        name_of: impl Fn(usize) -> Option<&'a str>,
    ) -> Option<usize> {
        let hash = hash(name.as_bytes());
        for place in self.groups.get(self.group(hash))? {
            let id = (place & ID_MAX) as usize;
            if id > 0 && place >> ID_BITS == tag(hash) && name_of(id - 1) == Some(name) {
                return Some(id - 1);
            }
        }
        if self.spilled.is_empty() {
            return None;
        }
        self.spilled.get(name).copied()
    }

    /// Adds the next name, which is not there yet. Answers how many names were placed for that: one, or all where the
    /// table had to grow, which happens each time that there are twice as many.
    pub(crate) fn push<'a>(
        &mut self,
        name: &str,
        name_of: impl Fn(usize) -> Option<&'a str>,
    ) -> u64 {
        let id = self.len;
        self.len += 1;
        if self.len * 2 <= self.groups.len() * GROUP {
            self.place(name, id);
            return 1;
        }
        let groups = (self.len * 2).next_power_of_two().max(2 * GROUP) / GROUP;
        self.groups = vec![[0; GROUP]; groups];
        self.spilled.clear();
        for before in 0..id {
            if let Some(name) = name_of(before) {
                self.place(name, before);
            }
        }
        self.place(name, id);
        self.len as u64
    }

    fn place(&mut self, name: &str, id: usize) {
        let hash = hash(name.as_bytes());
        let group = self.group(hash);
        let number = u32::try_from(id + 1).ok().filter(|id| *id <= ID_MAX);
        let places = self.groups.get_mut(group);
        let free = places.and_then(|places| places.iter_mut().find(|place| **place == 0));
        match (free, number) {
            (Some(free), Some(number)) => *free = tag(hash) << ID_BITS | number,
            _ => {
                self.spilled.insert(name.into(), id);
            }
        }
    }

    /// There is a power of two of groups.
    fn group(&self, hash: u64) -> usize {
        hash as usize & self.groups.len().wrapping_sub(1)
    }
}

/// The bits of a hash that a place has room for: not those that say the group.
fn tag(hash: u64) -> u32 {
    (hash >> (32 + ID_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(names: &[String]) -> (NameIndex, u64) {
        let mut index = NameIndex::default();
        let placed =
            (0..names.len()).map(|id| index.push(&names[id], |id| Some(names[id].as_str())));
        let placed = placed.sum();
        (index, placed)
    }

    fn found(index: &NameIndex, names: &[String], name: &str) -> Option<usize> {
        index.get(name, |id| names.get(id).map(String::as_str))
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        let of_length = |index: usize| "x".repeat(index % 40) + &index.to_string();
        let names: Vec<String> = (0..20_000).map(of_length).collect();
        let (index, placed) = index(&names);
        for (id, name) in names.iter().enumerate() {
            assert_eq!(found(&index, &names, name), Some(id), "{name}");
            assert_eq!(found(&index, &names, &format!("{name}y")), None);
        }
        assert_eq!(found(&index, &names, ""), None);
        assert!(placed < 4 * 20_000, "{placed} for 20,000 names");
        assert!(index.spilled.len() < 1_500, "{}", index.spilled.len());
        assert_eq!(found(&NameIndex::default(), &names, "1"), None);
    }

    #[test]
    fn names_that_share_a_group_are_found_in_the_map() {
        // Of names in a group there are as many as anyone cares to look for.
        let group = |name: &String| hash(name.as_bytes()) & 0xff == 0;
        let names: Vec<String> = (0..40_000)
            .map(|one| format!("n{one}"))
            .filter(group)
            .collect();
        let (index, _) = index(&names[..100]);
        assert!(index.groups.len() <= 256 && index.spilled.len() >= 96);
        for (id, name) in names.iter().enumerate() {
            assert_eq!(found(&index, &names, name), (id < 100).then_some(id));
        }
    }
}
