//! Isolates that ask another of their region's objects from now on.

use weir_shared::node::lease::Event as LeaseEvent;

use super::{Books, Broken, Isolate, World};

impl World {
    /// Another object is asked from now on. Who waits waits there; what is held goes back to where it is from.
    pub(crate) fn isolate_moves(&mut self, place: usize) {
        let before = self.places[place];
        self.isolate_advances(before);
        let region = self.part_of(place);
        if region == self.isolates[before].region {
            return;
        }
        let (life, now) = (self.isolates.len(), self.isolate_now(before));
        let holder = self.holder_of(life);
        let takes_along = self.is_broken(Broken::MovedWithUnits);
        let isolate = &mut self.isolates[before];
        let copy = takes_along.then(|| (isolate.node.clone(), isolate.books.clone()));
        let (left, effects) = isolate.node.moves(holder, now);
        let mut moved = Isolate {
            region,
            node: std::mem::replace(&mut isolate.node, left),
            requests: std::mem::take(&mut isolate.requests),
            waits_since: std::mem::take(&mut isolate.waits_since),
            wakes_at_ms: 0,
            asked: None,
            books: Books::default(),
            smuggled: 0,
            credited_last: None,
            ..isolate.clone()
        };
        isolate.retires = true;
        if let Some((node, books)) = copy {
            (moved.node, moved.books) = (node, books);
        }
        self.retiring.push(before);
        self.isolates.push(moved);
        self.places[place] = life;
        self.truth.moves += 1;
        self.isolate_carries_out(life, effects);
    }

    /// What has moved tells the rest, until nothing is left.
    pub(super) fn retired_tell(&mut self, place: usize) {
        let here = |life: &usize| self.isolates[*life].place == place;
        let retiring = self.retiring.iter().copied();
        for life in retiring.filter(here).collect::<Vec<_>>() {
            let terms = self.terms_at(self.isolates[life].region).clone();
            self.isolate_runs(life, LeaseEvent::Flush { terms });
            let now = self.isolate_now(life);
            if !self.isolates[life].node.has_unsent(now) {
                self.isolates[life].alive = false;
                self.retiring.retain(|retiring| *retiring != life);
                let lost = self.isolates[life].books.all();
                self.strand(lost);
            }
        }
    }
}
