//! Compiled dependencies, kept for all clones of one user: in a fresh clone, cargo compiles only what is Weir's own.
//!
//! Cargo judges by its own fingerprints whether it can use them. Packages of the workspace are not kept: cargo tells by the
//! times of their files whether they changed, which says nothing in another clone.

mod members;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::members::Members;
use crate::stamp::Fingerprint;
use crate::{cached, paths, progress, rust};

/// The folders that cargo keeps for each profile; what they hold has a hash in its name.
const FOLDERS: [&str; 3] = [".fingerprint", "build", "deps"];

/// What decides how dependencies are compiled.
const INPUTS: [&str; 4] = [
    "Cargo.lock",
    "Cargo.toml",
    ".cargo/config.toml",
    "console/.cargo/config.toml",
];

/// Puts what is kept into a clone in which nothing has been compiled but this program.
pub(crate) fn restore() -> Result<()> {
    let note = paths::local("dependencies");
    if note.exists() {
        return Ok(());
    }
    let (from, to) = (kept()?, target());
    if !from.is_dir() {
        return Ok(());
    }
    let taken = progress::step("taking over compiled dependencies", || {
        each_profile(&from, |profile| {
            copy_profile(&from.join(profile), &to.join(profile), &Members::default())
        })
    });
    // Another clone may keep newer ones meanwhile. Cargo compiles what is missing.
    if let Err(error) = taken {
        progress::note(&format!("not all of them: {error:#}"));
    }
    fs::create_dir_all(paths::local("")).context("creating the folder of local state")?;
    File::create(&note).context("noting that dependencies were taken over")?;
    Ok(())
}

/// Keeps what this clone compiled, if nothing is kept that was compiled alike.
pub(crate) fn keep() -> Result<()> {
    let home = kept()?;
    if home.is_dir() {
        return Ok(());
    }
    let members = Members::of_workspace()?;
    // One folder, for the newest versions: earlier ones are of no use to a clone of today.
    if let Some(all) = home.parent() {
        let _ = fs::remove_dir_all(all);
    }
    let from = target();
    cached::fill(&home, "compiled dependencies", |to| {
        each_profile(&from, |profile| {
            copy_profile(&from.join(profile), &to.join(profile), &members)
        })
    })
}

/// Where they are kept: another compiler, version or profile has another folder.
fn kept() -> Result<PathBuf> {
    let mut print = Fingerprint::new();
    print.text("rustc", &rust::version()?);
    for input in INPUTS {
        print.tree(paths::root(), input, &[])?;
    }
    let mut name = print.finish();
    name.truncate(16);
    Ok(paths::dependencies()?.join(name))
}

fn target() -> PathBuf {
    paths::root().join("target")
}

/// Each folder of a profile below, such as `debug` and `wasm32-unknown-unknown/release`.
fn each_profile(target: &Path, mut each: impl FnMut(&Path) -> Result<()>) -> Result<()> {
    for name in names(target)? {
        let inner = names(&target.join(&name))?;
        let inner = inner.into_iter().map(|inner| Path::new(&name).join(inner));
        for profile in std::iter::once(PathBuf::from(&name)).chain(inner) {
            if target.join(&profile).join(FOLDERS[0]).is_dir() {
                each(&profile)?;
            }
        }
    }
    Ok(())
}

/// Copies what is no member's, in the place of what is there: cargo compiles anew what is older than what it is made of, so
/// the few that this program has just been made of would make it compile all that stands on them.
fn copy_profile(from: &Path, to: &Path, members: &Members) -> Result<()> {
    for folder in FOLDERS {
        for name in names(&from.join(folder))? {
            if !members.made(&name) {
                let (from, to) = (from.join(folder).join(&name), to.join(folder).join(&name));
                replace(&from, &to).with_context(|| format!("copying {}", from.display()))?;
            }
        }
    }
    Ok(())
}

/// Nothing of what was there remains: a program that runs keeps the file that it was started from.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    if to.is_dir() {
        fs::remove_dir_all(to)?;
    } else if to.exists() {
        fs::remove_file(to)?;
    }
    copy(from, to)
}

/// With the times: cargo compares them.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let data = fs::metadata(from)?;
    if data.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to)?;
    File::options()
        .append(true)
        .open(to)?
        .set_modified(data.modified()?)
}

/// The names in a folder; none if it is no folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    if folder.is_dir() {
        paths::names_in(folder)
    } else {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    const HASH: &str = "0123456789abcdef";

    fn written(file: &Path, text: &str) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn profiles(target: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        each_profile(target, |profile| {
            found.push(profile.to_path_buf());
            Ok(())
        })
        .unwrap();
        found.sort();
        found
    }

    #[test]
    fn what_others_wrote_is_copied_with_its_time_and_what_is_weir_s_own_is_not() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dependency = format!("deps/libserde-{HASH}.rlib");
        written(&from.path().join(&dependency), "serde");
        written(
            &from.path().join(format!("deps/libweir_shared-{HASH}.rlib")),
            "weir",
        );
        written(
            &from.path().join(format!("build/libm-{HASH}/out/made.rs")),
            "made",
        );
        written(&from.path().join("deps/weir_edge.wasm"), "linked");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let file = File::options()
            .append(true)
            .open(from.path().join(&dependency));
        file.unwrap().set_modified(time).unwrap();

        copy_profile(from.path(), to.path(), &Members::named(&["weir-shared"])).unwrap();

        let names = names(&to.path().join("deps")).unwrap();
        assert_eq!(names, [format!("libserde-{HASH}.rlib")]);
        let copied = fs::metadata(to.path().join(&dependency)).unwrap();
        assert_eq!(copied.modified().unwrap(), time);
        let made = to.path().join(format!("build/libm-{HASH}/out/made.rs"));
        assert_eq!(fs::read_to_string(made).unwrap(), "made");
    }

    #[test]
    fn what_a_clone_has_just_compiled_is_replaced_by_what_all_others_were_made_of() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = format!(".fingerprint/serde-{HASH}");
        let library = format!("deps/libserde-{HASH}.rlib");
        written(&from.path().join(&folder).join("invoked.timestamp"), "kept");
        written(&from.path().join(&library), "kept");
        written(&to.path().join(&folder).join("lib-serde"), "its own");
        written(&to.path().join(&library), "its own");

        copy_profile(from.path(), to.path(), &Members::default()).unwrap();

        let left = super::names(&to.path().join(&folder)).unwrap();
        assert_eq!(left, ["invoked.timestamp"]);
        assert_eq!(
            fs::read_to_string(to.path().join(&library)).unwrap(),
            "kept"
        );
        let time = |at: &Path| fs::metadata(at.join(&library)).unwrap().modified().unwrap();
        assert_eq!(time(to.path()), time(from.path()));
    }

    #[test]
    fn every_profile_of_every_target_is_found_and_nothing_else() {
        let target = tempfile::tempdir().unwrap();
        for profile in ["debug", "release", "wasm32-unknown-unknown/release"] {
            fs::create_dir_all(target.path().join(profile).join(".fingerprint")).unwrap();
        }
        written(&target.path().join("tmp/left"), "");
        written(&target.path().join("CACHEDIR.TAG"), "");
        let wanted = ["debug", "release", "wasm32-unknown-unknown/release"];
        assert_eq!(profiles(target.path()), wanted.map(PathBuf::from));
        assert!(profiles(&target.path().join("absent")).is_empty());
    }
}
