//! The statements by which the rows of the registry are written.

use weir_shared::limits::TOKEN_USE_MS;
use weir_shared::node::registry::Put;

use crate::objects::storage::{Statement, number};

/// The statements that write a row, or drop rows.
pub(super) fn statements(put: Put) -> Vec<Statement> {
    let one = match put {
        Put::Policy {
            revision,
            saved_at,
            actor,
            document,
        } => (
            "INSERT INTO policies (revision, saved_at, actor, document) VALUES (?, ?, ?, ?)",
            vec![
                number(revision.0),
                number(saved_at.0),
                actor.into(),
                document.into(),
            ],
        ),
        Put::DropPolicies { through } => {
            return vec![
                (
                    "DELETE FROM policies WHERE revision <= ?",
                    vec![number(through)],
                ),
                (
                    "DELETE FROM handovers WHERE revision <= ?",
                    vec![number(through)],
                ),
            ];
        }
        Put::Handovers { revision, body } => (
            "INSERT INTO handovers (revision, body) VALUES (?, ?)",
            vec![number(revision.0), body.into()],
        ),
        Put::Placement(secret) => (
            "INSERT OR REPLACE INTO placement (id, secret) VALUES (1, ?)",
            vec![secret.into()],
        ),
        Put::Token { id, body } => (
            "INSERT INTO tokens (id, body) VALUES (?, ?)",
            vec![id.into(), body.into()],
        ),
        Put::DropToken(id) => {
            return vec![
                ("DELETE FROM tokens WHERE id = ?", vec![id.as_str().into()]),
                (
                    "DELETE FROM ended_sessions WHERE token = ?",
                    vec![id.into()],
                ),
            ];
        }
        Put::Access { revision, key } => (
            "INSERT OR REPLACE INTO access (id, revision, token_key) VALUES (1, ?, ?)",
            vec![number(revision.0), key.into()],
        ),
        Put::LastUsed(tokens) => (
            "UPDATE tokens SET last_used = told.at FROM (SELECT json_extract(value, '$[0]') AS id, \
             json_extract(value, '$[1]') AS at FROM json_each(?)) AS told \
             WHERE tokens.id = told.id AND told.at >= coalesce(tokens.last_used, 0) + ?",
            vec![
                serde_json::json!(tokens).to_string().into(),
                number(TOKEN_USE_MS),
            ],
        ),
        Put::Ended(session) => (
            "INSERT OR REPLACE INTO ended_sessions (token, id, expires_at) VALUES (?, ?, ?)",
            vec![
                session.token.into(),
                // All of a token's are under no id.
                session.id.unwrap_or_default().into(),
                number(session.expires_at.0),
            ],
        ),
        Put::DropEndedBy(now) => (
            "DELETE FROM ended_sessions WHERE expires_at <= ?",
            vec![number(now.0)],
        ),
        Put::DropEndedOf(token) => (
            "DELETE FROM ended_sessions WHERE token = ?",
            vec![token.into()],
        ),
        Put::Seal {
            version,
            key,
            now,
            until,
            drop_through,
        } => {
            return vec![
                (
                    "DELETE FROM seals WHERE until <= ? OR version <= ?",
                    vec![number(now.0), number(drop_through)],
                ),
                (
                    "UPDATE seals SET until = ? WHERE until IS NULL",
                    vec![number(until.0)],
                ),
                (
                    "INSERT INTO seals (version, key) VALUES (?, ?)",
                    vec![number(version), key.into()],
                ),
                ("DELETE FROM ended_sessions", vec![]),
            ];
        }
        Put::Record { link, root } => (
            "INSERT INTO audit (sequence, at, actor, action, target, outcome, hash, body, root) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            vec![
                number(link.record.sequence),
                number(link.record.at),
                link.record.actor.into(),
                link.record.action.into(),
                link.record.target.into(),
                link.record.outcome.name().into(),
                link.hash.into(),
                link.text.into(),
                root.into(),
            ],
        ),
        Put::DropRecords { through } => (
            "DELETE FROM audit WHERE sequence <= ?",
            vec![number(through)],
        ),
        Put::Head(head) => (
            "INSERT OR REPLACE INTO audit_head (id, sequence, hash, pruned, pruned_hash) \
             VALUES (1, ?, ?, ?, ?)",
            vec![
                number(head.sequence),
                head.hash.into(),
                number(head.pruned),
                head.pruned_hash.into(),
            ],
        ),
        Put::Summary { name, since, body } => (
            "INSERT OR REPLACE INTO audit_summaries (name, since, body) VALUES (?, ?, ?)",
            vec![name.into(), number(since.0), body.into()],
        ),
        Put::SetSummaryAside { name, aside } => (
            "UPDATE audit_summaries SET name = ?, since = 0 WHERE name = ?",
            vec![aside.into(), name.into()],
        ),
        Put::DropSummary { row } => (
            "DELETE FROM audit_summaries WHERE rowid = ?",
            vec![number(row)],
        ),
    };
    vec![one]
}
