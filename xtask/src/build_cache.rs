//! What clones of one user have compiled, kept for the next: in a fresh clone, cargo compiles only what has changed.
//!
//! Cargo judges by its own fingerprints what of it is of use. It tells by the times of files whether a package of the
//! workspace changed; in a fresh clone, files whose content is that of the kept build get an old time ([`sources`]).

mod sources;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use self::sources::Sources;
use crate::stamp::Fingerprint;
use crate::{cached, paths, progress, rust};

/// The folders that cargo keeps for each profile.
const FOLDERS: [&str; 3] = [".fingerprint", "build", "deps"];

/// What the builds for release leave, and by what they know whether it is up to date: contents.
const RELEASED: [&str; 3] = ["edge/build", "console/dist", ".weir/stamps"];

/// This program is compiled in each clone: it knows where the clone is.
const THIS_PROGRAM: &str = "xtask";

/// What decides how all of it is compiled.
const INPUTS: [&str; 4] = [
    "Cargo.lock",
    "Cargo.toml",
    ".cargo/config.toml",
    "console/.cargo/config.toml",
];

/// Puts what is kept into a clone in which nothing has been compiled but this program.
pub(crate) fn restore() -> Result<()> {
    let note = paths::local("restored");
    if note.exists() {
        return Ok(());
    }
    let home = kept()?;
    if !home.is_dir() {
        return Ok(());
    }
    let taken = progress::step("taking over what other clones compiled", || {
        take(&home, paths::root())
    });
    // Another clone may keep a newer build meanwhile. Cargo compiles what is missing.
    if let Err(error) = taken {
        progress::note(&format!("not all of it: {error:#}"));
    }
    fs::create_dir_all(paths::local("")).context("creating the folder of local state")?;
    File::create(&note).context("noting what was taken over")?;
    Ok(())
}

fn take(home: &Path, clone: &Path) -> Result<()> {
    let target = home.join("target");
    each_profile(&target, |profile| {
        copy_profile(&target.join(profile), &clone.join("target").join(profile))
    })?;
    for folder in RELEASED {
        if home.join(folder).exists() && !clone.join(folder).exists() {
            copy(&home.join(folder), &clone.join(folder))?;
        }
    }
    Sources::read(home)?.age(clone)
}

/// Keeps what this clone compiled since `began`, unless a build of the same sources is kept.
pub(crate) fn keep(began: SystemTime) -> Result<()> {
    let (home, clone) = (kept()?, paths::root());
    let sources = Sources::of(clone, began)?;
    if Sources::read(&home).is_ok_and(|kept| kept == sources) {
        return Ok(());
    }
    // One folder, for the newest versions: earlier ones are of no use to a clone of today.
    let all = paths::build_cache()?;
    for name in names(&all)? {
        let other = all.join(name);
        if other != home {
            let _ = fs::remove_dir_all(other);
        }
    }
    cached::fill(&home, "what this clone compiled", |to| {
        let target = clone.join("target");
        each_profile(&target, |profile| {
            copy_profile(&target.join(profile), &to.join("target").join(profile))
        })?;
        for folder in RELEASED
            .into_iter()
            .filter(|folder| clone.join(folder).exists())
        {
            copy(&clone.join(folder), &to.join(folder))?;
        }
        sources.write(to)
    })
}

/// Where it is kept: another compiler, version or profile has another folder.
fn kept() -> Result<PathBuf> {
    let mut print = Fingerprint::new();
    print.text("rustc", &rust::version()?);
    for input in INPUTS {
        print.tree(paths::root(), input, &[])?;
    }
    let mut name = print.finish();
    name.truncate(16);
    Ok(paths::build_cache()?.join(name))
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

/// Copies all but this program, in the place of what is there: cargo compiles anew what is older than what it is made of, so
/// the few dependencies that this program has just been made of would make it compile all that stands on them.
fn copy_profile(from: &Path, to: &Path) -> Result<()> {
    for folder in FOLDERS {
        for name in names(&from.join(folder))? {
            if !is_this_program(&name) {
                let (from, to) = (from.join(folder).join(&name), to.join(folder).join(&name));
                replace(&from, &to).with_context(|| format!("copying {}", from.display()))?;
            }
        }
    }
    Ok(())
}

/// Whether cargo made what has this name for this program or its tests: `xtask-0123456789abcdef`, `xtask.d`.
fn is_this_program(name: &str) -> bool {
    name.strip_prefix(THIS_PROGRAM)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
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
    use std::time::Duration;

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
    fn all_is_copied_with_its_time_but_for_this_program() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dependency = format!("deps/libserde-{HASH}.rlib");
        written(&from.path().join(&dependency), "serde");
        written(
            &from.path().join(format!("build/libm-{HASH}/out/made.rs")),
            "made",
        );
        written(&from.path().join("deps/weir_edge.wasm"), "linked");
        written(&from.path().join(format!("deps/xtask-{HASH}")), "this");
        written(&from.path().join(format!("deps/xtask-{HASH}.d")), "this");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let file = File::options()
            .append(true)
            .open(from.path().join(&dependency));
        file.unwrap().set_modified(time).unwrap();

        copy_profile(from.path(), to.path()).unwrap();

        let names = names(&to.path().join("deps")).unwrap();
        assert_eq!(
            names,
            [format!("libserde-{HASH}.rlib"), "weir_edge.wasm".to_owned()]
        );
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

        copy_profile(from.path(), to.path()).unwrap();

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
    fn a_clone_takes_over_what_was_built_unless_it_has_built_it_itself() {
        let (home, clone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in RELEASED {
            written(&home.path().join(folder).join("made"), "kept");
        }
        written(&clone.path().join("edge/build/made"), "its own");
        Sources::default().write(home.path()).unwrap();

        take(home.path(), clone.path()).unwrap();

        let texts = RELEASED.map(|folder| clone.path().join(folder).join("made"));
        let texts = texts.map(|file| fs::read_to_string(file).unwrap());
        assert_eq!(texts, ["its own", "kept", "kept"]);
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
