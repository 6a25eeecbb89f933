//! The registry: policy revisions. A save is one statement; regions are told at once and also ask by themselves.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use weir_shared::invalid::read_json;
use weir_shared::limits::{JSON_INTEGER_MAX, POLICY_REVISIONS_MAX, REFRESH_MS_MAX};
use weir_shared::policy::Policy;
use weir_shared::units::Revision;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::region::SavedPolicy;
use weir_shared::wire::stored::Damaged;
use worker::{Date, DurableObject, Env, Request, Response, State, console_error, durable_object};

use super::binding::{Address, call};
use super::calls::{PushPolicy, ReadPolicy, SavePolicy, Saved};
use super::server::{Arrived, Refused};
use super::storage::{Database, Value, integer, number, report_damaged, text, wrong_type};

const SCHEMA: &[&str] = &["CREATE TABLE IF NOT EXISTS policies \
     (revision INTEGER PRIMARY KEY, saved_at INTEGER, actor TEXT, document TEXT)"];

/// The policy of a deployment that has never saved one.
const INITIAL: &str = include_str!("../../../policy.json");

/// Who is named as the author of the initial policy.
const DEPLOYMENT: &str = "deployment";

/// The registry.
#[durable_object]
pub struct Registry {
    database: Database,
    env: Env,
}

impl DurableObject for Registry {
    fn new(state: State, env: Env) -> Self {
        Self {
            database: Database::open(&state, SCHEMA),
            env,
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        if arrived.is::<ReadPolicy>() {
            arrived.answer(self.read())
        } else if arrived.is::<SavePolicy>() {
            let saved = match arrived.parse() {
                Ok(call) => self.save(call).await,
                Err(refused) => Err(refused),
            };
            arrived.answer(saved)
        } else {
            arrived.unknown()
        }
    }
}

impl Registry {
    /// The newest revision that can be read; an empty registry saves the initial policy first. When none can be read
    /// the regions go on with the last policy they saw, until `If-Match: *` saves another.
    fn read(&self) -> Result<SavedPolicy, Refused> {
        let mut below = JSON_INTEGER_MAX;
        let query = "SELECT revision, document FROM policies WHERE revision < ? \
                     ORDER BY revision DESC LIMIT 1";
        while let Some(row) = self.database.first(query, vec![number(below)])? {
            match saved(&row) {
                Ok(saved) => return Ok(saved),
                Err(damaged) => report_damaged("policies", &damaged),
            }
            below = integer(row.first()).unwrap_or(0);
        }
        if below == JSON_INTEGER_MAX {
            let document: PolicyDocument = read_json(INITIAL.as_bytes())?;
            return self.insert(Revision(1), document, DEPLOYMENT);
        }
        Err(Refused("no saved policy can be read".to_owned()))
    }

    async fn save(&self, call: SavePolicy) -> Result<Saved, Refused> {
        let current = match (self.read(), call.expected) {
            (Ok(current), Some(seen)) if seen != current.revision => {
                return Ok(Saved::Moved(current.revision));
            }
            (Ok(current), _) => current,
            (Err(_), None) => shipped()?,
            (Err(refused), Some(_)) => return Err(refused),
        };
        let revision = self.next_revision()?;
        let saved = self.insert(revision, call.document, &call.actor)?;
        let oldest = number(revision.0.saturating_sub(POLICY_REVISIONS_MAX));
        let prune = "DELETE FROM policies WHERE revision <= ?";
        if let Err(refused) = self.database.run(prune, vec![oldest]) {
            console_error!("prune: {}", refused.0);
        }
        self.push(&current, &saved).await;
        Ok(Saved::Done(revision))
    }

    /// Tells every region of the old and the new policy. One that is not reached asks by itself.
    async fn push(&self, before: &SavedPolicy, saved: &SavedPolicy) {
        let named = before
            .document
            .regions
            .iter()
            .chain(&saved.document.regions);
        let regions: BTreeSet<&String> = named.collect();
        let told = regions.into_iter().map(async |region| {
            let push = PushPolicy {
                region: region.clone(),
                saved: saved.clone(),
            };
            let address = Address::region(region);
            if let Err(error) = call(&self.env, address, &push, REFRESH_MS_MAX).await {
                console_error!("region {region} was not told: {error}");
            }
        });
        join_all(told).await;
    }

    /// One more than the highest number ever given, readable or not.
    fn next_revision(&self) -> Result<Revision, Refused> {
        let row = self
            .database
            .first("SELECT MAX(revision) FROM policies", vec![])?;
        let highest = row.and_then(|row| integer(row.first())).unwrap_or(0);
        Ok(Revision(highest + 1))
    }

    fn insert(
        &self,
        revision: Revision,
        document: PolicyDocument,
        actor: &str,
    ) -> Result<SavedPolicy, Refused> {
        let statement =
            "INSERT INTO policies (revision, saved_at, actor, document) VALUES (?, ?, ?, ?)";
        let values = vec![
            number(revision.0),
            number(Date::now().as_millis()),
            actor.into(),
            serde_json::to_string(&document)?.into(),
        ];
        self.database.run(statement, values)?;
        Ok(SavedPolicy { revision, document })
    }
}

/// A row that is readable and still a valid policy.
fn saved(row: &[Value]) -> Result<SavedPolicy, Damaged> {
    let revision = integer(row.first()).ok_or_else(|| wrong_type("revision"))?;
    let document = text(row.get(1)).ok_or_else(|| wrong_type("document"))?;
    read_policy(document).map(|document| SavedPolicy {
        revision: Revision(revision),
        document,
    })
}

/// A stored document that is readable and still a valid policy.
///
/// # Errors
/// Why it is not.
pub fn read_policy(text: &str) -> Result<PolicyDocument, Damaged> {
    let refused = |refused: weir_shared::invalid::Invalid| Damaged::Form {
        message: refused.to_string(),
    };
    let document: PolicyDocument = read_json(text.as_bytes()).map_err(refused)?;
    Policy::try_from(&document).map_err(refused)?;
    Ok(document)
}

/// The policy that the deployment ships, under revision 0: what applies where no saved one was ever seen.
///
/// # Errors
/// Never for a build that passed, as the build validates it.
pub fn shipped() -> Result<SavedPolicy, Refused> {
    Ok(SavedPolicy {
        revision: Revision(0),
        document: read_json(INITIAL.as_bytes())?,
    })
}
