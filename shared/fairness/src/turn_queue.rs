//! At which of many points something is due first: a binary heap in which each entry can be found by its number, and that
//! allocates nothing once there was room for as many.

/// For some of the numbers below a bound, a point; the highest is first.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnQueue {
    heap: Vec<(u128, usize)>,
    /// Where in the heap a number is. Of one that is not there, any place.
    places: Vec<usize>,
}

impl TurnQueue {
    /// The highest point, and whose it is.
    pub fn first(&self) -> Option<(u128, usize)> {
        self.heap.first().copied()
    }

    /// Gives a number a point, in place of one that it may have.
    pub fn set(&mut self, index: usize, turn: u128) {
        if let Some(at) = self.place(index) {
            self.put(at, (turn, index));
            self.sift(at);
            return;
        }
        if self.places.len() <= index {
            self.places.resize(index + 1, 0);
        }
        self.heap.push((turn, index));
        self.sift(self.heap.len() - 1);
    }

    /// Takes a number out, if it is there.
    pub fn remove(&mut self, index: usize) {
        let Some(at) = self.place(index) else {
            return;
        };
        self.heap.swap_remove(at);
        if let Some(moved) = self.heap.get(at).copied() {
            self.put(at, moved);
            self.sift(at);
        }
    }

    fn place(&self, index: usize) -> Option<usize> {
        let at = *self.places.get(index)?;
        (self.heap.get(at)?.1 == index).then_some(at)
    }

    fn turn(&self, at: usize) -> Option<u128> {
        self.heap.get(at).map(|(turn, _)| *turn)
    }

    fn put(&mut self, at: usize, entry: (u128, usize)) {
        if let (Some(slot), Some(place)) = (self.heap.get_mut(at), self.places.get_mut(entry.1)) {
            (*slot, *place) = (entry, at);
        }
    }

    /// Moves the entry at a place up or down to where it belongs.
    fn sift(&mut self, at: usize) {
        let Some(entry) = self.heap.get(at).copied() else {
            return;
        };
        let raised = self.raised(at, entry.0);
        let at = self.lowered(raised, entry.0);
        self.put(at, entry);
    }

    /// The place of a point that may go up, those above it moved down.
    fn raised(&mut self, mut at: usize, turn: u128) -> usize {
        while at > 0 {
            let above = (at - 1) / 2;
            match self.heap.get(above).copied() {
                Some(entry) if entry.0 < turn => self.put(at, entry),
                _ => break,
            }
            at = above;
        }
        at
    }

    /// The place of a point that may go down, those below it moved up.
    fn lowered(&mut self, mut at: usize, turn: u128) -> usize {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let below = if self.turn(right) > self.turn(left) {
                right
            } else {
                left
            };
            match self.heap.get(below).copied() {
                Some(entry) if entry.0 > turn => self.put(at, entry),
                _ => return at,
            }
            at = below;
        }
    }
}

#[cfg(test)]
mod tests {

    use weir_core::ordered::OrderedMap;

    use super::*;

    #[test]
    fn the_first_is_that_of_a_sorted_list_under_any_changes() {
        let mut queue = TurnQueue::default();
        let mut list: OrderedMap<usize, u128> = OrderedMap::new();
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (index, turn) = ((state >> 33) as usize % 61, u128::from(state >> 50));
            if state >> 40 & 3 == 0 {
                queue.remove(index);
                list.remove(&index);
            } else {
                queue.set(index, turn);
                list.insert(index, turn);
            }
            let highest = list.values().max().copied();
            assert_eq!(queue.first().map(|(turn, _)| turn), highest);
            let whose = queue
                .first()
                .map(|(turn, index)| list.get(&index) == Some(&turn));
            assert_ne!(whose, Some(false));
        }
        for index in 0..61 {
            queue.remove(index);
            list.remove(&index);
            assert_eq!(
                queue.first().map(|(turn, _)| turn),
                list.values().max().copied()
            );
        }
        assert_eq!(queue.first(), None);
    }
}
