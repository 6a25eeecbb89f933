//! The manual, in the form of `man`.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::options::Options;

/// The page of the command.
///
/// # Errors
/// When it cannot be made.
pub fn page() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let made = Man::new(Options::command()).render(&mut bytes);
    made.map_err(Failure::Output)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a page a command into a folder.
///
/// # Errors
/// When they cannot be written there.
pub fn pages(folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Options::command(), folder).map_err(|why| Failure::Unwritable {
        file: folder.display().to_string(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_says_how_commands_end() {
        let page = page().unwrap();
        assert!(
            page.starts_with(".ie") && page.contains(".TH weir"),
            "{page}"
        );
        assert!(page.contains("Exit status"), "{page}");
    }

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        pages(folder.path()).unwrap();
        for name in ["weir.1", "weir-plan.1", "weir-token-create.1"] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
    }
}
