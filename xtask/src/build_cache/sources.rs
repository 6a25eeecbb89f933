//! The sources of a build, by content.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::repository;
use crate::stamp::Fingerprint;

const FILE: &str = "sources.json";

/// The time of a file that has not changed since the kept build: before anything of it was made.
const LONG_AGO: Duration = Duration::from_secs(1_000_000_000);

/// The digest of each file's content, by its path from the root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Those of a clone. One that was written after the build began may not be what was compiled.
    pub(super) fn of(clone: &Path, began: SystemTime) -> Result<Self> {
        Self::among(clone, repository::files()?, began)
    }

    fn among(clone: &Path, files: Vec<String>, began: SystemTime) -> Result<Self> {
        let mut digests = BTreeMap::new();
        for path in files {
            let Ok(data) = fs::symlink_metadata(clone.join(&path)) else {
                continue;
            };
            if data.is_file() && data.modified()? < began {
                let digest = digest(clone, &path)?;
                digests.insert(path, digest);
            }
        }
        Ok(Self(digests))
    }

    /// Gives each file of a fresh clone that has the same content an old time.
    pub(super) fn age(&self, clone: &Path) -> Result<()> {
        for (path, kept) in &self.0 {
            let full = clone.join(path);
            let is_file = fs::symlink_metadata(&full)
                .as_ref()
                .is_ok_and(Metadata::is_file);
            if is_file && digest(clone, path)? == *kept {
                let file = File::options().append(true).open(&full);
                file.and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH + LONG_AGO))
                    .with_context(|| format!("setting the time of {path}"))?;
            }
        }
        Ok(())
    }

    pub(super) fn read(home: &Path) -> Result<Self> {
        let text = fs::read_to_string(home.join(FILE)).context("reading the kept sources")?;
        let digests = serde_json::from_str(&text).context("reading the kept sources")?;
        Ok(Self(digests))
    }

    pub(super) fn write(&self, home: &Path) -> Result<()> {
        let text = serde_json::to_string(&self.0)?;
        fs::write(home.join(FILE), text).context("writing the kept sources")
    }
}

fn digest(clone: &Path, path: &str) -> Result<String> {
    let mut print = Fingerprint::new();
    print.tree(clone, path, &[])?;
    Ok(print.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modified(file: &Path) -> SystemTime {
        fs::metadata(file).unwrap().modified().unwrap()
    }

    #[test]
    fn a_file_of_the_same_content_gets_an_old_time_and_a_changed_one_keeps_its_own() {
        let (built, clone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = ["same", "changed", "removed"];
        for name in names {
            fs::write(built.path().join(name), name).unwrap();
        }
        fs::write(clone.path().join("same"), "same").unwrap();
        fs::write(clone.path().join("changed"), "otherwise").unwrap();
        let later = modified(&built.path().join("removed")) + Duration::from_secs(60);
        let files = names.map(str::to_owned).to_vec();
        let sources = Sources::among(built.path(), files, later).unwrap();
        let before = modified(&clone.path().join("changed"));

        let home = tempfile::tempdir().unwrap();
        sources.write(home.path()).unwrap();
        Sources::read(home.path())
            .unwrap()
            .age(clone.path())
            .unwrap();

        let long_ago = SystemTime::UNIX_EPOCH + LONG_AGO;
        assert_eq!(modified(&clone.path().join("same")), long_ago);
        assert_eq!(modified(&clone.path().join("changed")), before);
        assert!(!clone.path().join("removed").exists());
    }

    #[test]
    fn a_file_that_was_written_during_the_build_is_not_among_its_sources() {
        let built = tempfile::tempdir().unwrap();
        fs::write(built.path().join("edited"), "").unwrap();
        let began = modified(&built.path().join("edited"));
        let among = |began| {
            let files = vec!["edited".to_owned(), "absent".to_owned()];
            Sources::among(built.path(), files, began).unwrap()
        };
        assert_eq!(among(began), Sources::default());
        assert_eq!(among(began + Duration::from_secs(1)).0.len(), 1);
    }
}
