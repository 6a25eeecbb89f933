//! What is typed behind `weir`, and its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::Timestamp;
use weir_shared::units::EpochMs;
use weir_shared::wire::check::Reason;
use weir_shared::wire::role::Role;

use crate::agreement::log::DENIED;
use crate::starvation::PERCENT;
use crate::tail::filter::reason;

/// Behind what only one command takes.
const LAST: usize = 900;

/// How commands end, for the help and the manual.
const ENDINGS: &str = "Exit status:
  0  done, or nothing differs
  1  failed, or called wrongly; the standard error says why
  2  plan, drift: something differs; agreement: less agrees than required
  3  plan: something differs, and it starves a tenant";

/// What starving is, for the help of `plan`.
const STARVING: &str = "A tenant is starved of a budget, meter, guard, limit or overload resource if one of these is true:
  - the policy in force guarantees it units of the budget, and the file guarantees it none, among all tenants
    that either document names and all that have asked;
  - of what it asked for in the recorded windows and minutes, the file would give it less than the policy in
    force would, by more than --starve-percent percent.
A rule in shadow mode gives everything that is asked for. A budget, meter or guard that the file removes gives
nothing; a limit or an overload resource that it removes denies nothing. Routes are left out.

Exit status:
  0  nothing changes
  1  failed, or called wrongly; the standard error says why
  2  something changes
  3  something changes, and it starves a tenant";

/// The command.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    about = "A policy of Weir as code, and a look at what a deployment decides",
    after_help = ENDINGS,
    after_long_help = ENDINGS,
    max_term_width = 100
)]
pub struct Options {
    /// What every command takes.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Common {
    /// The deployment: https://HOST; without it, that of the last login
    #[arg(
        long,
        env = "WEIR_URL",
        value_name = "URL",
        global = true,
        display_order = LAST
    )]
    pub url: Option<String>,
    /// The token, of a role that the command needs; without it, that of the last login at the same URL
    #[arg(
        long,
        env = "WEIR_TOKEN",
        value_name = "TOKEN",
        global = true,
        display_order = LAST,
        hide_env_values = true
    )]
    pub token: Option<String>,
    /// Print JSON, also for failures
    #[arg(long, global = true, display_order = LAST)]
    pub json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Validate a policy file, without a deployment
    Validate {
        /// The file; `-` is the standard input
        file: String,
    },
    /// Show what a policy file would change, and who would gain or lose
    #[command(after_long_help = STARVING)]
    Plan {
        /// The file; `-` is the standard input
        file: String,
        /// What counts as starving
        #[command(flatten)]
        starve: Starve,
        /// Print Markdown, for a pull request
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
    /// Put a policy file in force after you confirm its plan, and wait until every region applies it
    Apply {
        /// The file; `-`, with --yes, is the standard input
        file: String,
        /// What counts as starving
        #[command(flatten)]
        starve: Starve,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Change only this revision, the one that the plan was made against
        #[arg(long, value_name = "N")]
        revision: Option<u64>,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        /// Seconds to wait until every region applies it; 0 does not wait
        #[arg(long, value_name = "S", default_value_t = 30)]
        wait_s: u64,
    },
    /// Check whether the policy in force equals a file: exit status 0 if it does, 2 if not
    Drift {
        /// The file; `-` is the standard input
        file: String,
    },
    /// Print the policy in force
    Export,
    /// Convert another limiter's configuration into limits of a policy, and name what does not map
    Import {
        /// The other limiter
        format: Format,
        /// The file; `-` is the standard input
        file: String,
    },
    /// Show what a policy file would have admitted of past requests, compared with another policy
    Replay(Replaying),
    /// Show how far a policy file agrees with the limiter that it will replace, from a log of its verdicts
    Agreement(Agreeing),
    /// Show decisions as they are made, a sample of all regions
    Tail {
        /// Only of this tenant; may be given several times
        #[arg(long = "tenant", value_name = "NAME")]
        tenants: Vec<String>,
        /// Only for this reason, such as over_share; may be given several times
        #[arg(long = "reason", value_name = "REASON", value_parser = reason)]
        reasons: Vec<Reason>,
        /// Only denials, and what a rule in shadow mode would have denied
        #[arg(long)]
        denied: bool,
        /// Stop after this many
        #[arg(long, value_name = "N")]
        count: Option<u64>,
    },
    /// Show tenants by use, refreshed continually
    Top {
        /// Only of this budget
        #[arg(long, value_name = "NAME")]
        budget: Option<String>,
        /// Rows, at most
        #[arg(long, value_name = "N", default_value_t = 20)]
        rows: usize,
        /// Seconds between refreshes
        #[arg(long, value_name = "S", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
        interval_s: u64,
        /// Print once and exit
        #[arg(long)]
        once: bool,
    },
    /// List, create and revoke tokens
    Token {
        /// Which of these
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Store an address and a token for later commands; asks for a token that is not given
    Login,
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual
    Man {
        /// Write one page per command into this folder instead
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
}

/// What counts as starving.
#[derive(Debug, Clone, Copy, Args)]
pub struct Starve {
    /// A tenant that loses more than this percent of what it would get of its recorded demand is starved
    #[arg(
        long = "starve-percent",
        value_name = "P",
        default_value_t = PERCENT,
        value_parser = clap::value_parser!(u8).range(0..=100)
    )]
    pub percent: u8,
}

/// What is played against which policies.
#[derive(Debug, Args)]
pub struct Replaying {
    /// The file; `-` is the standard input
    pub file: String,
    /// Replay these requests locally: one per line, as at,tenant,kind,name,key,cost or as JSON, at in milliseconds since 1970;
    /// or, with --limit, an access log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "to"], required_unless_present = "from")]
    pub trace: Option<String>,
    /// Read the trace as an access log, in the combined format or in JSON: each line that names no rule asks for this limit,
    /// with the client's address as its key
    #[arg(long, value_name = "NAME", requires = "trace", conflicts_with_all = ["from", "to"])]
    pub limit: Option<String>,
    /// Compare with this policy instead of the one in force, without a deployment
    #[arg(long, value_name = "FILE", requires = "trace", conflicts_with_all = ["from", "to"])]
    pub present: Option<String>,
    /// Replay what the deployment recorded from this minute on: an instant such as 2026-01-31T12:00:00Z, or milliseconds
    #[arg(long, value_name = "TIME", requires = "to", value_parser = time)]
    pub from: Option<EpochMs>,
    /// To the end of this minute
    #[arg(long, value_name = "TIME", requires = "from", value_parser = time)]
    pub to: Option<EpochMs>,
}

/// Which log is held against which policy.
#[derive(Debug, Args)]
pub struct Agreeing {
    /// The file of the policy; `-` is the standard input
    pub file: String,
    /// The log: one line per request, in JSON with at, key and verdict or status, or in the combined format; `-` is the
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub log: String,
    /// The limit for lines that name no rule
    #[arg(long, value_name = "NAME")]
    pub limit: Option<String>,
    /// Statuses that mean a denial, for lines without a verdict
    #[arg(long, value_name = "STATUS", value_delimiter = ',', default_values_t = DENIED, value_parser = clap::value_parser!(u16).range(100..=599))]
    pub denied: Vec<u16>,
    /// Exit with 2 if less than this percent of the verdicts agree
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub least_percent: Option<u8>,
}

/// What is done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// List all, without their secrets
    List,
    /// Create one, and print it; it is never shown again
    Create {
        /// Its name: a-z, 0-9, _ and -
        name: String,
        /// What it permits: agent, service, tenant, viewer, editor or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// The tenant, with the role tenant
        #[arg(long)]
        tenant: Option<String>,
        /// How the names of its tenants begin, with the role service
        #[arg(long)]
        prefix: Option<String>,
        /// Days until it expires; without them it is valid until it is revoked
        #[arg(long, value_name = "N")]
        days: Option<u64>,
    },
    /// Revoke one; it stops working everywhere within a second
    Revoke {
        // One random id in 64 begins with a hyphen.
        /// Its id, as the list has it
        #[arg(allow_hyphen_values = true)]
        id: String,
    },
}

/// Whose configuration is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// limit_req_zone and limit_req of nginx
    Nginx,
    /// The YAML of envoyproxy/ratelimit
    Ratelimit,
    /// The plugin rate-limiting of Kong, in its declarative YAML
    Kong,
    /// Rate limiting rules of Cloudflare's WAF, as its API answers them
    Cloudflare,
}

fn time(text: &str) -> Result<EpochMs, String> {
    let ms = text.parse().or_else(|_| {
        let instant = text.parse::<Timestamp>().map_err(|why| why.to_string())?;
        u64::try_from(instant.as_millisecond()).map_err(|_| "this is before 1970".to_owned())
    });
    ms.map(EpochMs)
}

fn role(name: &str) -> Result<Role, String> {
    Role::named(name).ok_or_else(|| {
        let names = Role::ALL.map(Role::name);
        format!("the roles are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn read(words: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from([&["weir"], words].concat())
    }

    #[test]
    fn the_options_agree_with_each_other() {
        Options::command().debug_assert();
    }

    #[test]
    fn what_every_command_takes_may_stand_anywhere() {
        for words in [
            ["--url", "https://a.example", "--json", "export"],
            ["export", "--url", "https://a.example", "--json"],
        ] {
            let common = read(&words).unwrap().common;
            assert_eq!(common.url.as_deref(), Some("https://a.example"));
            assert!(common.json);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for words in [
            &["plan"][..],
            &["plan", "p.json", "--starve-percent", "101"],
            &["plan", "p.json", "--json", "--markdown"],
            &["tail", "--reason", "late"],
            &["token", "create", "ci", "--role", "king"],
            &["import", "apache", "f"],
            &["replay", "p.json"],
            &["replay", "p.json", "--from", "0"],
            &["replay", "p.json", "--from", "0", "--to", "noon"],
            &[
                "replay", "p.json", "--from", "0", "--to", "1", "--trace", "t",
            ],
            &[
                "replay",
                "p.json",
                "--from",
                "0",
                "--to",
                "1",
                "--present",
                "q.json",
            ],
            &[
                "replay", "p.json", "--from", "0", "--to", "1", "--limit", "one",
            ],
            &["dev"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_token_of_any_id_is_revoked() {
        for id in [
            "AbCdEfGhIjKlMnOp",
            "-bCdEfGhIjKlMnOp",
            "-hCdEfGhIjKlMnOp",
            "--CdEfGhIjKlMnOp",
        ] {
            for words in [
                ["--json", "token", "revoke", id],
                ["token", "revoke", "--json", id],
                ["token", "revoke", id, "--json"],
            ] {
                let options = read(&words).unwrap();
                assert!(options.common.json, "{words:?}");
                let Command::Token {
                    command: TokenCommand::Revoke { id: told },
                } = options.command
                else {
                    panic!("{words:?}");
                };
                assert_eq!(told, id, "{words:?}");
            }
        }
        let help = read(&["token", "revoke", "-h"]).unwrap_err();
        assert_eq!(help.kind(), clap::error::ErrorKind::DisplayHelp);
    }

    #[test]
    fn an_instant_is_a_time_or_a_number() {
        assert_eq!(time("1970-01-01T00:01:00Z"), Ok(EpochMs(60_000)));
        assert_eq!(time("60000"), Ok(EpochMs(60_000)));
        assert!(time("1960-01-01T00:00:00Z").is_err());
    }

    #[test]
    fn the_help_of_plan_says_what_starving_is_and_how_it_ends() {
        let mut command = Options::command();
        command.build();
        let plan = command.find_subcommand_mut("plan").unwrap();
        let help = plan.render_long_help().to_string();
        assert!(
            help.contains("guarantees it none") && help.contains("\n  3  "),
            "{help}"
        );
    }

    #[test]
    fn the_help_shows_no_token() {
        let token = Options::command();
        let token = token
            .get_arguments()
            .find(|one| one.get_id() == "token")
            .unwrap();
        assert!(token.is_hide_env_values_set());
    }
}
