//! A file put in force: planned, agreed to, saved against what was planned, and waited for in every region.

use std::io::{BufRead, Write};
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;
use weir_shared::units::Revision;

use crate::client::Client;
use crate::clock;
use crate::document::Valid;
use crate::failure::Failure;
use crate::figures::counted;
use crate::output::aside;
use crate::plan::Plan;
use crate::rollout::{Behind, behind};

/// How long between two looks at the regions.
const LOOK: Duration = Duration::from_millis(500);

/// What became of a file.
#[derive(Debug, Clone, Serialize)]
pub struct Applied {
    /// The plan.
    pub plan: Plan,
    /// The revision that says what the file says.
    pub revision: Revision,
    /// Whether it is in force in every region; not known where nobody waited.
    pub in_force: Option<bool>,
    /// In how many regions it was looked for.
    pub regions: u64,
}

impl Applied {
    /// A line on what was done.
    #[must_use]
    pub fn text(&self) -> String {
        let revision = self.revision;
        match self.in_force {
            Some(_) => format!(
                "Revision {revision} is in force in {}.\n",
                counted(self.regions, "region")
            ),
            None => format!(
                "Revision {revision} is saved; this command did not wait until it was in force.\n"
            ),
        }
    }
}

/// Refuses a plan that was made against another revision than was agreed to.
///
/// # Errors
/// [`Failure::Moved`].
pub fn agreed(plan: &Plan, revision: Option<u64>) -> Result<(), Failure> {
    match revision.map(Revision) {
        Some(planned) if planned != plan.revision => Err(Failure::Moved {
            planned,
            detail: format!("Revision {} is in force.", plan.revision),
        }),
        _ => Ok(()),
    }
}

/// Asks whether to go on.
///
/// # Errors
/// When the answer is anything but yes.
pub fn confirm(url: &str) -> Result<(), Failure> {
    let mut err = std::io::stderr().lock();
    let asked = write!(err, "Put this in force at {url}? Type yes: ").and_then(|()| err.flush());
    let mut answer = String::new();
    let heard = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    match heard {
        Ok(_) if is_yes(&answer) => Ok(()),
        _ => Err(Failure::NotConfirmed),
    }
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Saves a file against what was planned, and waits.
///
/// # Errors
/// When somebody else saved meanwhile, when the deployment refuses, when a region lacks it after all that time.
pub fn apply(
    client: &Client,
    file: &Valid,
    plan: Plan,
    why: Option<&str>,
    wait_s: u64,
) -> Result<Applied, Failure> {
    let revision = if plan.difference.is_empty() {
        plan.revision
    } else {
        let saved = client.save(&file.document, plan.revision, why)?;
        aside(&format!("Revision {saved} is saved."));
        saved
    };
    let mut applied = Applied {
        plan,
        revision,
        in_force: None,
        regions: file.policy.regions.len() as u64,
    };
    if wait_s > 0 {
        wait(client, revision, wait_s)?;
        applied.in_force = Some(true);
    }
    Ok(applied)
}

/// Waits until a revision is in force in every region.
fn wait(client: &Client, revision: Revision, wait_s: u64) -> Result<(), Failure> {
    let (start, bound) = (clock::now(), Duration::from_secs(wait_s));
    let mut told = None;
    loop {
        let lacking = match client.regions() {
            Ok(reply) => behind(&reply, revision),
            Err(failure) if failure.passes() && start.elapsed() < bound => {
                sleep(LOOK);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        if lacking.is_empty() {
            return Ok(());
        }
        if start.elapsed() >= bound {
            return Err(Failure::NotInForce {
                revision,
                behind: lacking,
                waited_s: wait_s,
            });
        }
        if told.as_ref() != Some(&lacking) {
            aside(&waiting(revision, &lacking));
            told = Some(lacking);
        }
        sleep(LOOK);
    }
}

/// What is waited for, in a line.
fn waiting(revision: Revision, behind: &[Behind]) -> String {
    let names: Vec<String> = behind.iter().map(Behind::to_string).collect();
    format!("Waiting for revision {revision}: {}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            revision: Revision(7),
            difference: Vec::new(),
            preview: None,
            starves: Vec::new(),
            starve_percent: 50,
        }
    }

    #[test]
    fn only_the_revision_that_was_agreed_to_is_changed() {
        assert!(agreed(&plan(), None).is_ok());
        assert!(agreed(&plan(), Some(7)).is_ok());
        let refused = agreed(&plan(), Some(6)).unwrap_err().to_string();
        assert!(
            refused.contains("since revision 6") && refused.contains("Revision 7 is in force."),
            "{refused}"
        );
    }

    #[test]
    fn only_yes_is_yes() {
        for answer in ["yes\n", "y", " YES "] {
            assert!(is_yes(answer), "{answer:?}");
        }
        for answer in ["", "\n", "no", "yes please", "ja"] {
            assert!(!is_yes(answer), "{answer:?}");
        }
    }

    #[test]
    fn what_was_done_is_told_in_a_line() {
        let mut applied = Applied {
            plan: plan(),
            revision: Revision(8),
            in_force: Some(true),
            regions: 2,
        };
        assert_eq!(applied.text(), "Revision 8 is in force in 2 regions.\n");
        applied.in_force = None;
        assert_eq!(
            applied.text(),
            "Revision 8 is saved; this command did not wait until it was in force.\n"
        );
    }

    #[test]
    fn what_is_waited_for_is_named() {
        let lacking = Behind {
            region: "enam".to_owned(),
            applies: Some(Revision(7)),
        };
        assert_eq!(
            waiting(Revision(8), &[lacking]),
            "Waiting for revision 8: enam applies revision 7."
        );
    }
}
