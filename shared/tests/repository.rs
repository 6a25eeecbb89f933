//! Where the files of the repository are.

use std::path::PathBuf;

/// The root of the repository that a test runs in: a program that was compiled in another clone finds this one.
pub fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let root = here
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file());
    root.expect("tests run in the repository").to_path_buf()
}
