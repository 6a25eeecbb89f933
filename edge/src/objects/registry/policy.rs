//! Policies: every revision whole, the newest that can be read in force.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};
use weir_shared::audit::Action;
use weir_shared::audit::changes::{changes, in_sections};
use weir_shared::audit::draft::Draft;
use weir_shared::audit::tag::tenant_tag;
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::json;
use weir_shared::limits::{AUDIT_VALUE_BYTES_MAX, JSON_INTEGER_MAX, POLICY_REVISIONS_MAX};
use weir_shared::policy::handover::{Handovers, handovers};
use weir_shared::policy::{Policy, patch, work};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::audit::{Author, Outcome};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::shard_key::ShardKey;
use weir_shared::wire::stored::Damaged;
use worker::js_sys::{self, Reflect};

use super::tokens::random;
use super::{DEPLOYMENT, Registry, parts};
use crate::objects::calls::{DeleteTenant, PatchTenant, Rules, SavePolicy, Saved};
use crate::objects::server::Refused;
use crate::objects::storage::{
    Statement, Value, integer, number, report_damaged, text, wrong_type,
};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS policies \
     (revision INTEGER PRIMARY KEY, saved_at INTEGER, actor TEXT, document TEXT)",
    "CREATE TABLE IF NOT EXISTS handovers (revision INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS placement (id INTEGER PRIMARY KEY, secret TEXT)",
];

/// The policy of a deployment that has never saved one.
const INITIAL: &str = include_str!("../../../../policy.json");

/// Where a deployment's own module puts another, as an object.
const OWN: &str = "WEIR_POLICY";

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

impl Registry {
    pub(super) async fn save(&self, call: SavePolicy) -> Result<Saved, Refused> {
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
        self.settle(current, change).await
    }

    pub(super) async fn patch_tenant(&self, call: PatchTenant) -> Result<Saved, Refused> {
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
        self.settle(current, change).await
    }

    pub(super) async fn delete_tenant(&self, call: DeleteTenant) -> Result<Saved, Refused> {
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
        self.settle(current, change).await
    }

    /// Makes a change or refuses it; either is recorded.
    async fn settle(&self, current: SavedPolicy, change: Change) -> Result<Saved, Refused> {
        let Change {
            author,
            action,
            target,
            outcome,
        } = change;
        let now = self.now()?;
        let draft = |outcome| Draft::new(author.clone(), action.name(), &target, outcome, now);
        let was = json!({ "revision": current.revision });
        let outcome = match self.too_often(action, &draft(Outcome::Done), now)? {
            Some(after_ms) => outcome.and(Err(Refusal::TooOften { after_ms })),
            None => outcome,
        };
        let refusal = match outcome {
            Ok(document) => {
                let draft = draft(Outcome::Done);
                let saved = self.replace(&current, document, draft)?;
                let policy = Some(saved.clone());
                let regions = regions(&[&current.document, &saved.document]);
                let access = None;
                self.push(regions, &Rules { policy, access }).await;
                return Ok(Saved::Done(Box::new(saved)));
            }
            Err(refusal) => refusal,
        };
        let (saved, why) = match refusal {
            Refusal::Moved { tag } => {
                let revision = current.revision;
                (
                    Saved::Moved { revision, tag },
                    json!({ "refused": "moved" }),
                )
            }
            Refusal::Unknown => (Saved::Unknown, json!({ "refused": "unknown" })),
            Refusal::TooOften { after_ms } => (
                Saved::TooOften { after_ms },
                json!({ "refused": "too often", "after_ms": after_ms }),
            ),
            Refusal::Invalid(refused) => {
                let (field, message) = parts(refused);
                let why = json!({ "refused": "invalid", "field": field, "message": message });
                (Saved::Invalid { field, message }, why)
            }
        };
        self.record_refused(draft(Outcome::Refused), was, why)?;
        Ok(saved)
    }

    /// Until the log says what a change was, if it has to say so and would not.
    fn too_often(
        &self,
        action: Action,
        draft: &Draft,
        now: EpochMs,
    ) -> Result<Option<u64>, Refused> {
        if !action.is_always_told() {
            return Ok(None);
        }
        self.in_full_after_ms(draft, now)
    }

    /// Puts another document in force, with its record, and gives up the oldest.
    fn replace(
        &self,
        current: &SavedPolicy,
        document: PolicyDocument,
        draft: Draft,
    ) -> Result<SavedPolicy, Refused> {
        let revision = self.next_revision()?;
        let (old, new) = (
            json::to_value(&current.document)?,
            json::to_value(&document)?,
        );
        let (was, is) = changes(&old, &new);
        let draft = draft.with_change(changed(current.revision, was), changed(revision, is));
        let handovers = self.handovers(current, &document)?;
        let saved = SavedPolicy {
            revision,
            document,
            handovers,
            placement: current.placement,
        };
        let actor = draft.actor().to_owned();
        let oldest = || number(revision.0.saturating_sub(POLICY_REVISIONS_MAX));
        let mut statements = vec![
            self.insert(&saved, &actor)?,
            ("DELETE FROM policies WHERE revision <= ?", vec![oldest()]),
            ("DELETE FROM handovers WHERE revision <= ?", vec![oldest()]),
        ];
        if !saved.handovers.is_empty() {
            let body = serde_json::to_string(&saved.handovers)?;
            statements.push((
                "INSERT INTO handovers (revision, body) VALUES (?, ?)",
                vec![number(revision.0), body.into()],
            ));
        }
        self.record(draft, statements)?;
        Ok(saved)
    }

    /// What the shares of static partitions are held to as `document` takes the place of the policy in force.
    fn handovers(
        &self,
        current: &SavedPolicy,
        document: &PolicyDocument,
    ) -> Result<Handovers, Refused> {
        let refused = |why: Invalid| Refused(why.to_string());
        let policy = |document| Policy::try_from(document).map_err(refused);
        let before = (&policy(&current.document)?, &current.handovers);
        Ok(handovers(before, &policy(document)?, self.now()?))
    }

    /// The policy in force. Where none can be read and `anyway`, the one that was shipped: what is then saved replaces
    /// them all.
    fn current(&self, anyway: bool) -> Result<SavedPolicy, Refused> {
        match self.newest() {
            Err(_) if anyway => Ok(SavedPolicy {
                placement: self.placement()?,
                ..shipped()?
            }),
            newest => newest,
        }
    }

    /// The policy in force, if it is newer than `revision`.
    pub(super) fn policy_beyond(&self, revision: Revision) -> Result<Option<SavedPolicy>, Refused> {
        // Not read whole for everyone who asks: it may have a megabyte.
        if revision.0 > 0 && self.highest()? <= revision.0 {
            return Ok(None);
        }
        let newest = self.newest()?;
        Ok((newest.revision > revision).then_some(newest))
    }

    /// The regions of the policy in force, or of the shipped one. The policy may have a megabyte, and tokens and sessions
    /// come and go without a change of it: it is read once a revision.
    pub(super) fn regions(&self) -> Result<BTreeSet<String>, Refused> {
        let highest = Revision(self.highest()?);
        if let Some(known) = self.with(|memory, _| memory.regions.get(highest).cloned())? {
            return Ok(known);
        }
        let read = regions(&[&self.current(true)?.document]);
        self.with(|memory, _| memory.regions.keep(highest, read.clone()))?;
        Ok(read)
    }

    /// The newest revision that can be read; an empty registry saves the initial policy first. When none can be read
    /// the regions go on with the last policy they saw, until `If-Match: *` saves another.
    fn newest(&self) -> Result<SavedPolicy, Refused> {
        let mut below = JSON_INTEGER_MAX;
        let query = "SELECT policies.revision, document, body FROM policies \
                     LEFT JOIN handovers ON handovers.revision = policies.revision \
                     WHERE policies.revision < ? ORDER BY policies.revision DESC LIMIT 1";
        while let Some(row) = self.database.first(query, vec![number(below)])? {
            match saved(&row) {
                Ok(saved) => {
                    return Ok(SavedPolicy {
                        placement: self.placement()?,
                        ..saved
                    });
                }
                Err(damaged) => report_damaged("policies", &damaged),
            }
            below = integer(row.first()).unwrap_or(0);
        }
        if below == JSON_INTEGER_MAX {
            return self.ship();
        }
        Err(Refused("no saved policy can be read".to_owned()))
    }

    /// The secret by which the shards of keys are chosen. One that cannot be read is no reason to serve nobody: keys then
    /// begin anew in other shards.
    fn placement(&self) -> Result<Option<ShardKey>, Refused> {
        let query = "SELECT secret FROM placement WHERE id = 1";
        let Some(row) = self.database.first(query, vec![])? else {
            return Ok(None);
        };
        let secret = read_placement(row.first());
        if secret.is_none() {
            report_damaged("placement", &wrong_type("secret"));
        }
        Ok(secret)
    }

    /// Saves the initial policy, and the secret by which the shards of keys are chosen from then on.
    fn ship(&self) -> Result<SavedPolicy, Refused> {
        let placement = ShardKey::new(random()?);
        let saved = SavedPolicy {
            revision: Revision(1),
            placement: Some(placement),
            ..shipped()?
        };
        let author = Author::named(DEPLOYMENT);
        let draft = Draft::new(
            author,
            Action::PolicyShip.name(),
            "",
            Outcome::Done,
            self.now()?,
        )
        .with_change(Json::Null, json!({ "revision": saved.revision }));
        let place = (
            "INSERT OR REPLACE INTO placement (id, secret) VALUES (1, ?)",
            vec![String::from(placement).into()],
        );
        self.record(draft, vec![self.insert(&saved, DEPLOYMENT)?, place])?;
        Ok(saved)
    }

    /// One more than the highest number ever given, readable or not.
    fn next_revision(&self) -> Result<Revision, Refused> {
        Ok(Revision(self.highest()? + 1))
    }

    fn highest(&self) -> Result<u64, Refused> {
        let row = self
            .database
            .first("SELECT MAX(revision) FROM policies", vec![])?;
        Ok(row.and_then(|row| integer(row.first())).unwrap_or(0))
    }

    fn insert(&self, saved: &SavedPolicy, actor: &str) -> Result<Statement, Refused> {
        let statement =
            "INSERT INTO policies (revision, saved_at, actor, document) VALUES (?, ?, ?, ?)";
        let values = vec![
            number(saved.revision.0),
            number(self.now()?.0),
            actor.into(),
            serde_json::to_string(&saved.document)?.into(),
        ];
        Ok((statement, values))
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

fn regions(documents: &[&PolicyDocument]) -> BTreeSet<String> {
    let named = documents.iter().flat_map(|document| &document.regions);
    named.cloned().collect()
}

/// A row that is readable and still a valid policy.
fn saved(row: &[Value]) -> Result<SavedPolicy, Damaged> {
    let revision = integer(row.first()).ok_or_else(|| wrong_type("revision"))?;
    let document = text(row.get(1)).ok_or_else(|| wrong_type("document"))?;
    read_policy(document).map(|document| SavedPolicy {
        revision: Revision(revision),
        document,
        handovers: read_handovers(row.get(2)),
        placement: None,
    })
}

/// The stored secret by which the shards of keys are chosen; `None` where there is none, or where it cannot be read.
pub fn read_placement(secret: Option<&Value>) -> Option<ShardKey> {
    ShardKey::try_from(text(secret)?.to_owned()).ok()
}

/// The handovers of a stored policy; none where there are none, or where they cannot be read, which is reported.
pub fn read_handovers(body: Option<&Value>) -> Handovers {
    let Some(body) = text(body) else {
        return Handovers::new();
    };
    json::from_str(body).unwrap_or_else(|error| {
        let message = error.to_string();
        report_damaged("handovers", &Damaged::Form { message });
        Handovers::new()
    })
}

/// A stored document that is readable and still a valid policy.
///
/// # Errors
/// Why it is not.
pub fn read_policy(text: &str) -> Result<PolicyDocument, Damaged> {
    let refused = |refused: Invalid| Damaged::Form {
        message: refused.to_string(),
    };
    let document: PolicyDocument = read_json(text.as_bytes()).map_err(refused)?;
    Policy::try_from(&document).map_err(refused)?;
    Ok(document)
}

/// The policy that the deployment ships, under revision 0: what applies where no saved one was ever seen. It is what the
/// deployment's own module has put at [`OWN`], else that of the build.
///
/// # Errors
/// What is wrong with a policy of the deployment's own; never for that of a build that passed, as the build validates it.
pub fn shipped() -> Result<SavedPolicy, Refused> {
    let own = own_policy();
    let text = own.as_deref().unwrap_or(INITIAL);
    Ok(SavedPolicy {
        revision: Revision(0),
        document: read_json(text.as_bytes())?,
        handovers: Handovers::new(),
        placement: None,
    })
}

/// The policy of the deployment's own module, as text.
fn own_policy() -> Option<String> {
    let own = Reflect::get(&js_sys::global(), &OWN.into()).ok()?;
    let text = own.is_object().then(|| js_sys::JSON::stringify(&own));
    text?.ok()?.as_string()
}
