//! How long linking takes: a `cc` before the real one on PATH, which notes the time of each call that links.
//!
//! A linker in cargo's settings would do the same, and have everything compiled anew for whoever calls cargo by hand.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{paths, process};

/// A compiler is asked to link where it is not asked to stop before (`-c`).
const SHIM: &str = r#"#!/bin/sh
case " $* " in *" -c "*) exec "$WEIR_CC" "$@" ;; esac
begin=$(date +%s%N)
"$WEIR_CC" "$@"
status=$?
echo $(($(date +%s%N) - begin)) >> "$WEIR_LINKS"
exit $status
"#;

/// The links of one step.
pub(super) struct Links {
    file: PathBuf,
    /// What the command needs to know, where links can be timed: the shim's folder and the real compiler.
    shim: Option<(PathBuf, PathBuf)>,
}

impl Links {
    /// Of the step of that name.
    pub(super) fn of(step: &str) -> Result<Self> {
        let folder = paths::local("shim");
        let file = paths::local("links").join(step);
        let shim = match process::find("cc") {
            // `date` counts nanoseconds on Linux only.
            Some(compiler) if cfg!(target_os = "linux") => {
                write_shim(&folder)?;
                Some((folder, compiler))
            }
            _ => None,
        };
        fs::create_dir_all(paths::local("links")).context("creating the folder of links")?;
        fs::write(&file, "").context("emptying the list of links")?;
        Ok(Self { file, shim })
    }

    /// Has the links of a command noted.
    pub(super) fn watch(&self, command: &mut Command) -> Result<()> {
        let Some((folder, compiler)) = &self.shim else {
            return Ok(());
        };
        let path = path_of(command).unwrap_or_default();
        let folders = std::iter::once(folder.clone()).chain(env::split_paths(&path));
        let path = env::join_paths(folders).context("putting the shim on PATH")?;
        command.env("PATH", path);
        command
            .env("WEIR_CC", compiler)
            .env("WEIR_LINKS", &self.file);
        Ok(())
    }

    /// What the links took together.
    pub(super) fn total(&self) -> Duration {
        total(&fs::read_to_string(&self.file).unwrap_or_default())
    }
}

fn path_of(command: &Command) -> Option<OsString> {
    let set = command.get_envs().find(|(name, _)| *name == "PATH");
    set.map_or_else(
        || env::var_os("PATH"),
        |(_, value)| value.map(OsString::from),
    )
}

fn total(nanoseconds: &str) -> Duration {
    let links = nanoseconds
        .lines()
        .filter_map(|line| line.parse::<u64>().ok());
    Duration::from_nanos(links.sum())
}

fn write_shim(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context("creating the folder of the shim")?;
    // Renamed into place, from a name of its own: another step may be running it, or writing it.
    let mut new = tempfile::NamedTempFile::new_in(folder).context("making the shim's file")?;
    new.write_all(SHIM.as_bytes()).context("writing the shim")?;
    fs::set_permissions(new.path(), fs::Permissions::from_mode(0o755))
        .context("the shim's mode")?;
    // Closed first: what is open for writing cannot be run.
    let new = new.into_temp_path();
    new.persist(folder.join("cc"))
        .context("moving the shim into place")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_links_are_added_and_nothing_else() {
        assert_eq!(total("1000000\n500000\n"), Duration::from_micros(1_500));
        assert_eq!(total("\nnoise\n"), Duration::ZERO);
    }

    #[test]
    fn steps_that_begin_at_once_write_one_shim() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| write_shim(folder.path())))
                .collect();
            for writer in writers {
                writer.join().unwrap().unwrap();
            }
        });
        let names = fs::read_dir(folder.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["cc"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_call_that_links_is_timed_and_one_that_compiles_is_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        write_shim(folder.path()).unwrap();
        let noted = folder.path().join("links");
        let call = |arguments: &[&str]| {
            let mut shim = Command::new(folder.path().join("cc"));
            shim.env("WEIR_CC", "echo").env("WEIR_LINKS", &noted);
            process::capture(shim.args(arguments)).unwrap()
        };
        assert_eq!(call(&["-c", "a.c"]), "-c a.c");
        assert!(!noted.exists());
        assert_eq!(call(&["a.o", "-o", "a"]), "a.o -o a");
        let text = fs::read_to_string(&noted).unwrap();
        assert!(total(&text) > Duration::ZERO, "{text}");
    }
}
