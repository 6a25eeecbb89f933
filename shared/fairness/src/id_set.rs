//! A set of small numbers that allocates nothing once there was room for as many.

/// Numbers, in no order. Each knows where it is in the list; what is there says whether it still is, so that a number that
/// was taken out need not be forgotten (Briggs and Torczon, *An Efficient Representation for Sparse Sets*, 1993).
#[derive(Debug, Clone, Default)]
pub(super) struct IdSet {
    ids: Vec<usize>,
    places: Vec<usize>,
}

impl IdSet {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn clear(&mut self) {
        self.ids.clear();
    }

    /// Whether a number is there.
    pub fn contains(&self, id: usize) -> bool {
        let place = self.places.get(id);
        place.and_then(|place| self.ids.get(*place)) == Some(&id)
    }

    /// Adds a number, if it is not there.
    pub fn insert(&mut self, id: usize) {
        if self.contains(id) {
            return;
        }
        if self.places.len() <= id {
            self.places.resize(id + 1, 0);
        }
        self.set_place(id, self.ids.len());
        self.ids.push(id);
    }

    /// Takes out those that are not to be kept.
    pub fn retain(&mut self, mut keeps: impl FnMut(usize) -> bool) {
        let mut at = 0;
        while let Some(id) = self.ids.get(at).copied() {
            if keeps(id) {
                at += 1;
                continue;
            }
            self.ids.swap_remove(at);
            if let Some(moved) = self.ids.get(at).copied() {
                self.set_place(moved, at);
            }
        }
    }

    fn set_place(&mut self, id: usize, at: usize) {
        if let Some(place) = self.places.get_mut(id) {
            *place = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_was_put_in_once_and_not_what_was_taken_out() {
        let mut set = IdSet::default();
        for id in [7, 3, 7, 90, 3, 0] {
            set.insert(id);
        }
        assert_eq!(set.len(), 4);
        set.retain(|id| id != 3 && id != 0);
        assert_eq!(
            [0, 3, 7, 90].map(|id| set.contains(id)),
            [false, false, true, true]
        );
        set.insert(3);
        let mut looked_at = Vec::new();
        set.retain(|id| {
            looked_at.push(id);
            true
        });
        looked_at.sort_unstable();
        assert_eq!(looked_at, [3, 7, 90]);
        set.clear();
        assert!(set.len() == 0 && ![3, 7, 90].iter().any(|id| set.contains(*id)));
    }
}
