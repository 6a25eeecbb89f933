//! Where the clients lie that asked last: who is admitted is reported about soon, and to hash a name under two keys is a
//! good part of what that costs.
//!
//! A client's place here follows from its name, and whoever comes later to that place takes it. So nothing has to be
//! found again or let go of, and nobody can fill it.

use weir_core::name_hash::hash;

use super::fair_rate::Places;

/// Clients: about as many as are under way at once in one isolate. A power of two.
const CLIENTS: usize = 64;

/// Names that are longer are hashed each time.
const NAME_BYTES: usize = 48;

#[derive(Debug, Clone, Copy)]
struct Known {
    name: [u8; NAME_BYTES],
    length: u8,
    places: Places,
}

/// The clients that asked last.
#[derive(Debug, Clone)]
pub(super) struct Placed(Box<[Option<Known>]>);

impl Placed {
    /// Nobody has asked.
    pub(super) fn new() -> Self {
        Self(vec![None; CLIENTS].into())
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Where a client lies, if it is known.
    pub(super) fn get(&self, name: &str) -> Option<Places> {
        let known = self.0.get(place(name)).and_then(Option::as_ref)?;
        let known_name = known.name.get(..usize::from(known.length))?;
        (known_name == name.as_bytes()).then_some(known.places)
    }

    /// A client lies there.
    pub(super) fn keep(&mut self, client: &str, places: Places) {
        let mut name = [0; NAME_BYTES];
        let bytes = name.get_mut(..client.len());
        if let (Some(bytes), Some(place)) = (bytes, self.0.get_mut(place(client))) {
            bytes.copy_from_slice(client.as_bytes());
            let length = client.len() as u8;
            *place = Some(Known {
                name,
                length,
                places,
            });
        }
    }

    /// The keys have changed: nobody lies where it did.
    pub(super) fn forget(&mut self) {
        self.0.fill(None);
    }
}

fn place(name: &str) -> usize {
    hash(name.as_bytes()) as usize % CLIENTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{PlacementKey, Shape};

    fn places(name: &str) -> Places {
        let shape = Shape::new(3, 1_000).unwrap();
        Places {
            live: PlacementKey::derive(&[1; 32], "origin", 0).place(name, shape),
            shadow: PlacementKey::derive(&[1; 32], "origin", 1).place(name, shape),
        }
    }

    #[test]
    fn whoever_is_known_lies_where_it_was_kept() {
        let mut placed = Placed::new();
        let names: Vec<String> = (0..1_000_usize)
            .map(|n| "x".repeat(n % 60) + &n.to_string())
            .collect();
        for name in &names {
            placed.keep(name, places(name));
            let known = placed.get(name);
            assert_eq!(
                known,
                (name.len() <= NAME_BYTES).then(|| places(name)),
                "{name}"
            );
        }
        let known = names.iter().filter(|name| placed.get(name).is_some());
        // Each took the place of few others.
        assert!((CLIENTS / 2..=CLIENTS).contains(&known.clone().count()));
        assert!(
            known
                .clone()
                .all(|name| placed.get(name) == Some(places(name)))
        );
        placed.forget();
        assert!(names.iter().all(|name| placed.get(name).is_none()));
    }
}
