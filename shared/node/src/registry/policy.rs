//! Policies: every revision whole, the newest that can be read in force.

use serde_json::{Map, Value as Json, json};
use weir_audit::Action;
use weir_audit::changes::{changes, in_sections};
use weir_audit::draft::Draft;
use weir_audit::tag::tenant_tag;
use weir_core::invalid::Invalid;
use weir_core::json;
use weir_core::limits::{AUDIT_VALUE_BYTES_MAX, JSON_INTEGER_MAX, POLICY_REVISIONS_MAX};
use weir_core::ordered::OrderedSet;
use weir_core::units::Revision;
use weir_policy::handover::{Handovers, handovers};
use weir_policy::stored::{read_handovers, read_placement, read_policy};
use weir_policy::{Policy, patch, work};
use weir_wire::audit::{AuditOutcome, Author};
use weir_wire::policy::PolicyDocument;
use weir_wire::registry::{DeleteTenant, PatchTenant, Rules, SavePolicy, Saved};
use weir_wire::saved_policy::SavedPolicy;
use weir_wire::shard_key::ShardKey;
use weir_wire::stored::Damaged;

use super::DEPLOYMENT;
use super::call::{Failure, News, Reply};
use super::rows::{PolicyRow, Put, Rows};
use super::task::{Desk, Recording, Task, record};

/// Bytes of the values that a change changed, as the audit log has them: they leave room for the revision beside them.
const CHANGED_BYTES_MAX: usize = AUDIT_VALUE_BYTES_MAX - 128;

/// A change of the policy that may be made, or not.
struct Change {
    author: Author,
    action: Action,
    target: String,
    outcome: Result<PolicyDocument, Refusal>,
}

/// Why it may not.
enum Refusal {
    Moved { tag: Option<String> },
    Unknown,
    TooOften { after_ms: u64 },
    Invalid(Invalid),
}

impl<R: Rows> Desk<'_, R> {
    pub(super) fn save(&mut self, call: SavePolicy) -> Result<Vec<Task>, Failure> {
        let current = self.current(call.expected.is_none())?;
        let moved = call.expected.is_some_and(|seen| seen != current.revision);
        let outcome = if moved {
            Err(Refusal::Moved { tag: None })
        } else {
            validated(call.document)
        };
        let change = Change {
            author: call.author,
            action: Action::PolicySave,
            target: String::new(),
            outcome,
        };
        self.change(&current, change)
    }

    pub(super) fn patch_tenant(&mut self, call: PatchTenant) -> Result<Vec<Task>, Failure> {
        let current = self.current(false)?;
        let merged = || patch::merge(&current.document, &call.tenant, &call.patch);
        let outcome = match moved(&current, &call.tenant, call.expected.as_deref()) {
            Some(refusal) => Err(refusal),
            None => merged().map_err(Refusal::Invalid).and_then(validated),
        };
        let change = Change {
            author: call.author,
            action: Action::TenantPatch,
            target: call.tenant,
            outcome,
        };
        self.change(&current, change)
    }

    pub(super) fn delete_tenant(&mut self, call: DeleteTenant) -> Result<Vec<Task>, Failure> {
        let current = self.current(false)?;
        let named = current.document.tenants.contains_key(&call.tenant);
        let removed = || match patch::remove(&current.document, &call.tenant) {
            Ok(Some(document)) => validated(document),
            Ok(None) => Err(Refusal::Unknown),
            Err(refused) => Err(Refusal::Invalid(refused)),
        };
        let outcome = match moved(&current, &call.tenant, call.expected.as_deref()) {
            // What is gone already is not there to be removed, whatever the author saw.
            Some(refusal) if named => Err(refusal),
            _ => removed(),
        };
        let change = Change {
            author: call.author,
            action: Action::TenantDelete,
            target: call.tenant,
            outcome,
        };
        self.change(&current, change)
    }

    /// Makes a change or refuses it; either is recorded.
    fn change(&mut self, current: &SavedPolicy, change: Change) -> Result<Vec<Task>, Failure> {
        let Change {
            author,
            action,
            target,
            outcome,
        } = change;
        let now = self.now;
        let draft = |outcome| Draft::new(author.clone(), action.name(), &target, outcome, now);
        let outcome = match self.too_often(action, &draft(AuditOutcome::Done))? {
            Some(after_ms) => outcome.and(Err(Refusal::TooOften { after_ms })),
            None => outcome,
        };
        let refusal = match outcome {
            Ok(document) => return self.replace(current, document, draft(AuditOutcome::Done)),
            Err(refusal) => refusal,
        };
        let (saved, why) = refused(refusal, current.revision);
        let was = json!({ "revision": current.revision });
        let draft = draft(AuditOutcome::Refused).with_change(was, why);
        Ok(record(draft, vec![], Reply::Saved(saved)))
    }

    /// Until the log says what a change was, if it has to say so and would not.
    fn too_often(&self, action: Action, draft: &Draft) -> Result<Option<u64>, Failure> {
        if !action.is_always_told() {
            return Ok(None);
        }
        self.in_full_after_ms(draft)
    }

    /// Puts another document in force, with its record, and gives up the oldest; then regions of both are told.
    fn replace(
        &self,
        current: &SavedPolicy,
        document: PolicyDocument,
        draft: Draft,
    ) -> Result<Vec<Task>, Failure> {
        // One more than the highest number ever given, readable or not.
        let revision = Revision(self.rows.highest_revision()? + 1);
        let old = json::to_value(&current.document)?;
        let (was, is) = changes(&old, &json::to_value(&document)?);
        let draft = draft.with_change(changed(current.revision, was), changed(revision, is));
        let before = (&Policy::try_from(&current.document)?, &current.handovers);
        let saved = SavedPolicy {
            revision,
            handovers: handovers(before, &Policy::try_from(&document)?, self.now),
            document,
            placement: current.placement,
        };
        let through = revision.0.saturating_sub(POLICY_REVISIONS_MAX);
        let mut puts = vec![
            self.put(&saved, draft.actor())?,
            Put::DropPolicies { through },
        ];
        if !saved.handovers.is_empty() {
            let body = serde_json::to_string(&saved.handovers)?;
            puts.push(Put::Handovers { revision, body });
        }
        let news = News {
            regions: regions(&[&current.document, &saved.document]),
            rules: Rules {
                policy: Some(saved.clone()),
                access: None,
            },
        };
        Ok(vec![
            Task::RecordDue,
            Recording::task(draft, puts, None),
            Task::Send(Box::new(news)),
            Task::Reply(Box::new(Reply::Saved(Saved::Done(Box::new(saved))))),
        ])
    }

    /// The policy in force. Where none can be read and `anyway`, the one that was shipped: what is then saved replaces
    /// them all.
    fn current(&mut self, anyway: bool) -> Result<SavedPolicy, Failure> {
        match self.newest() {
            Err(_) if anyway => Ok(SavedPolicy {
                revision: Revision(0),
                document: self.rows.shipped()?,
                handovers: Handovers::new(),
                placement: self.placement()?,
            }),
            newest => newest,
        }
    }

    /// The policy in force, if it is newer than `revision`.
    pub(super) fn policy_beyond(
        &mut self,
        revision: Revision,
    ) -> Result<Option<SavedPolicy>, Failure> {
        // Not read whole for everyone who asks: it may have a megabyte.
        if self.rows.highest_revision()? <= revision.0 {
            return Ok(None);
        }
        let newest = self.newest()?;
        Ok((newest.revision > revision).then_some(newest))
    }

    /// The regions of the policy in force, or of the shipped one. The policy may have a megabyte, and tokens and sessions
    /// come and go without a change of it: it is read once a revision.
    pub(super) fn regions(&mut self) -> Result<OrderedSet<String>, Failure> {
        let highest = Revision(self.rows.highest_revision()?);
        if let Some(known) = self.memory.regions.get(highest) {
            return Ok(known.clone());
        }
        let read = regions(&[&self.current(true)?.document]);
        self.memory.regions.keep(highest, read.clone());
        Ok(read)
    }

    /// The newest revision that can be read. When none can be, the regions go on with the last policy they saw, until
    /// `If-Match: *` saves another.
    fn newest(&mut self) -> Result<SavedPolicy, Failure> {
        let mut below = JSON_INTEGER_MAX;
        while let Some(row) = self.rows.policy_below(below)? {
            below = row.revision.unwrap_or(0);
            match self.saved(row) {
                Ok(saved) => {
                    return Ok(SavedPolicy {
                        placement: self.placement()?,
                        ..saved
                    });
                }
                Err(damaged) => self.damaged("policies", damaged),
            }
        }
        Err(Failure::NoPolicy)
    }

    /// A row that is readable and still a valid policy.
    fn saved(&mut self, row: PolicyRow) -> Result<SavedPolicy, Damaged> {
        let revision = row.revision.ok_or_else(|| Damaged::column("revision"))?;
        let document = row.document.ok_or_else(|| Damaged::column("document"))?;
        let document = read_policy(&document)?;
        let handovers = read_handovers(row.handovers.as_deref()).unwrap_or_else(|damaged| {
            self.damaged("handovers", damaged);
            Handovers::new()
        });
        Ok(SavedPolicy {
            revision: Revision(revision),
            document,
            handovers,
            placement: None,
        })
    }

    /// The secret by which the shards of keys are chosen. One that cannot be read is no reason to serve nobody: keys then
    /// begin anew in other shards.
    fn placement(&mut self) -> Result<Option<ShardKey>, Failure> {
        let Some(row) = self.rows.placement()? else {
            return Ok(None);
        };
        let secret = read_placement(row.as_deref());
        if secret.is_none() {
            self.damaged("placement", Damaged::column("secret"));
        }
        Ok(secret)
    }

    /// Saves the policy that is shipped where none was ever saved, and the secret by which the shards of keys are chosen from
    /// then on.
    pub(super) fn ship(&mut self) -> Result<Vec<Task>, Failure> {
        if self.rows.highest_revision()? > 0 {
            return Ok(vec![]);
        }
        let placement = ShardKey::new(self.entropy.placement);
        let saved = SavedPolicy {
            revision: Revision(1),
            document: self.rows.shipped()?,
            handovers: Handovers::new(),
            placement: Some(placement),
        };
        let author = Author::named(DEPLOYMENT);
        let action = Action::PolicyShip.name();
        let draft = Draft::new(author, action, "", AuditOutcome::Done, self.now)
            .with_change(Json::Null, json!({ "revision": saved.revision }));
        let puts = vec![
            self.put(&saved, DEPLOYMENT)?,
            Put::Placement(placement.into()),
        ];
        Ok(vec![Task::RecordDue, Recording::task(draft, puts, None)])
    }

    fn put(&self, saved: &SavedPolicy, actor: &str) -> Result<Put, Failure> {
        Ok(Put::Policy {
            revision: saved.revision,
            saved_at: self.now,
            actor: actor.to_owned(),
            document: serde_json::to_string(&saved.document)?,
        })
    }
}

/// A refusal as it is answered, and as the audit log has it.
fn refused(refusal: Refusal, revision: Revision) -> (Saved, Json) {
    match refusal {
        Refusal::Moved { tag } => (
            Saved::Moved { revision, tag },
            json!({ "refused": "moved" }),
        ),
        Refusal::Unknown => (Saved::Unknown, json!({ "refused": "unknown" })),
        Refusal::TooOften { after_ms } => (
            Saved::TooOften { after_ms },
            json!({ "refused": "too often", "after_ms": after_ms }),
        ),
        Refusal::Invalid(Invalid { field, fault }) => {
            let message = fault.to_string();
            let why = json!({ "refused": "invalid", "field": field, "message": message });
            (Saved::Invalid { field, message }, why)
        }
    }
}

/// The refusal of a change by someone who saw another state of the tenant.
fn moved(current: &SavedPolicy, tenant: &str, expected: Option<&str>) -> Option<Refusal> {
    let tag = tenant_tag(&current.document, tenant);
    let moved = expected.is_some_and(|seen| seen != tag);
    moved.then_some(Refusal::Moved { tag: Some(tag) })
}

fn validated(document: PolicyDocument) -> Result<PolicyDocument, Refusal> {
    match work::bounded(&document).and_then(|()| Policy::try_from(&document)) {
        Ok(_) => Ok(document),
        Err(refused) => Err(Refusal::Invalid(refused)),
    }
}

/// One side of a change, as the audit log has it.
fn changed(revision: Revision, values: Map<String, Json>) -> Json {
    json!({ "revision": revision, "values": in_sections(values, CHANGED_BYTES_MAX) })
}

fn regions(documents: &[&PolicyDocument]) -> OrderedSet<String> {
    let named = documents.iter().flat_map(|document| &document.regions);
    named.cloned().collect()
}
