//! What is served: a copy of what was built last, and the settings by which wrangler serves it.
//!
//! By the settings of `wrangler.toml` wrangler itself would build whenever a source is touched, once for each file: it
//! holds every request back until the build is over, restarts the Worker even where the build changed nothing, and
//! after a build that failed answers nothing more. So it is given a copy, and one file to look at, which changes when
//! a build has succeeded and made something else than what is served.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::stamp::Fingerprint;

/// What is copied, below the root of the repository and below the folder that is served.
const OUTPUTS: [&str; 2] = ["edge/build", "console/dist"];

/// The file that wrangler looks at.
const SERVED: &str = "served";

/// The folder that wrangler serves.
pub(super) struct Serving {
    root: PathBuf,
    folder: PathBuf,
}

impl Serving {
    /// The folder that serves the outputs below `root`.
    pub(super) fn new(root: &Path, folder: PathBuf) -> Self {
        Self {
            root: root.to_owned(),
            folder,
        }
    }

    /// Writes the settings for wrangler, and returns their path.
    pub(super) fn settings(&self) -> Result<PathBuf> {
        let path = self.root.join("wrangler.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let settings = settings(&text).with_context(|| format!("reading {}", path.display()))?;
        let file = self.folder.join("wrangler.json");
        write(&file, &settings.to_string())?;
        Ok(file)
    }

    /// Serves what is built now. False where that is what is served already: then nothing is touched.
    pub(super) fn publish(&self) -> Result<bool> {
        let built = digest(&self.root)?;
        let marker = self.folder.join(SERVED);
        let told = fs::read_to_string(&marker).is_ok_and(|text| text == built);
        if told && digest(&self.folder)? == built {
            return Ok(false);
        }
        for output in OUTPUTS {
            replace(&self.root.join(output), &self.folder.join(output))?;
        }
        // Last: wrangler reads the rest when this changes.
        write(&marker, &built)?;
        Ok(true)
    }
}

/// The settings of `wrangler.toml`, for the copy: no build, and no look at the sources.
fn settings(text: &str) -> Result<Value> {
    let mut settings: Value = toml::from_str(text)?;
    if let Some(members) = settings.as_object_mut() {
        // Of several environments wrangler asks for one.
        members.remove("env");
    }
    let entry = Path::new(OUTPUTS[0]).join("index.js");
    settings["main"] = json!(entry);
    settings["assets"]["directory"] = json!(OUTPUTS[1]);
    // With a command wrangler looks at `watch_dir` alone, not at each file that is copied.
    settings["build"] = json!({ "command": "true", "watch_dir": [SERVED] });
    Ok(settings)
}

fn digest(base: &Path) -> Result<String> {
    let mut fingerprint = Fingerprint::new();
    for output in OUTPUTS {
        fingerprint.tree(base, output, &[])?;
    }
    Ok(fingerprint.finish())
}

/// Puts a copy of the folder `from` in the place of the folder `to`.
fn replace(from: &Path, to: &Path) -> Result<()> {
    let next = to.with_extension("next");
    remove(&next)?;
    copy(from, &next)?;
    remove(to)?;
    fs::rename(&next, to).with_context(|| format!("renaming {}", next.display()))
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    let read = || format!("reading {}", from.display());
    for entry in fs::read_dir(from).with_context(read)? {
        let entry = entry.with_context(read)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).with_context(|| format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}

fn write(file: &Path, content: &str) -> Result<()> {
    let write = || format!("writing {}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(write)?;
    }
    fs::write(file, content).with_context(write)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use tempfile::TempDir;

    use super::*;
    use crate::paths;

    fn site() -> (TempDir, Serving) {
        let root = tempfile::tempdir().unwrap();
        let serving = Serving::new(root.path(), root.path().join("served-here"));
        build(&root, "edge/build/index.js", "one");
        build(&root, "edge/build/index_bg.wasm", "wasm");
        build(&root, "console/dist/console/index.html", "page");
        (root, serving)
    }

    fn build(root: &TempDir, file: &str, content: &str) {
        write(&root.path().join(file), content).unwrap();
    }

    fn served(serving: &Serving, file: &str) -> Option<String> {
        fs::read_to_string(serving.folder.join(file)).ok()
    }

    #[test]
    fn wrangler_looks_at_nothing_but_at_what_is_published() {
        let text = fs::read_to_string(paths::root().join("wrangler.toml")).unwrap();
        let settings = settings(&text).unwrap();
        assert_eq!(settings["build"]["watch_dir"], json!([SERVED]));
        assert!(!settings.to_string().contains("xtask"), "{settings}");
        assert_eq!(settings["main"], "edge/build/index.js");
        assert_eq!(settings["assets"]["directory"], "console/dist");
        // All else stays: the objects, the routes that meet the Worker first.
        let shipped: Value = toml::from_str(&text).unwrap();
        for field in [
            "name",
            "durable_objects",
            "migrations",
            "compatibility_date",
            "send_metrics",
        ] {
            assert_eq!(settings[field], shipped[field], "{field}");
            assert!(!settings[field].is_null(), "{field}");
        }
        let first = &shipped["assets"]["run_worker_first"];
        assert_eq!(&settings["assets"]["run_worker_first"], first);
    }

    #[test]
    fn a_build_that_changed_nothing_touches_nothing_that_is_served() {
        let (root, serving) = site();
        assert!(serving.publish().unwrap());
        let files = [SERVED, "edge/build/index.js"].map(|file| serving.folder.join(file));
        let before = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for file in &files {
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(before).unwrap();
        }
        // Written again with the same content, as by a build.
        build(&root, "edge/build/index.js", "one");
        assert!(!serving.publish().unwrap());
        for file in &files {
            assert_eq!(file.metadata().unwrap().modified().unwrap(), before);
        }
    }

    #[test]
    fn what_was_built_is_served_whole_and_what_is_gone_is_not() {
        let (root, serving) = site();
        serving.publish().unwrap();
        let marker = served(&serving, SERVED);
        build(&root, "edge/build/index.js", "two");
        fs::remove_file(root.path().join("console/dist/console/index.html")).unwrap();
        build(&root, "console/dist/console/other.html", "other");
        assert!(serving.publish().unwrap());
        assert_eq!(
            served(&serving, "edge/build/index.js").as_deref(),
            Some("two")
        );
        assert_eq!(served(&serving, "console/dist/console/index.html"), None);
        assert!(served(&serving, "console/dist/console/other.html").is_some());
        assert_ne!(served(&serving, SERVED), marker, "wrangler is told");
    }

    #[test]
    fn a_copy_that_was_cut_off_is_made_again() {
        let (_root, serving) = site();
        serving.publish().unwrap();
        fs::remove_file(serving.folder.join("edge/build/index_bg.wasm")).unwrap();
        assert!(serving.publish().unwrap());
        assert!(served(&serving, "edge/build/index_bg.wasm").is_some());
        assert!(!serving.publish().unwrap());
    }
}
