//! Where a number of a tenant stands in the sources: in its table, and where it is bounded and travels; and where an
//! algorithm and an endpoint do. All else that has to do with it comes from its row.

use std::fs;
use std::path::{Path, PathBuf};

use crate::repository::root;

/// The sources of what is shipped beside the crates in `shared`, from the root of the repository.
const SOURCES: [&str; 4] = ["edge/src", "console/src", "cli/src", "agent/src"];

/// What uses the numbers: the rules of fairness, and their ideal.
const MACHINES: [&str; 2] = ["shared/fairness/src/", "shared/policy/src/ideal.rs"];

/// Where a claim becomes a message and a message a claim.
const CARRIED: &str = "shared/fairness/src/rank.rs";

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Whether the code of a file names a field, its tests and comments left out.
fn names(source: &str, field: &str) -> bool {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    lines.any(|line| line.split(|c| !is_part(c)).any(|word| word == field))
}

/// The sources beside the machines that name a field.
fn carriers(field: &str) -> Vec<String> {
    let mut all = Vec::new();
    for folder in SOURCES {
        files(&root().join(folder), &mut all);
    }
    for folder in fs::read_dir(root().join("shared")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.join("Cargo.toml").is_file() {
            files(&folder.join("src"), &mut all);
        }
    }
    let naming = all.into_iter().filter_map(|path| {
        let named = names(&fs::read_to_string(&path).unwrap(), field);
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let path = path.replace('\\', "/");
        let uses = MACHINES.iter().any(|machine| path.starts_with(machine)) && path != CARRIED;
        (named && !uses).then_some(path)
    });
    let mut naming: Vec<String> = naming.collect();
    naming.sort();
    naming
}

#[test]
fn a_number_of_a_claim_is_named_by_its_table_and_where_it_is_bounded_and_travels() {
    let expected = [
        "shared/fairness/src/rank.rs",
        "shared/policy/src/claim.rs",
        "shared/wire/src/exchange.rs",
        "shared/wire/src/numbers.rs",
        // As a tenant says it of all budgets at once.
        "shared/wire/src/tenant.rs",
    ];
    assert_eq!(carriers("lend_max"), expected);
}

#[test]
fn an_algorithm_is_named_by_its_own_file_and_three_tables() {
    let expected = [
        // Any algorithm behind one interface.
        "shared/algorithms/src/lib.rs",
        "shared/algorithms/src/sliding_log.rs",
        // What it is called, and which numbers it is made of.
        "shared/policy/src/algorithm.rs",
        // Its name in the document.
        "shared/wire/src/policy.rs",
    ];
    assert_eq!(carriers("SlidingLog"), expected);
    let as_text: Vec<_> = carriers("sliding_log");
    assert!(
        as_text.iter().all(|file| expected.contains(&file.as_str())),
        "{as_text:?}"
    );
}

#[test]
fn an_endpoint_is_named_by_its_row_what_it_takes_and_what_serves_it() {
    // Beside these three, a file that answers it.
    let expected = [
        "edge/src/routes/table.rs",
        "shared/access/src/endpoint.rs",
        "shared/operations/src/openapi/operations.rs",
    ];
    for endpoint in ["CostsRead", "DecisionRead", "BudgetWindows"] {
        assert_eq!(carriers(endpoint), expected, "{endpoint}");
    }
}

#[test]
fn a_name_in_a_comment_or_a_test_is_none_in_the_code() {
    assert!(names("let a = claim.lend_max;", "lend_max"));
    for source in [
        "/// As [`lend_max`].",
        "let lend_max_units = 1;",
        "#[cfg(test)]\nmod tests { lend_max }",
    ] {
        assert!(!names(source, "lend_max"), "{source}");
    }
}
