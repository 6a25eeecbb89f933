//! What is typed behind `weir-agent`, and its help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;

/// Where it listens: an address with a port, or the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// The program.
#[derive(Debug, Parser)]
#[command(
    name = "weir-agent",
    version,
    about = "Decides beside a proxy from units that it leases of a deployment of Weir",
    after_help = "It ends with 0 after SIGTERM or SIGINT, once it has given back what it held, and with 1 if it cannot start.",
    max_term_width = 100
)]
pub struct Options {
    /// The deployment: https://HOST
    #[arg(long, env = "WEIR_URL", value_name = "URL")]
    pub url: String,
    /// The token, of the role agent
    #[arg(long, env = "WEIR_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// A file that has the token
    #[arg(
        long,
        env = "WEIR_TOKEN_FILE",
        value_name = "FILE",
        conflicts_with = "token"
    )]
    pub token_file: Option<PathBuf>,
    /// Where to listen for HTTP and gRPC alike: ADDRESS:PORT, or unix:PATH; several with commas
    #[arg(
        long,
        env = "WEIR_AGENT_LISTEN",
        value_name = "WHERE",
        default_value = "127.0.0.1:8081",
        value_delimiter = ',',
        value_parser = listen
    )]
    pub listen: Vec<Listen>,
    /// The region to lease from; without it, the nearest
    #[arg(long, env = "WEIR_REGION", value_name = "REGION")]
    pub region: Option<String>,
}

/// Reads where to listen.
///
/// # Errors
/// What is expected, for what is neither.
///
/// ```
/// use weir_agent::options::{Listen, listen};
/// assert_eq!(listen("unix:/run/weir.sock"), Ok(Listen::Unix("/run/weir.sock".into())));
/// assert_eq!(listen("127.0.0.1:81"), Ok(Listen::Tcp(([127, 0, 0, 1], 81).into())));
/// assert!(listen("localhost").is_err() && listen("unix:").is_err());
/// ```
pub fn listen(text: &str) -> Result<Listen, String> {
    let expected = || format!("{text:?} is neither ADDRESS:PORT nor unix:PATH");
    match text.strip_prefix("unix:") {
        Some("") => Err(expected()),
        Some(path) => Ok(Listen::Unix(path.into())),
        None => text.parse().map(Listen::Tcp).map_err(|_| expected()),
    }
}
