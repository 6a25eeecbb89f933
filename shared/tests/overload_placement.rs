//! How often clients share cells, beside what independent levels promise and what two hashes keep of it.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use weir_reference::compatible::structure::Places;
use weir_shared::limits::{OVERLOAD_BUCKETS_MAX, OVERLOAD_CELLS_MAX, OVERLOAD_LEVELS_MAX};
use weir_shared::overload::placement::{PlacementKey, Shape};
use weir_shared::overload::tuning::{LEVELS_MIN, Untunable, exact_levels, levels_for};

const SECRET: [u8; 32] = [7; 32];

fn shape(levels: usize, buckets: usize) -> Shape {
    Shape::new(levels, buckets).unwrap()
}

fn name(number: usize) -> String {
    format!("client-{number}")
}

/// The bucket of each level.
fn placed(key: &PlacementKey, client: usize, shape: Shape) -> Vec<usize> {
    let cells = key.place(&name(client), shape);
    cells.indexes().map(|cell| cell % shape.buckets()).collect()
}

/// The same by two hashes.
fn placed_by_two(seed: u32, client: usize, shape: Shape) -> Vec<usize> {
    let places = Places::of(name(client).as_bytes(), seed);
    let buckets = shape.buckets() as u32;
    (0..shape.levels() as u32)
        .map(|level| places.bucket(level, buckets) as usize)
        .collect()
}

/// Pairs that share all of what they are placed in.
fn pairs_alike(clients: impl Iterator<Item = Vec<usize>>) -> u64 {
    let mut alike: HashMap<Vec<usize>, u64> = HashMap::new();
    for cells in clients {
        *alike.entry(cells).or_default() += 1;
    }
    alike.values().map(|count| count * (count - 1) / 2).sum()
}

/// Pairs of `clients` that share their cells by independent levels, and how far chance moves them at most (six standard
/// deviations: pairs are independent two by two).
fn expected(clients: usize, levels: usize, buckets: usize) -> (f64, f64) {
    let pairs = (clients * (clients - 1) / 2) as f64;
    let expected = pairs / (buckets as f64).powi(levels as i32);
    (expected, 6.0 * expected.sqrt())
}

#[test]
fn two_clients_share_all_cells_as_seldom_as_independent_levels_promise() {
    const CLIENTS: usize = 5_000;
    println!("buckets x levels: pairs of {CLIENTS} clients that share all cells");
    for (buckets, levels) in [
        (4, 5),
        (4, 6),
        (7, 4),
        (8, 4),
        (10, 3),
        (2, 8),
        (128, 2),
        (100, 2),
    ] {
        let shape = shape(levels, buckets);
        let (expected, off_max) = expected(CLIENTS, levels, buckets);
        for period in 0..3 {
            let key = PlacementKey::derive(&SECRET, "origin", period);
            let found = pairs_alike((0..CLIENTS).map(|client| placed(&key, client, shape))) as f64;
            println!("{buckets} x {levels}: {found} of {expected:.0}");
            assert!(
                (found - expected).abs() < off_max,
                "{buckets} x {levels}: {found} of {expected}"
            );
        }
    }
}

/// With 512 buckets, 4 levels and 100,000 clients: 5e9 pairs, of which 19,073 share the first two levels, 37 the first
/// three and none (0.07) all. By two hashes all that share two share all.
#[test]
fn sharing_two_levels_of_a_power_of_two_says_nothing_of_the_others() {
    const CLIENTS: usize = 100_000;
    let shape = shape(4, 512);
    let key = PlacementKey::derive(&SECRET, "origin", 1);
    let own: Vec<Vec<usize>> = (0..CLIENTS)
        .map(|client| placed(&key, client, shape))
        .collect();
    for levels in [2, 3, 4] {
        let (expected, off_max) = expected(CLIENTS, levels, 512);
        let found = pairs_alike(own.iter().map(|cells| cells[..levels].to_vec())) as f64;
        println!("512 x {levels}: {found} of {expected:.2}");
        assert!(
            (found - expected).abs() < off_max.max(2.0),
            "{levels}: {found}"
        );
    }
    let by_two = || (0..CLIENTS).map(|client| placed_by_two(42, client, shape));
    let two = pairs_alike(by_two().map(|cells| cells[..2].to_vec()));
    let four = pairs_alike(by_two());
    println!("by two hashes 512 x 4: {four}, of which {two} share the first two");
    assert_eq!(two, four);
    assert!(four > 15_000, "{four}");
}

/// `(1 - (1 - 1/512)^100)^4` = 0.000994 of the innocent clients have all of their cells covered by 100 heavy ones.
#[test]
fn heavy_clients_cover_as_many_innocent_ones_as_the_formula_says() {
    const PERIODS: u64 = 200;
    const INNOCENT: usize = 2_000;
    const HEAVY: usize = 100;
    let shape = shape(4, 512);
    let mut covered = 0_u64;
    for period in 0..PERIODS {
        let key = PlacementKey::derive(&SECRET, "origin", period);
        let heavy: HashSet<u16> = (0..HEAVY)
            .flat_map(|client| key.place(&name(client), shape).to_vec())
            .collect();
        covered += (HEAVY..HEAVY + INNOCENT)
            .filter(|client| {
                let cells = key.place(&name(*client), shape);
                cells.iter().all(|cell| heavy.contains(cell))
            })
            .count() as u64;
    }
    let of = PERIODS as f64 * INNOCENT as f64;
    let promised = (1.0 - (511.0_f64 / 512.0).powi(100)).powi(4);
    println!("covered: {:.6} of {promised:.6}", covered as f64 / of);
    // 398 of 400,000 are expected, with a standard deviation of 20 by chance and of some 2 by how full the levels are.
    let off = (covered as f64 - promised * of).abs();
    assert!(off < 6.0 * (promised * of).sqrt(), "{covered} of {of}");
}

#[test]
fn each_level_is_filled_evenly() {
    const CLIENTS: usize = 100_000;
    for buckets in [512, 1_000] {
        let shape = shape(8, buckets);
        let key = PlacementKey::derive(&SECRET, "origin", 1);
        let mut counts = vec![0_u32; shape.cells()];
        for client in 0..CLIENTS {
            for cell in key.place(&name(client), shape).indexes() {
                counts[cell] += 1;
            }
        }
        let mean = CLIENTS as f64 / buckets as f64;
        let freedom = (buckets - 1) as f64;
        for level in counts.chunks(buckets) {
            let off = |count: &u32| (f64::from(*count) - mean).powi(2) / mean;
            let chi_squared: f64 = level.iter().map(off).sum();
            assert!(
                (chi_squared - freedom).abs() < 6.0 * (2.0 * freedom).sqrt(),
                "{buckets}: {chi_squared}"
            );
        }
    }
}

#[test]
fn every_holder_of_a_period_places_a_client_alike_and_nobody_else_does() {
    const CLIENTS: usize = 2_000;
    let shape = shape(3, 1_000);
    let key = PlacementKey::derive(&SECRET, "origin", 5_667);
    let mut other = SECRET;
    other[31] ^= 1;
    let others = [
        (
            "another secret",
            PlacementKey::derive(&other, "origin", 5_667),
        ),
        (
            "another resource",
            PlacementKey::derive(&SECRET, "origin2", 5_667),
        ),
        (
            "another period",
            PlacementKey::derive(&SECRET, "origin", 5_668),
        ),
    ];
    let again = PlacementKey::derive(&SECRET, "origin", 5_667);
    for client in 0..CLIENTS {
        assert_eq!(
            again.place(&name(client), shape),
            key.place(&name(client), shape)
        );
    }
    for (what, other) in others {
        let shared: usize = (0..CLIENTS)
            .map(|client| {
                let (here, there) = (placed(&key, client, shape), placed(&other, client, shape));
                here.iter().zip(&there).filter(|(a, b)| a == b).count()
            })
            .sum();
        // 6,000 cells, each equal by chance with 1/1000.
        assert!(shared < 25, "{what}: {shared}");
    }
}

/// Holders of two versions of Weir must place clients alike.
#[test]
fn the_placement_is_pinned() {
    let key = PlacementKey::derive(&SECRET, "origin", 5_667);
    let told = |client: &str| key.place(client, shape(3, 1_000)).to_vec();
    assert_eq!(told("acme"), PINNED[0]);
    assert_eq!(told(""), PINNED[1]);
    assert_eq!(told("ténant/ü"), PINNED[2]);
}

/// Computed from the definition of HMAC-SHA-256 and of SipHash, in another language.
const PINNED: [[u16; 3]; 3] = [[783, 1818, 2299], [392, 1348, 2061], [641, 1473, 2731]];

#[test]
fn shapes_out_of_bounds_are_refused() {
    for (levels, buckets) in [
        (0, 10),
        (10, 0),
        (OVERLOAD_LEVELS_MAX + 1, 1),
        (1, OVERLOAD_BUCKETS_MAX + 1),
        (3, OVERLOAD_BUCKETS_MAX),
        (usize::MAX, usize::MAX),
    ] {
        assert_eq!(Shape::new(levels, buckets), None, "{levels} x {buckets}");
    }
    assert!(Shape::new(2, OVERLOAD_CELLS_MAX / 2).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_client_has_one_cell_in_each_level(
        client in ".{0,64}",
        period: u64,
        levels in 1..=OVERLOAD_LEVELS_MAX,
        buckets in 1..=1_024_usize,
    ) {
        let shape = shape(levels, buckets);
        let cells = PlacementKey::derive(&SECRET, "origin", period).place(&client, shape);
        prop_assert_eq!(cells.len(), levels);
        for (level, cell) in cells.indexes().enumerate() {
            prop_assert_eq!(cell / buckets, level);
        }
    }

    /// Levels that are advised keep what they promise, one level less would not, and what is refused has a reason.
    #[test]
    fn tuned_levels_are_enough_and_bounded(
        buckets in prop_oneof![Just(0), Just(1), 2..5_000_u32, any::<u32>()],
        heavy in prop_oneof![Just(0), 1..20_000_u32, any::<u32>()],
        p in prop_oneof![1e-9..1.0_f64, any::<f64>()],
    ) {
        let covered = 1.0 - (1.0 - 1.0 / f64::from(buckets)).powf(f64::from(heavy));
        let missed = |levels: u32| covered.powf(f64::from(levels));
        match levels_for(buckets, heavy, p) {
            Ok(levels) => {
                prop_assert!((LEVELS_MIN..=64).contains(&levels));
                prop_assert!(missed(levels) <= p * (1.0 + 1e-9));
                prop_assert!(levels == LEVELS_MIN || missed(levels - 1) > p * (1.0 - 1e-9));
            }
            Err(Untunable::Probability) => prop_assert!(!(p > 0.0 && p < 1.0)),
            Err(Untunable::NoBuckets) => prop_assert_eq!(buckets, 0),
            Err(Untunable::Covered) => prop_assert!(covered >= 1.0),
            Err(Untunable::TooManyLevels { levels }) => {
                prop_assert!(levels > 64.0 && missed(64) > p);
                prop_assert!(exact_levels(buckets, heavy, p).unwrap() <= levels);
            }
        }
    }
}
