//! Why a command did not do what it was asked to, each in one line.

use std::fmt;

use serde_json::{Value, json};
use weir_shared::invalid::Invalid;
use weir_shared::units::Revision;
use weir_shared::visible::visible;
use weir_shared::wire::problem::Problem;

use crate::figures::counted;
use crate::rollout::Behind;

/// Why.
#[derive(Debug)]
pub enum Failure {
    /// A file could not be read.
    Unreadable {
        /// Its name.
        file: String,
        /// The system's words.
        why: std::io::Error,
    },
    /// A file could not be written.
    Unwritable {
        /// Its name.
        file: String,
        /// The system's words.
        why: std::io::Error,
    },
    /// What is told could not be written.
    Output(std::io::Error),
    /// A document is none.
    Refused {
        /// Whose it is: the file's name.
        file: String,
        /// Where, and why.
        invalid: Invalid,
    },
    /// A configuration to be imported cannot be read.
    Unparsed {
        /// The file's name.
        file: String,
        /// The line.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// Nobody said which deployment is meant.
    NoUrl,
    /// Nobody said by which token.
    NoToken {
        /// The deployment.
        url: String,
    },
    /// The address of a deployment is none.
    BadUrl {
        /// As it was given.
        url: String,
    },
    /// An option means nothing here, or cannot be met.
    Option {
        /// The option.
        option: &'static str,
        /// Why.
        why: String,
    },
    /// The deployment does not answer.
    OutOfReach {
        /// Its address.
        url: String,
        /// Why not.
        why: String,
    },
    /// The deployment refuses.
    Answered {
        /// The status of its answer.
        status: u16,
        /// What it says.
        problem: Option<Box<Problem>>,
    },
    /// An answer cannot be read.
    Unintelligible {
        /// The path that was asked.
        path: String,
        /// Why.
        why: String,
    },
    /// The policy is another one than was planned against.
    Moved {
        /// What was planned against.
        planned: Revision,
        /// What the deployment says.
        detail: String,
    },
    /// The policy is saved and not yet in force everywhere.
    NotInForce {
        /// The revision that was saved.
        revision: Revision,
        /// The regions that lack it.
        behind: Vec<Behind>,
        /// Seconds that were waited.
        waited_s: u64,
    },
    /// Nobody said yes.
    NotConfirmed,
    /// There is no place for a file of the user's.
    NoHome,
}

impl Failure {
    /// An answer that cannot be read.
    #[must_use]
    pub fn unintelligible(path: &str, why: impl fmt::Display) -> Self {
        Self::Unintelligible {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }

    /// Whether the same might succeed in a moment.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::OutOfReach { .. } => true,
            Self::Answered { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }

    /// Where in a document or a request the fault is, as a JSON pointer.
    fn field(&self) -> Option<&str> {
        match self {
            Self::Refused { invalid, .. } => Some(&invalid.field),
            Self::Answered { problem, .. } => problem.as_ref()?.field.as_deref(),
            _ => None,
        }
    }

    /// The same for a program.
    ///
    /// ```
    /// use weir_cli::failure::Failure;
    /// assert_eq!(Failure::NotConfirmed.json(), serde_json::json!({ "error": "Nothing was changed: the change was not confirmed." }));
    /// ```
    #[must_use]
    pub fn json(&self) -> Value {
        let mut told = json!({ "error": self.to_string() });
        if let Some(field) = self.field() {
            told["field"] = json!(field);
        }
        if let Self::Answered { status, .. } = self {
            told["status"] = json!(status);
        }
        told
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.text()))
    }
}

impl Failure {
    fn text(&self) -> String {
        match self {
            Self::Unreadable { file, why } => format!("{file} cannot be read: {why}."),
            Self::Unwritable { file, why } => format!("{file} cannot be written: {why}."),
            Self::Output(why) => format!("The output cannot be written: {why}."),
            Self::Refused { file, invalid } => format!("{file} is refused: {invalid}"),
            Self::Unparsed { file, line, why } => format!("{file}:{line}: {why}"),
            Self::NoUrl => {
                "No deployment is named: give --url, set WEIR_URL, or log in with `weir login`."
                    .to_owned()
            }
            Self::NoToken { url } => format!(
                "There is no token for {url}: give --token, set WEIR_TOKEN, or log in with `weir login`."
            ),
            Self::BadUrl { url } => {
                format!("{url:?} is not the address of a deployment: it has the form https://HOST.")
            }
            Self::Option { option, why } => format!("{option}: {why}"),
            Self::OutOfReach { url, why } => format!("{url} is out of reach: {why}."),
            Self::Answered { status, problem } => answered(*status, problem.as_deref()),
            Self::Unintelligible { path, why } => {
                format!("The answer to {path} cannot be read: {why}.")
            }
            Self::Moved { planned, detail } => format!(
                "Somebody else saved a policy since revision {planned}, and nothing was changed: plan again. {detail}"
            ),
            Self::NotInForce {
                revision,
                behind,
                waited_s,
            } => {
                let behind: Vec<String> = behind.iter().map(Behind::to_string).collect();
                format!(
                    "Revision {revision} is saved, but after {} it is not in force everywhere: {}.",
                    counted(*waited_s, "second"),
                    behind.join(", ")
                )
            }
            Self::NotConfirmed => "Nothing was changed: the change was not confirmed.".to_owned(),
            Self::NoHome => {
                "There is no place for the login: set HOME or XDG_CONFIG_HOME.".to_owned()
            }
        }
    }
}

fn answered(status: u16, problem: Option<&Problem>) -> String {
    let said = match problem {
        Some(problem) if problem.detail.is_empty() => problem.title.clone(),
        Some(problem) => match &problem.field {
            Some(field) if !field.is_empty() => format!("{field}: {}", problem.detail),
            _ => problem.detail.clone(),
        },
        None => "it does not say why; is this the address of a deployment?".to_owned(),
    };
    let who = match status {
        401 => "The deployment does not know this token",
        403 => "This token does not permit that",
        _ => "The deployment refuses",
    };
    format!("{who} ({status}): {said}")
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use weir_shared::invalid::Fault;

    use super::*;

    fn problem(detail: &str, field: Option<&str>) -> Problem {
        Problem {
            kind: "about:blank".to_owned(),
            title: "Unauthorized".to_owned(),
            status: 401,
            detail: detail.to_owned(),
            field: field.map(str::to_owned),
            retry_after_ms: None,
            decision: None,
        }
    }

    #[test]
    fn a_failure_is_one_line_whatever_the_server_says() {
        let failure = Failure::Answered {
            status: 400,
            problem: Some(Box::new(problem("two\nlines\u{1b}[2J", Some("/limit")))),
        };
        assert_eq!(
            failure.to_string(),
            "The deployment refuses (400): /limit: two⟨U+000A⟩lines⟨U+001B⟩[2J"
        );
        assert_eq!(failure.json()["field"], "/limit");
        assert_eq!(failure.json()["status"], 400);
    }

    #[test]
    fn a_refused_document_names_the_field() {
        let failure = Failure::Refused {
            file: "policy.json".to_owned(),
            invalid: Invalid::new("/budgets/tokens/limit", Fault::Missing),
        };
        assert_eq!(
            failure.to_string(),
            "policy.json is refused: /budgets/tokens/limit: is required"
        );
        assert_eq!(failure.json()["field"], "/budgets/tokens/limit");
    }

    #[test]
    fn what_may_pass_in_a_moment_is_told_from_what_does_not() {
        let answered = |status| Failure::Answered {
            status,
            problem: None,
        };
        for (status, passes) in [(401, false), (404, false), (429, true), (503, true)] {
            assert_eq!(answered(status).passes(), passes, "{status}");
        }
        assert!(!Failure::NoUrl.passes());
    }
}
