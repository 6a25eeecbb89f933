//! Debian's packages.

use std::process::Command;

use crate::process;

/// How to run apt-get without a question, if that is possible here.
pub(crate) fn apt() -> Option<impl FnMut(&str) -> Command> {
    process::find("apt-get")?;
    let words: &[&str] = if nix::unistd::geteuid().is_root() {
        &["env"]
    } else if may_sudo() {
        &["sudo", "-n", "env"]
    } else {
        return None;
    };
    Some(|action: &str| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", action]);
        command
    })
}

fn may_sudo() -> bool {
    let mut sudo = Command::new("sudo");
    process::find("sudo").is_some() && process::capture(sudo.args(["-n", "true"])).is_ok()
}
