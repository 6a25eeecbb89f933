//! What a shell completes.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::options::Options;

/// The script for a shell.
///
/// ```
/// use clap_complete::Shell;
/// assert!(weir_cli::completions::script(Shell::Bash).contains("_weir"));
/// ```
#[must_use]
pub fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    generate(shell, &mut Options::command(), "weir", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_learns_every_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for command in ["validate", "plan", "apply", "drift", "tail"] {
                assert!(script.contains(command), "{shell}: {command}");
            }
        }
    }
}
