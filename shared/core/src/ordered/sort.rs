use std::cmp::Ordering;

/// Sorts items; those that are alike stay in their order. `std`'s sort becomes 5 kB of wasm for each type of items: this one
/// sorts their places, so one for all types does. It allocates 16 bytes an item, and is for lists that are made to be told.
///
/// ```
/// use weir_core::ordered::sort_by;
///
/// let mut names = ["globex", "acme", "initech"];
/// sort_by(&mut names, |one, other| one.len().cmp(&other.len()));
/// assert_eq!(names, ["acme", "globex", "initech"]);
/// ```
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut places = places(items.len(), &mut |one, other| {
        compare(&items[one], &items[other])
    });
    for at in 0..items.len() {
        while places[at] != at {
            let to = places[at];
            items.swap(at, to);
            places.swap(at, to);
        }
    }
}

/// Sorts items by a key of each, as [`sort_by`] does.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Where each of so many items belongs.
fn places(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|one, other| compare(*one, *other));
    let mut places = vec![0; len];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = place;
    }
    places
}
