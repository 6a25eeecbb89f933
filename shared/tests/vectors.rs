//! Golden vectors: what other limiters decided. See `vectors/README.md`.

use crate::replay;

use std::path::PathBuf;

use crate::replay::{Counts, Report};
use crate::repository::root;

/// Names a folder to replay in the place of the project's own.
const FOLDER: &str = "WEIR_VECTORS_DIR";

/// What the project's own vectors come to: sequences, and operations that pass and that are not compared.
const OWN: [(&str, u64, u64, u64); 28] = [
    ("calendar.jsonl", 4, 288, 12),
    ("combine_decisions.jsonl", 8, 248, 0),
    ("fair/decay.jsonl", 73, 73, 0),
    ("fair/hash.jsonl", 45, 45, 0),
    ("fair/trace_structure.jsonl", 1, 159, 0),
    ("fair/trace_tracker.jsonl", 1, 199, 0),
    ("fair/tuned.jsonl", 27, 27, 0),
    ("fair/validate.jsonl", 20, 20, 0),
    ("fair_share.jsonl", 4, 185, 38),
    ("federated_leasing.jsonl", 17, 638, 297),
    ("federated_weighted_fair_escrow.jsonl", 7, 261, 119),
    ("fixed_window.jsonl", 4, 198, 69),
    ("gcra.jsonl", 6, 167, 70),
    ("leaky_bucket.jsonl", 8, 302, 103),
    ("lease_sizer.jsonl", 7, 7, 616),
    ("lease_spender.jsonl", 8, 480, 0),
    ("multi.jsonl", 6, 272, 57),
    ("quota.jsonl", 6, 65, 129),
    ("region_fair_pool.jsonl", 12, 588, 178),
    ("sliding_window.jsonl", 4, 125, 44),
    ("sliding_window_log.jsonl", 7, 177, 140),
    ("static_partition.jsonl", 9, 275, 54),
    ("token_bucket.jsonl", 1, 33, 3),
    ("validation.jsonl", 7, 7, 0),
    ("weighted_fair_escrow.jsonl", 8, 377, 107),
    ("weighted_fair_escrow_l2.jsonl", 10, 400, 232),
    ("weighted_fair_share.jsonl", 4, 141, 125),
    ("weighted_max_min.jsonl", 6, 195, 210),
];

/// Replays the project's own vectors, or those of the folder that the variable names, and prints for each file what
/// passed, failed and was not compared, with every reason.
#[test]
fn decisions_equal_the_golden_vectors() {
    let named = std::env::var_os(FOLDER).map(PathBuf::from);
    let own = root().join("shared/tests/vectors");
    let report = replay::folder(named.as_deref().unwrap_or(&own));
    println!("{report}");
    assert!(report.is_clean(), "not every vector passed");
    if named.is_none() {
        assert_eq!(counted(&report), OWN.map(expected));
    }
}

fn counted(report: &Report) -> Vec<(&str, Counts)> {
    let files = report.files.iter();
    files
        .map(|file| (file.name.as_str(), file.counts.clone()))
        .collect()
}

fn expected((name, sequences, passed, skipped): (&str, u64, u64, u64)) -> (&str, Counts) {
    let counts = Counts {
        sequences,
        passed,
        failed: 0,
        skipped,
    };
    (name, counts)
}
