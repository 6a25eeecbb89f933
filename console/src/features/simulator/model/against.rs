//! The two policies of a simulation: the one in force, and the draft of the policy page or, without one, the same again.

use weir_shared::ordered::OrderedSet;
use weir_shared::policy::Policy;
use weir_shared::wire::policy::PolicyDocument;

use super::unplayed::changed_rules;
use crate::api::tagged::Tagged;
use crate::features::policy::model::draft::PolicyDraft;
use crate::features::policy::model::validate::{Checked, Flaw, policy_of};
use crate::format::counted;
use crate::what::What;

/// Which policy is the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidate {
    /// The one in force: there is no draft.
    InForce,
    /// The draft.
    Draft {
        /// Values that it changes.
        changes: usize,
        /// Whether another policy came into force since it was begun.
        moved: bool,
    },
}

/// Both policies.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// The policy in force.
    pub present: Policy,
    /// Its revision, as its tag has it.
    pub revision: String,
    /// The policy that is played beside it.
    pub candidate: Checked,
    /// Which one that is.
    pub which: Candidate,
    /// The rules that the draft changes.
    pub changed: OrderedSet<What>,
}

impl Against {
    /// The policy in force and the draft, if there is one that changes anything.
    ///
    /// # Errors
    /// The first flaw of the draft, or of a policy in force that this version cannot read.
    pub fn of(
        in_force: &Tagged<PolicyDocument>,
        draft: Option<&PolicyDraft>,
    ) -> Result<Self, Flaw> {
        let present = policy_of(&in_force.body)?;
        let revision = in_force.etag.trim_matches('"').to_owned();
        let (candidate, which, changed) = match draft.filter(|draft| draft.is_changed()) {
            None => {
                let document = in_force.body.clone();
                let policy = present.clone();
                let candidate = Checked { document, policy };
                (candidate, Candidate::InForce, OrderedSet::new())
            }
            Some(draft) => {
                let rows = draft.changes();
                let which = Candidate::Draft {
                    changes: rows.len(),
                    moved: draft.etag() != in_force.etag,
                };
                (draft.check()?, which, changed_rules(&rows))
            }
        };
        Ok(Self {
            present,
            revision,
            candidate,
            which,
            changed,
        })
    }

    /// Whether two different policies are played.
    pub fn differs(&self) -> bool {
        self.which != Candidate::InForce
    }

    /// Which policies are played, in a sentence or two.
    pub fn words(&self) -> String {
        let revision = &self.revision;
        match self.which {
            Candidate::InForce => format!(
                "There is no draft in this tab, so this plays the policy in force, revision {revision}, alone. Change a rule on the policy page, then come back to compare."
            ),
            Candidate::Draft { changes, moved } => {
                let since = match moved {
                    true => " Somebody has saved another policy since the draft was begun.",
                    false => "",
                };
                format!(
                    "This compares the draft of this tab, with {} changed, with the policy in force, revision {revision}.{since}",
                    counted(changes, "value")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn in_force() -> Tagged<PolicyDocument> {
        Tagged {
            body: serde_json::from_str(include_str!("../../../../../policy.json")).unwrap(),
            etag: "\"7\"".to_owned(),
        }
    }

    fn draft(etag: &str) -> PolicyDraft {
        let mut draft = PolicyDraft::new(&in_force().body, etag);
        draft.put("/enforcing", Some(json!(false)));
        draft
    }

    #[test]
    fn without_a_draft_the_policy_in_force_is_played_alone() {
        let unchanged = PolicyDraft::new(&in_force().body, "\"7\"");
        for draft in [None, Some(&unchanged)] {
            let against = Against::of(&in_force(), draft).unwrap();
            assert!(!against.differs());
            assert!(against.words().contains("revision 7, alone"));
            assert_eq!(against.candidate.document, in_force().body);
        }
    }

    #[test]
    fn a_draft_is_the_candidate_and_says_whether_the_policy_moved() {
        for (etag, moved) in [("\"7\"", false), ("\"6\"", true)] {
            let against = Against::of(&in_force(), Some(&draft(etag))).unwrap();
            assert_eq!(against.which, Candidate::Draft { changes: 1, moved });
            assert!(!against.candidate.policy.enforcing && against.present.enforcing);
            let words = against.words();
            assert!(words.contains("1 value changed"), "{words}");
            assert_eq!(words.contains("Somebody"), moved, "{words}");
        }
    }

    #[test]
    fn a_draft_with_a_flaw_is_not_played() {
        let mut draft = draft("\"7\"");
        draft.put("/home", Some(json!(5)));
        let flaw = Against::of(&in_force(), Some(&draft)).unwrap_err();
        assert_eq!(flaw.pointer, "/home");
    }
}
