//! Where things are: in the repository, and in the cache of the user.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};

/// The root of the repository: the folder above this crate.
pub(crate) fn root() -> &'static Path {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().unwrap_or(crate_dir)
}

/// This program, as it was found when somebody first asked: a build puts a new one in its place.
pub(crate) fn program() -> Result<&'static str> {
    static PROGRAM: LazyLock<Option<String>> =
        LazyLock::new(|| env::current_exe().ok()?.to_str().map(str::to_owned));
    PROGRAM
        .as_deref()
        .context("the path of this program is not known, or is no text")
}

/// Local state that git ignores: stamps, the state of `dev`.
pub(crate) fn local(name: &str) -> PathBuf {
    root().join(".weir").join(name)
}

/// The installed npm packages.
pub(crate) fn node_modules() -> PathBuf {
    root().join("node_modules")
}

/// The cache of pinned tools, shared by all clones of one user.
pub(crate) fn tools() -> Result<PathBuf> {
    cached("tools")
}

/// Workers of earlier versions, each in a folder of its commit's name. Outside of the repository: cargo would add the
/// repository's flags to theirs.
pub(crate) fn workers() -> Result<PathBuf> {
    cached("workers")
}

/// What was compiled, shared by all clones of one user.
pub(crate) fn build_cache() -> Result<PathBuf> {
    cached("build")
}

fn cached(name: &str) -> Result<PathBuf> {
    let cache = cache_from(
        variable("WEIR_CACHE"),
        variable("XDG_CACHE_HOME"),
        variable("HOME"),
    )?;
    let folder = cache.join(name);
    std::path::absolute(&folder).with_context(|| format!("the cache {}", folder.display()))
}

fn cache_from(
    weir: Option<PathBuf>,
    xdg: Option<PathBuf>,
    home: Option<PathBuf>,
) -> Result<PathBuf> {
    match (weir, xdg, home) {
        (Some(cache), _, _) => Ok(cache),
        (None, Some(base), _) => Ok(base.join("weir")),
        (None, None, Some(home)) => Ok(home.join(".cache").join("weir")),
        (None, None, None) => bail!("set WEIR_CACHE: there is no home folder to cache tools in"),
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The names in a folder, in order.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>> {
    let read = || format!("reading {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(read)? {
        let name = entry.with_context(read)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_setting_names_the_cache() {
        let path = |text: &str| Some(PathBuf::from(text));
        let cache = |weir, xdg, home| cache_from(weir, xdg, home).unwrap();
        assert_eq!(cache(path("w"), path("x"), path("h")), Path::new("w"));
        assert_eq!(cache(None, path("x"), path("h")), Path::new("x/weir"));
        assert_eq!(cache(None, None, path("h")), Path::new("h/.cache/weir"));
        assert!(cache_from(None, None, None).is_err());
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("wrangler.toml").is_file());
    }
}
