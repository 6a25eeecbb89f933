//! Debian's packages.

use std::process::Command;

use anyhow::Result;

use crate::process;

/// apt-get, where it asks no question.
pub(crate) struct Apt {
    /// What runs it as who may.
    words: &'static [&'static str],
}

impl Apt {
    /// `None` where there is none, or where it would ask for a password.
    pub(crate) fn find() -> Option<Self> {
        process::find("apt-get")?;
        let words: &[&str] = if nix::unistd::geteuid().is_root() {
            &["env"]
        } else if may_sudo() {
            &["sudo", "-n", "env"]
        } else {
            return None;
        };
        Some(Self { words })
    }

    /// Fetches the lists of packages.
    pub(crate) fn update(&self) -> Result<()> {
        process::run(self.command("update").arg("-q"))
    }

    /// Installs packages, by lists that are fetched before.
    pub(crate) fn install(&self, packages: &[&str]) -> Result<()> {
        self.update()?;
        let mut install = self.command("install");
        install.args(["-q", "-y", "--no-install-recommends"]);
        process::run(install.args(packages))
    }

    fn command(&self, action: &str) -> Command {
        let mut command = Command::new(self.words[0]);
        command.args(&self.words[1..]);
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", action]);
        command
    }
}

fn may_sudo() -> bool {
    let mut sudo = Command::new("sudo");
    process::find("sudo").is_some() && process::capture(sudo.args(["-n", "true"])).is_ok()
}
