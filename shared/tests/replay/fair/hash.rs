//! Where a client lies.

use serde::Deserialize;
use weir_reference::compatible::structure::Places;
use weir_reference::murmur3;
use weir_shared::ordered::OrderedMap;

use crate::replay::report::Outcome;

#[derive(Debug, Deserialize)]
pub struct Hash {
    id_hex: String,
    id: Option<String>,
    seed: u32,
    #[serde(flatten)]
    placed: Placed,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Placed {
    h64: String,
    hash1: u32,
    hash2: u32,
    hashes: Vec<u32>,
    /// By the number of buckets, which JSON writes as a text.
    idx: OrderedMap<String, Vec<u32>>,
}

pub fn compare(vector: &Hash) -> Outcome {
    let Some(id) = bytes(&vector.id_hex) else {
        return Outcome::failed("an id in hexadecimal digits", &vector.id_hex);
    };
    if (vector.id.as_ref()).is_some_and(|text| text.as_bytes() != id) {
        return Outcome::failed("one id", vector);
    }
    let got = place(&id, vector);
    if got.as_ref() == Some(&vector.placed) {
        Outcome::Passed
    } else {
        Outcome::failed(format!("{:?}", vector.placed), got)
    }
}

fn place(id: &[u8], vector: &Hash) -> Option<Placed> {
    let places = Places::of(id, vector.seed);
    let levels = |count: usize| (0..).take(count);
    let mut idx = OrderedMap::new();
    for (buckets, told) in &vector.placed.idx {
        let number = buckets.parse().ok().filter(|number| *number > 0)?;
        let of_levels = levels(told.len()).map(|level| places.bucket(level, number));
        idx.insert(buckets.clone(), of_levels.collect());
    }
    Some(Placed {
        h64: format!("{:016x}", murmur3::x64_128(id, vector.seed).0),
        hash1: places.first,
        hash2: places.second,
        hashes: levels(vector.placed.hashes.len())
            .map(|level| places.hash(level))
            .collect(),
        idx,
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
