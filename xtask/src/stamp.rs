//! Whether an output is still the one that its inputs give.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::paths;

/// A digest over named texts and the contents of files.
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// Adds a setting.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        self.part(name.as_bytes());
        self.part(value.as_bytes());
    }

    /// Adds a file, or each file of a folder in the order of their names; `skip` are paths to leave out.
    pub(crate) fn tree(&mut self, base: &Path, path: &str, skip: &[&str]) -> Result<()> {
        self.each(base, path, skip, &content)
    }

    /// The same by when each file was written and how long it is: quickly, and no less often than the content changes.
    pub(crate) fn glance(&mut self, base: &Path, path: &str, skip: &[&str]) -> Result<()> {
        self.each(base, path, skip, &glanced)
    }

    fn each(
        &mut self,
        base: &Path,
        path: &str,
        skip: &[&str],
        read: &dyn Fn(&Path, &Metadata) -> Result<Vec<u8>>,
    ) -> Result<()> {
        if skip.contains(&path) {
            return Ok(());
        }
        let full = base.join(path);
        let data = match fs::symlink_metadata(&full) {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.text("absent", path);
                return Ok(());
            }
            Err(error) => return Err(error).with_context(|| format!("reading {}", full.display())),
        };
        if data.is_dir() {
            for name in paths::names_in(&full)? {
                self.each(base, &format!("{path}/{name}"), skip, read)?;
            }
        } else {
            let content = read(&full, &data)?;
            self.part(path.as_bytes());
            self.part(&content);
        }
        Ok(())
    }

    /// Length first, so that no two lists of parts give the same bytes.
    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> String {
        let digest = self.0.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn content(file: &Path, _data: &Metadata) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("reading {}", file.display()))
}

fn glanced(file: &Path, data: &Metadata) -> Result<Vec<u8>> {
    let written = data.modified();
    let written = written.with_context(|| format!("reading {}", file.display()))?;
    Ok(format!("{written:?} {}", data.len()).into_bytes())
}

/// Remembers which inputs gave which outputs.
pub(crate) struct Stamp {
    file: PathBuf,
}

impl Stamp {
    pub(crate) fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Whether these inputs gave these outputs.
    pub(crate) fn matches(&self, inputs: &str, outputs: &str) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| text == line(inputs, outputs))
    }

    /// Remembers it.
    pub(crate) fn write(&self, inputs: &str, outputs: &str) -> Result<()> {
        let write = || format!("writing {}", self.file.display());
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(write)?;
        fs::write(&self.file, line(inputs, outputs)).with_context(write)
    }
}

fn line(inputs: &str, outputs: &str) -> String {
    format!("{inputs} {outputs}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        folder
    }

    fn print(files: &[(&str, &str)], skip: &[&str]) -> String {
        let folder = folder(files);
        let mut fingerprint = Fingerprint::new();
        fingerprint.tree(folder.path(), "src", skip).unwrap();
        fingerprint.finish()
    }

    #[test]
    fn equal_files_give_equal_digests() {
        let files = [("src/a.rs", "one"), ("src/sub/b.rs", "two")];
        let reversed = [files[1], files[0]];
        assert_eq!(print(&files, &[]), print(&reversed, &[]));
    }

    #[test]
    fn content_name_and_place_all_count() {
        let before = print(&[("src/a.rs", "one"), ("src/b.rs", "")], &[]);
        for changed in [
            [("src/a.rs", "two"), ("src/b.rs", "")],
            [("src/a.rs", "one"), ("src/c.rs", "")],
            [("src/a.rs", "one"), ("src/sub/b.rs", "")],
            [("src/a.rs", ""), ("src/b.rs", "one")],
        ] {
            assert_ne!(before, print(&changed, &[]), "{changed:?}");
        }
        assert_ne!(before, print(&[("src/a.rs", "one")], &[]));
        assert_ne!(before, print(&[], &[]));
    }

    #[test]
    fn skipped_paths_do_not_count() {
        let one = [("src/a.rs", "one"), ("src/out/x", "1")];
        let two = [("src/a.rs", "one"), ("src/out/x", "2")];
        assert_eq!(print(&one, &["src/out"]), print(&two, &["src/out"]));
        assert_ne!(print(&one, &[]), print(&two, &[]));
        // Only the exact path: a module of the same name deeper down counts.
        let deep = [("src/a.rs", "one"), ("src/m/out/x", "2")];
        assert_ne!(print(&deep, &["src/out"]), print(&two, &["src/out"]));
    }

    #[test]
    fn a_glance_sees_a_file_that_is_written_and_one_that_goes() {
        let folder = folder(&[("src/a.rs", "one"), ("src/b.rs", "")]);
        let glance = || {
            let mut fingerprint = Fingerprint::new();
            fingerprint.glance(folder.path(), "src", &[]).unwrap();
            fingerprint.finish()
        };
        let before = glance();
        assert_eq!(glance(), before);
        fs::write(folder.path().join("src/a.rs"), "other").unwrap();
        let written = glance();
        assert_ne!(written, before);
        fs::remove_file(folder.path().join("src/b.rs")).unwrap();
        assert_ne!(glance(), written);
    }

    #[test]
    fn texts_do_not_run_into_each_other() {
        let digest = |name, value| {
            let mut fingerprint = Fingerprint::new();
            fingerprint.text(name, value);
            fingerprint.finish()
        };
        assert_ne!(digest("ab", "c"), digest("a", "bc"));
    }

    #[test]
    fn a_stamp_holds_for_its_inputs_and_outputs_only() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = Stamp::at(folder.path().join("stamps/edge"));
        assert!(!stamp.matches("in", "out"));
        stamp.write("in", "out").unwrap();
        assert!(stamp.matches("in", "out"));
        assert!(!stamp.matches("other", "out"));
        assert!(!stamp.matches("in", "other"));
    }
}
