//! The rows of a registry in memory: what it writes is there after a death, all of a write or none.

use serde_json::json;
use weir_shared::audit::changes::of_tenant;
use weir_shared::limits::TOKEN_USE_MS;
use weir_shared::node::registry::{
    AccessRow, EndedColumns, Failure, HeadRow, PolicyRow, Put, RecordRow, Rows, SealColumns,
    SummaryRow, TokenColumns, Whose,
};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::AuditOutcome;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::registry::ReadAudit;

/// What a registry has written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    pub(super) policies: OrderedMap<u64, PolicyRow>,
    pub(super) placement: Option<Option<String>>,
    pub(super) access: Option<AccessRow>,
    pub(super) tokens: OrderedMap<String, TokenColumns>,
    pub(super) seals: OrderedMap<u64, SealColumns>,
    pub(super) ended: OrderedMap<(String, String), EndedColumns>,
    pub(super) audit: OrderedMap<u64, RecordRow>,
    /// The root of a record's author, where it has one.
    roots: OrderedMap<u64, String>,
    pub(super) summaries: OrderedMap<u64, (SummaryRow, u64)>,
    pub(super) head: Option<HeadRow>,
}

/// A policy with two regions.
pub(super) fn shipped() -> PolicyDocument {
    let document = json!({
        "regions": ["weur", "enam"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "budgets": { "tokens": { "limit": 100, "window_ms": 60_000, "sharing": "first_come", "scope": "global" } },
        "tenants": { "ada": {} },
    });
    serde_json::from_value(document).unwrap()
}

type Read<T> = Result<T, Failure>;

impl Rows for Table {
    fn shipped(&self) -> Read<PolicyDocument> {
        Ok(shipped())
    }

    fn highest_revision(&self) -> Read<u64> {
        Ok(last(&self.policies))
    }

    fn policy_below(&self, below: u64) -> Read<Option<PolicyRow>> {
        Ok(self.policies.range(..below).next_back().map(second))
    }

    fn placement(&self) -> Read<Option<Option<String>>> {
        Ok(self.placement.clone())
    }

    fn access(&self) -> Read<Option<AccessRow>> {
        Ok(self.access.clone())
    }

    fn tokens(&self) -> Read<Vec<TokenColumns>> {
        Ok(self.tokens.values().cloned().collect())
    }

    fn token(&self, id: &str) -> Read<Option<TokenColumns>> {
        Ok(self.tokens.get(id).cloned())
    }

    fn seals(&self, max: usize) -> Read<Vec<SealColumns>> {
        Ok(self.seals.values().rev().take(max).cloned().collect())
    }

    fn ended_sessions(&self, now: EpochMs) -> Read<Vec<EndedColumns>> {
        let open = |row: &&EndedColumns| row.expires_at.is_some_and(|at| at > now.0);
        Ok(self.ended.values().filter(open).cloned().collect())
    }

    fn has_damaged_ended_session(&self) -> Read<bool> {
        let damaged = |row: &EndedColumns| {
            row.token.is_none() || row.id.is_none() || row.expires_at.is_none()
        };
        Ok(self.ended.values().any(damaged))
    }

    fn head(&self) -> Read<Option<HeadRow>> {
        Ok(self.head.clone())
    }

    fn oldest_record(&self) -> Read<u64> {
        Ok(self.audit.keys().next().copied().unwrap_or(0))
    }

    fn newest_record(&self) -> Read<u64> {
        Ok(last(&self.audit))
    }

    fn record(&self, sequence: u64) -> Read<Option<RecordRow>> {
        Ok(self.audit.get(&sequence).cloned())
    }

    fn recorded_at(
        &self,
        whose: Whose<'_>,
        action: &str,
        outcome: AuditOutcome,
        newer: u64,
    ) -> Read<Option<u64>> {
        let of = |sequence: &u64, row: &RecordRow| match whose {
            Whose::Actor(name) => row.actor.as_deref() == Some(name),
            Whose::Root(id) => self.roots.get(sequence).is_some_and(|root| root == id),
        };
        let mut times: Vec<u64> = self
            .audit
            .iter()
            .filter(|(sequence, row)| of(sequence, row))
            .filter(|(_, row)| row.action.as_deref() == Some(action))
            .filter(|(_, row)| row.outcome.as_deref() == Some(outcome.name()))
            .filter_map(|(_, row)| row.at)
            .collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        Ok(times.get(usize::try_from(newer).unwrap()).copied())
    }

    fn summary(&self, name: &str) -> Read<Option<Option<String>>> {
        Ok(self
            .named(name)
            .map(|row| self.summaries[&row].0.body.clone()))
    }

    fn summaries_since(&self, since: EpochMs, max: u64) -> Read<Vec<SummaryRow>> {
        let due = self.summaries.values().filter(|(_, at)| *at <= since.0);
        let mut due: Vec<_> = due.collect();
        due.sort_by_key(|(row, at)| (*at, row.name.clone()));
        Ok(due
            .into_iter()
            .map(|(row, _)| row.clone())
            .take(count(max))
            .collect())
    }

    fn records(&self, find: &ReadAudit, max: u64) -> Read<Vec<RecordRow>> {
        let within = self.audit.range(find.after + 1..find.before);
        let found = within.map(|(_, row)| row).filter(|row| {
            let says = |column: &Option<String>, asked: Option<&str>| match (column, asked) {
                (Some(column), Some(asked)) => column == asked,
                _ => true,
            };
            says(&row.actor, find.actor.as_deref())
                && says(&row.action, find.action.as_deref())
                && (says(&row.target, find.target.as_deref()) || changes_tenant(row, find))
                && says(&row.outcome, find.outcome.map(AuditOutcome::name))
                && row
                    .at
                    .is_none_or(|at| find.from.is_none_or(|from| at >= from))
                && row.at.is_none_or(|at| find.to.is_none_or(|to| at < to))
        });
        let mut found: Vec<_> = found.cloned().collect();
        if find.newest_first {
            found.reverse();
        }
        found.truncate(count(max));
        Ok(found)
    }

    fn records_behind(&self, after: u64, max: u64) -> Read<Vec<RecordRow>> {
        let behind = self.audit.range(after + 1..).map(second);
        Ok(behind.take(count(max)).collect())
    }
}

/// Whether the record tells of a change of the tenant that is asked for.
fn changes_tenant(row: &RecordRow, find: &ReadAudit) -> bool {
    let mut texts = find.target.as_deref().map(of_tenant).into_iter().flatten();
    let body = row.body.as_deref();
    body.is_none_or(|body| texts.any(|text| body.contains(&text)))
}

impl Table {
    /// Writes rows, all of them.
    pub(super) fn write(&mut self, puts: Vec<Put>) {
        for put in puts {
            self.put(put);
        }
    }

    fn named(&self, name: &str) -> Option<u64> {
        let named = |(row, _): &(SummaryRow, u64)| row.name.as_deref() == Some(name);
        let found = self.summaries.iter().find(|(_, kept)| named(kept));
        found.map(|(row, _)| *row)
    }

    fn put(&mut self, put: Put) {
        match put {
            Put::Policy {
                revision, document, ..
            } => {
                let row = PolicyRow {
                    revision: Some(revision.0),
                    document: Some(document),
                    handovers: None,
                };
                assert!(
                    self.policies.insert(revision.0, row).is_none(),
                    "a revision twice"
                );
            }
            Put::DropPolicies { through } => {
                self.policies = self.policies.split_off(&(through + 1))
            }
            Put::Handovers { revision, body } => {
                self.policies.get_mut(&revision.0).unwrap().handovers = Some(body);
            }
            Put::Placement(secret) => self.placement = Some(Some(secret)),
            Put::Token { id, body } => {
                let row = TokenColumns {
                    id: Some(id.clone()),
                    last_used: None,
                    body: Some(body),
                };
                assert!(self.tokens.insert(id, row).is_none(), "an id twice");
            }
            Put::DropToken(id) => {
                self.tokens.remove(&id);
                self.ended.retain(|(token, _), _| *token != id);
            }
            Put::Access { revision, key } => {
                self.access = Some(AccessRow {
                    revision: Some(revision.0),
                    key: Some(key),
                });
            }
            Put::LastUsed(tokens) => {
                for (id, at) in tokens {
                    if let Some(row) = self.tokens.get_mut(&id)
                        && at.0 >= row.last_used.unwrap_or(0) + TOKEN_USE_MS
                    {
                        row.last_used = Some(at.0);
                    }
                }
            }
            Put::Seal {
                version,
                key,
                now,
                until,
                drop_through,
            } => {
                self.seals.retain(|kept, row| {
                    *kept > drop_through && row.until.is_none_or(|until| until > now.0)
                });
                for row in self.seals.values_mut() {
                    row.until = row.until.or(Some(until.0));
                }
                let row = SealColumns {
                    version: Some(version),
                    key: Some(key),
                    until: None,
                };
                self.seals.insert(version, row);
                self.ended.clear();
            }
            Put::Ended(session) => {
                let id = session.id.unwrap_or_default();
                let row = EndedColumns {
                    token: Some(session.token.clone()),
                    id: Some(id.clone()),
                    expires_at: Some(session.expires_at.0),
                };
                self.ended.insert((session.token, id), row);
            }
            Put::DropEndedBy(now) => {
                self.ended
                    .retain(|_, row| row.expires_at.is_some_and(|at| at > now.0));
            }
            Put::DropEndedOf(of) => self.ended.retain(|(token, _), _| *token != of),
            put => self.put_in_log(put),
        }
    }

    fn put_in_log(&mut self, put: Put) {
        match put {
            Put::Record { link, root } => {
                let sequence = link.record.sequence;
                let row = RecordRow {
                    sequence: Some(sequence),
                    at: Some(link.record.at),
                    actor: Some(link.record.actor.clone()),
                    action: Some(link.record.action.clone()),
                    target: Some(link.record.target.clone()),
                    outcome: Some(link.record.outcome.name().to_owned()),
                    hash: Some(link.hash.clone()),
                    body: Some(link.text.clone()),
                };
                assert!(self.audit.insert(sequence, row).is_none(), "a number twice");
                if let Some(root) = root {
                    self.roots.insert(sequence, root);
                }
            }
            Put::DropRecords { through } => {
                self.audit = self.audit.split_off(&(through + 1));
                self.roots = self.roots.split_off(&(through + 1));
            }
            Put::Head(head) => {
                self.head = Some(HeadRow {
                    sequence: Some(head.sequence),
                    hash: Some(head.hash),
                    pruned: Some(head.pruned),
                    pruned_hash: Some(head.pruned_hash),
                });
            }
            Put::Summary { name, since, body } => {
                let row = self
                    .named(&name)
                    .unwrap_or_else(|| last(&self.summaries) + 1);
                let kept = SummaryRow {
                    row: Some(row),
                    name: Some(name),
                    body: Some(body),
                };
                self.summaries.insert(row, (kept, since.0));
            }
            Put::SetSummaryAside { name, aside } => {
                if let Some(row) = self.named(&name) {
                    let (kept, since) = self.summaries.get_mut(&row).unwrap();
                    (kept.name, *since) = (Some(aside), 0);
                }
            }
            Put::DropSummary { row } => {
                self.summaries.remove(&row);
            }
            other => panic!("not of the log: {other:?}"),
        }
    }
}

fn last<T>(rows: &OrderedMap<u64, T>) -> u64 {
    rows.keys().next_back().copied().unwrap_or(0)
}

fn second<T: Clone>((_, row): (&u64, &T)) -> T {
    row.clone()
}

fn count(max: u64) -> usize {
    usize::try_from(max).unwrap()
}
