//! A deployment and its token, kept for the commands that follow.

use std::io::{BufRead, IsTerminal};

use serde::Serialize;
use weir_shared::units::Revision;

use crate::client::Client;
use crate::credentials::{Login, Said, address, file, keep};
use crate::failure::Failure;

/// What was kept, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedIn {
    /// The deployment.
    pub url: String,
    /// The file.
    pub file: String,
    /// The revision of its policy, by which it proved to be one.
    pub revision: Revision,
}

impl LoggedIn {
    /// A line.
    ///
    /// ```
    /// use weir_cli::login::LoggedIn;
    /// use weir_shared::units::Revision;
    /// let done = LoggedIn { url: "https://a.example".into(), file: "login.json".into(), revision: Revision(7) };
    /// assert_eq!(done.text(), "Logged in at https://a.example (revision 7). The address and the token are in login.json.\n");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            url,
            file,
            revision,
        } = self;
        format!(
            "Logged in at {url} (revision {revision}). The address and the token are in {file}.\n"
        )
    }
}

/// Tries a token and keeps it. Where none was said, it is asked for.
///
/// # Errors
/// When the deployment does not let it in, when it cannot be kept.
pub fn login(said: &Said) -> Result<LoggedIn, Failure> {
    let url = address(said.url.as_ref().ok_or(Failure::NoUrl)?)?;
    let token = match &said.token {
        Some(token) => token.clone(),
        None => ask()?,
    };
    let token = token.trim().to_owned();
    if token.is_empty() {
        return Err(Failure::NoToken { url });
    }
    let login = Login { url, token };
    let client = Client::new(login.clone());
    let revision = client.policy()?.revision;
    let path = file()?;
    keep(&login, &path)?;
    Ok(LoggedIn {
        url: login.url,
        file: path.display().to_string(),
        revision,
    })
}

/// A line of the standard input; at a terminal it is not shown.
fn ask() -> Result<String, Failure> {
    let unreadable = |why| Failure::Unreadable {
        file: "The token".to_owned(),
        why,
    };
    if std::io::stdin().is_terminal() {
        return rpassword::prompt_password("Token: ").map_err(unreadable);
    }
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(unreadable)?;
    Ok(line)
}
