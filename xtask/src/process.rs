//! Other programs: find them, run them, read what they say.

use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Finds a program on PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| is_executable(file))
}

/// Whether the path is a file that may be run.
pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end; its output goes to the standard error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = describe(command);
    let status = command
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("`{name}` could not be started"))?;
    if !status.success() {
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}

/// Runs a program to its end, and ends as it does; its output is this command's.
pub(crate) fn end(command: &mut Command) -> Result<ExitCode> {
    let name = describe(command);
    let status = command
        .status()
        .with_context(|| format!("`{name}` could not be started"))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs a program to its end and returns what it prints.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let name = describe(command);
    let output = command
        .stderr(io::stderr())
        .output()
        .with_context(|| format!("`{name}` could not be started"))?;
    if !output.status.success() {
        bail!("`{name}` failed ({})", output.status);
    }
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("`{name}` printed something else than text"))?;
    Ok(text.trim_end().to_owned())
}

/// The version that a program says it has: the first word of its first line that begins with a digit.
pub(crate) fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.lines().next()?.split_whitespace();
    let version = words.map(|word| word.trim_start_matches('v'));
    let mut version = version.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    version.next().map(str::to_owned)
}

/// The program's name with its arguments, for messages.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_the_path() {
        assert!(find("sh").is_some_and(|path| path.ends_with("sh")));
        assert_eq!(find("no-such-program-anywhere"), None);
    }

    #[test]
    fn a_failure_names_the_command_and_its_status() {
        let error = run(Command::new("sh").args(["-c", "exit 7"])).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("`sh -c exit 7`"), "{message}");
        assert!(message.contains('7'), "{message}");
    }

    #[test]
    fn what_is_printed_is_returned_without_its_last_line_end() {
        let text = capture(Command::new("sh").args(["-c", "echo one; echo two"])).unwrap();
        assert_eq!(text, "one\ntwo");
    }
}
