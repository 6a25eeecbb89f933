//! Which deployment is meant, and by which token: as options or variables say, else as the last login does.
//!
//! The token of a login is for its own deployment: it is sent to no other.

use std::env;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A deployment, and what opens it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Its address, without a slash at the end.
    pub url: String,
    /// The token.
    pub token: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What options and variables say; an empty one says nothing.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The deployment.
    pub url: Option<String>,
    /// The token.
    pub token: Option<String>,
}

impl Said {
    /// What was said, without what is empty.
    #[must_use]
    pub fn new(url: Option<String>, token: Option<String>) -> Self {
        let some = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Self {
            url: some(url),
            token: some(token),
        }
    }
}

/// Who is asked by which token.
///
/// # Errors
/// When nobody said which deployment, or by which token, or when that is none.
///
/// ```
/// use weir_cli::credentials::{Login, Said, chosen};
/// let kept = Login { url: "https://weir.example".to_owned(), token: "kept".to_owned() };
/// let other = Said::new(Some("https://other.example/".to_owned()), None);
/// assert!(chosen(&other, Some(kept.clone())).is_err());
/// assert_eq!(chosen(&Said::default(), Some(kept.clone())).unwrap(), kept);
/// ```
pub fn chosen(said: &Said, kept: Option<Login>) -> Result<Login, Failure> {
    let url = said.url.as_ref().or(kept.as_ref().map(|kept| &kept.url));
    let url = address(url.ok_or(Failure::NoUrl)?)?;
    let own = kept.filter(|kept| kept.url == url).map(|kept| kept.token);
    match said.token.clone().or(own) {
        Some(token) => Ok(Login {
            url,
            token: token.trim().to_owned(),
        }),
        None => Err(Failure::NoToken { url }),
    }
}

/// The address of a deployment as it is kept: a scheme, a host, perhaps a port.
///
/// # Errors
/// When it is none.
pub fn address(url: &str) -> Result<String, Failure> {
    let bad = || Failure::BadUrl {
        url: url.to_owned(),
    };
    let parsed: ureq::http::Uri = url.trim().parse().map_err(|_| bad())?;
    let scheme = parsed
        .scheme_str()
        .filter(|scheme| ["http", "https"].contains(scheme));
    let authority = parsed
        .authority()
        .filter(|host| !host.as_str().contains('@'));
    match (scheme, authority, parsed.path(), parsed.query()) {
        (Some(scheme), Some(host), "" | "/", None) => Ok(format!("{scheme}://{host}")),
        _ => Err(bad()),
    }
}

/// Where the login is kept: below `XDG_CONFIG_HOME`, `APPDATA` on Windows, else `.config` of the home folder.
///
/// # Errors
/// When none of them is known.
pub fn file() -> Result<PathBuf, Failure> {
    place(|name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    })
    .ok_or(Failure::NoHome)
}

fn place(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let home = || variable("HOME").map(|home| home.join(".config"));
    let folder = variable("XDG_CONFIG_HOME")
        .or_else(|| variable("APPDATA").filter(|_| cfg!(windows)))
        .or_else(home)?;
    Some(folder.join("weir").join("login.json"))
}

/// The login that is kept; none where there is no file.
///
/// # Errors
/// When the file cannot be read, or is none of a login.
pub fn kept() -> Result<Option<Login>, Failure> {
    match file() {
        Ok(path) => read(&path),
        Err(Failure::NoHome) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn read(path: &Path) -> Result<Option<Login>, Failure> {
    let unreadable = |why| Failure::Unreadable {
        file: path.display().to_string(),
        why,
    };
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| unreadable(error.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

/// Keeps a login where its user alone reads it. It is there whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn keep(login: &Login, path: &Path) -> Result<(), Failure> {
    written(login, path).map_err(|why| Failure::Unwritable {
        file: path.display().to_string(),
        why,
    })
}

fn written(login: &Login, path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let beside = path.with_extension("new");
    // One that is left over may be readable by others.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(serde_json::to_string_pretty(login)?.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(url: &str, token: &str) -> Login {
        Login {
            url: url.to_owned(),
            token: token.to_owned(),
        }
    }

    fn said(url: &str, token: &str) -> Said {
        Said::new(Some(url.to_owned()), Some(token.to_owned()))
    }

    #[test]
    fn what_is_said_counts_before_what_is_kept_and_what_is_empty_says_nothing() {
        let kept = login("https://a.example", "kept");
        for (said, expected) in [
            (said("", ""), kept.clone()),
            (said("https://a.example/", ""), kept.clone()),
            (said("", "other"), login("https://a.example", "other")),
            (
                said("http://b.example:8787", " t\n"),
                login("http://b.example:8787", "t"),
            ),
        ] {
            assert_eq!(chosen(&said, Some(kept.clone())).unwrap(), expected);
        }
    }

    #[test]
    fn the_token_of_a_login_goes_to_no_other_deployment() {
        let kept = login("https://a.example", "kept");
        for url in [
            "http://a.example",
            "https://a.example:8443",
            "https://b.example",
        ] {
            let refused = chosen(&said(url, ""), Some(kept.clone())).unwrap_err();
            assert!(
                matches!(refused, Failure::NoToken { .. }),
                "{url}: {refused}"
            );
        }
        assert!(matches!(chosen(&said("", "t"), None), Err(Failure::NoUrl)));
    }

    #[test]
    fn an_address_is_a_host_and_nothing_behind_it() {
        for url in [
            "weir.example",
            "ftp://weir.example",
            "https://weir.example/console",
            "https://weir.example/?a",
            "https://user:secret@weir.example",
            "https://",
            "a b",
        ] {
            assert!(address(url).is_err(), "{url}");
        }
        assert_eq!(
            address(" https://weir.example/ ").unwrap(),
            "https://weir.example"
        );
    }

    #[test]
    fn the_file_is_the_user_s_own() {
        let variables = |found: &'static [(&'static str, &'static str)]| {
            move |name: &str| {
                let one = found.iter().find(|(known, _)| *known == name);
                one.map(|(_, value)| PathBuf::from(value))
            }
        };
        let of = |found| place(variables(found));
        assert_eq!(
            of(&[("HOME", "h"), ("XDG_CONFIG_HOME", "x")]),
            Some(PathBuf::from("x/weir/login.json"))
        );
        assert_eq!(
            of(&[("HOME", "h")]),
            Some(PathBuf::from("h/.config/weir/login.json"))
        );
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_login_is_kept_and_read_back_and_nobody_else_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weir/login.json");
        assert_eq!(read(&path).unwrap(), None);
        for token in ["one", "two"] {
            let login = login("https://a.example", token);
            keep(&login, &path).unwrap();
            assert_eq!(read(&path).unwrap(), Some(login));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::write(&path, "{").unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn a_token_is_not_printed() {
        assert!(!format!("{:?}", login("https://a.example", "secret")).contains("secret"));
    }
}
