//! `.dev.vars`: the secrets and variables of the local Worker.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

const TOKEN: &str = "WEIR_BOOTSTRAP_TOKEN";
const TOKEN_BYTES: usize = 32;

/// Returns the first admin token; writes the file with a new one when it is not there.
///
/// A file that is there is never changed: it may hold what the user added.
pub(super) fn ensure(file: &Path) -> Result<String> {
    match fs::read_to_string(file) {
        Ok(text) => token(&text).with_context(|| {
            format!(
                "{} holds no {TOKEN}: add one, or remove the file",
                file.display()
            )
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => create(file),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

fn create(file: &Path) -> Result<String> {
    let token = random_token()?;
    let text = format!(
        "# Local development only. Written once; never committed, never deployed.\n{TOKEN}={token}\n# A request may name its region with the header `weir-region`.\nALLOW_REGION_HEADER=1\n"
    );
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let written = options
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("writing {}", file.display()))?;
    Ok(token)
}

fn random_token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    if let Err(error) = getrandom::fill(&mut bytes) {
        bail!("the system gives no random bytes: {error}");
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn token(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim() == TOKEN && !value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_is_written_once_and_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".dev.vars");
        let first = ensure(&file).unwrap();
        assert_eq!(first.len(), 2 * TOKEN_BYTES);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.lines().any(|line| line == "ALLOW_REGION_HEADER=1"));
        assert_eq!(ensure(&file).unwrap(), first);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn two_files_hold_two_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let one = ensure(&folder.path().join("one")).unwrap();
        let two = ensure(&folder.path().join("two")).unwrap();
        assert_ne!(one, two);
    }

    #[test]
    fn the_users_own_file_is_read() {
        assert_eq!(
            token("A=1\nWEIR_BOOTSTRAP_TOKEN = \"abc\"\n").as_deref(),
            Some("abc")
        );
        assert_eq!(token("WEIR_BOOTSTRAP_TOKEN=\n"), None);
        assert_eq!(token("# WEIR_BOOTSTRAP_TOKEN=abc\n"), None);
    }

    #[test]
    fn a_file_without_a_token_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".dev.vars");
        fs::write(&file, "A=1\n").unwrap();
        assert!(ensure(&file).unwrap_err().to_string().contains(TOKEN));
        assert_eq!(fs::read_to_string(&file).unwrap(), "A=1\n");
    }
}
