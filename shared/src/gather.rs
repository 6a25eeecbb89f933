//! Small maps from what is iterated over.

use std::collections::BTreeMap;

/// The entries as a map; of two with one key the later stays.
///
/// `collect` sorts the entries first, and comes with a sort of its own for each type of entry, several kilobytes of the
/// Worker each. It remains right for large maps that are kept: their nodes are full, while these are half full.
///
/// ```
/// use weir_shared::gather::gathered;
/// assert_eq!(gathered([("b", 1), ("a", 2), ("b", 3)]).into_iter().collect::<Vec<_>>(), [("a", 2), ("b", 3)]);
/// ```
pub fn gathered<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        map.insert(key, value);
    }
    map
}
