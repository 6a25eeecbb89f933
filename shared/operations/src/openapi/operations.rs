//! What each endpoint takes and answers.

use weir_access::endpoint::Endpoint;

/// What an endpoint takes and answers, in forms of [`super::forms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub summary: &'static str,
    /// Parameters of its query, all optional.
    pub query: &'static [(&'static str, &'static str)],
    /// The form of its body.
    pub body: Option<&'static str>,
    /// Whether `If-Match` is needed.
    pub if_match: bool,
    /// Its answer.
    pub answer: Answer,
    /// Statuses of its refusals, beside those of every route that needs a token.
    pub refusals: &'static [u16],
}

/// An answer that is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// JSON of this form.
    Json(u16, &'static str),
    /// Another media type.
    Text(&'static str),
    /// Nothing beside the status.
    Empty(u16),
    /// The protocol is switched to a WebSocket.
    Socket,
}

const NOTHING: Operation = Operation {
    summary: "",
    query: &[],
    body: None,
    if_match: false,
    answer: Answer::Empty(204),
    refusals: &[],
};

/// In which form a list is a file; without it an answer is JSON.
pub const FORMAT: (&str, &str) = ("format", "'csv' or 'jsonl'");

const PAGING: &[(&str, &str)] = &[
    ("page", "integer"),
    ("page_size", "integer"),
    ("sort", "string"),
    ("search", "string"),
];

const fn read(summary: &'static str, form: &'static str) -> Operation {
    Operation {
        summary,
        answer: Answer::Json(200, form),
        refusals: &[503],
        ..NOTHING
    }
}

const fn ask(summary: &'static str, body: &'static str, form: &'static str) -> Operation {
    Operation {
        summary,
        body: Some(body),
        answer: Answer::Json(200, form),
        refusals: &[400, 404, 413, 415],
        ..NOTHING
    }
}

const fn with_query(
    operation: Operation,
    query: &'static [(&'static str, &'static str)],
) -> Operation {
    Operation {
        query,
        refusals: &[400, 404, 503],
        ..operation
    }
}

const fn refusing(operation: Operation, refusals: &'static [u16]) -> Operation {
    Operation {
        refusals,
        ..operation
    }
}

/// What an endpoint takes and answers.
#[must_use]
pub fn operation(endpoint: Endpoint) -> Operation {
    use Endpoint as E;
    const CHANGED: &[u16] = &[400, 404, 409, 412, 413, 415, 428, 503];
    match endpoint {
        E::Check => ask(
            "Decides. A denial is an answer, not an error.",
            "CheckRequest",
            "Decision",
        ),
        E::CheckBatch => ask(
            "Decides many questions, in order.",
            "BatchRequest",
            "BatchReply",
        ),
        E::Reserve => ask(
            "Takes a place in the queue of a shaper.",
            "ReserveRequest",
            "ReserveReply",
        ),
        E::Settle => refusing(
            ask(
                "Reports a reservation's actual cost.",
                "SettleRequest",
                "SettleReply",
            ),
            &[400, 404, 409, 413, 415, 503],
        ),
        E::Report => ask(
            "Reports the outcome of a request to a resource.",
            "ReportRequest",
            "ReportReply",
        ),
        E::AgentContact => refusing(
            ask(
                "Lends units of budgets to an agent, and takes its counters.",
                "AgentContactRequest",
                "AgentContactReply",
            ),
            &[400, 413, 415, 503],
        ),
        E::Authorize => Operation {
            summary: "Decides a request that a proxy has received and describes in header fields.",
            query: &[("deny", "string"), ("unavailable", "string")],
            answer: Answer::Empty(200),
            refusals: &[400, 404, 429, 503],
            ..NOTHING
        },
        E::GuardAcquire => refusing(
            ask("Takes a slot of a guard.", "AcquireRequest", "AcquireReply"),
            &[400, 404, 413, 415, 429, 503],
        ),
        E::GuardRenew => refusing(
            ask("Keeps a slot for longer.", "SlotRequest", "SlotReply"),
            &[400, 404, 413, 415, 503],
        ),
        E::GuardRelease => refusing(
            ask(
                "Releases a slot; repeats change nothing.",
                "SlotRequest",
                "SlotReply",
            ),
            &[400, 404, 413, 415, 503],
        ),
        E::OwnFairness => with_query(
            read("A tenant's own policy and accounting.", "OwnFairness"),
            &[("tenant", "string")],
        ),
        E::Metrics => Operation {
            summary: "Totals for Prometheus.",
            answer: Answer::Text("text/plain"),
            refusals: &[503],
            ..NOTHING
        },
        E::Health => read("Whether the Worker runs.", "Health"),
        E::OpenApi => Operation {
            summary: "This document.",
            answer: Answer::Text("application/json"),
            ..NOTHING
        },
        E::PolicySchema => Operation {
            summary: "The form of a policy as a JSON Schema, by which editors complete and check it.",
            answer: Answer::Text("application/json"),
            ..NOTHING
        },
        E::Console => Operation {
            summary: "The way to the console.",
            answer: Answer::Empty(302),
            ..NOTHING
        },
        E::PolicyRead => read(
            "The policy in force, with its revision as `ETag`.",
            "Policy",
        ),
        E::PolicySave => Operation {
            if_match: true,
            ..refusing(
                ask("Replaces the policy.", "PolicyRequest", "Policy"),
                &[400, 409, 412, 413, 415, 428, 429, 503],
            )
        },
        E::PolicyPreview => refusing(
            ask(
                "Who would gain and who would lose; changes nothing.",
                "PolicyRequest",
                "Preview",
            ),
            &[400, 413, 415, 503],
        ),
        E::Replay => refusing(
            ask(
                "What another policy would have admitted of a trace, or of what was recorded; changes nothing.",
                "ReplayRequest",
                "Replay",
            ),
            &[400, 413, 415, 503],
        ),
        E::TenantsList => with_query(
            read(
                "The tenants that the policy names, and those that were seen.",
                "Tenants",
            ),
            &[
                ("page", "integer"),
                ("page_size", "integer"),
                ("sort", "string"),
                ("search", "string"),
                ("named", "boolean"),
                ("tier", "string"),
                ("budget", "string"),
                FORMAT,
            ],
        ),
        E::TenantRead => refusing(
            read("One tenant, with an `ETag` of its own.", "TenantReply"),
            &[400, 404, 503],
        ),
        E::TenantPatch => Operation {
            if_match: true,
            ..refusing(
                ask(
                    "Changes the fields that the body names.",
                    "TenantPatch",
                    "TenantReply",
                ),
                CHANGED,
            )
        },
        E::TenantDelete => Operation {
            summary: "Takes a tenant out of the policy.",
            if_match: true,
            refusals: &[400, 404, 412, 428, 503],
            ..NOTHING
        },
        E::FairnessRead => with_query(
            read("Who got what.", "Fairness"),
            &[
                ("page", "integer"),
                ("page_size", "integer"),
                ("sort", "string"),
                ("search", "string"),
                ("effective", "boolean"),
                FORMAT,
            ],
        ),
        E::BudgetsList => with_query(read("The budgets of the policy.", "Budgets"), &[]),
        E::BudgetWindows => with_query(
            read("The windows that a budget had.", "Windows"),
            &[
                ("page", "integer"),
                ("page_size", "integer"),
                ("from", "integer"),
                ("to", "integer"),
                FORMAT,
            ],
        ),
        E::RegionsList => with_query(
            read(
                "The regions, and where the units of budgets are.",
                "Regions",
            ),
            &[("budget", "string")],
        ),
        E::AuditList => with_query(
            read("What was changed, by whom and why.", "Audit"),
            &[
                ("before", "integer"),
                ("after", "integer"),
                ("limit", "integer"),
                ("actor", "string"),
                ("action", "string"),
                ("target", "string"),
                ("outcome", "string"),
                ("from", "integer"),
                ("to", "integer"),
            ],
        ),
        E::AuditVerify => with_query(
            read("Whether the audit log is unchanged.", "AuditVerdict"),
            &[],
        ),
        E::AuditExport => Operation {
            summary: "The audit log as a file, one record a line; with `format=csv` for a spreadsheet, filtered.",
            query: &[
                ("after", "integer"),
                ("format", "string"),
                ("actor", "string"),
                ("action", "string"),
                ("target", "string"),
                ("outcome", "string"),
                ("from", "integer"),
                ("to", "integer"),
            ],
            answer: Answer::Text("application/x-ndjson"),
            refusals: &[400, 503],
            ..NOTHING
        },
        E::SeriesRead => with_query(
            read("Counters over time.", "Series"),
            &[
                ("from", "integer"),
                ("to", "integer"),
                ("step_ms", "integer"),
                ("tenant", "string"),
                ("budget", "string"),
                ("limit", "string"),
                ("meter", "string"),
                ("guard", "string"),
                ("overload", "string"),
                ("region", "string"),
                FORMAT,
            ],
        ),
        E::DecisionsRead => with_query(
            read("The last sampled decisions of the regions.", "Decisions"),
            &[
                ("tenant", "string"),
                ("search", "string"),
                ("outcome", "'admitted' or 'denied' or 'would_deny'"),
                ("reason", "Reason"),
                ("binding", "string"),
                ("region", "string"),
                FORMAT,
            ],
        ),
        E::DecisionRead => with_query(
            read(
                "What the id of a denial says, and whether counters confirm it.",
                "ExplainedDecision",
            ),
            &[("tenant", "string")],
        ),
        E::CostsRead => with_query(
            read(
                "What a million decisions cost in calls of objects and rows written.",
                "Costs",
            ),
            &[],
        ),
        E::Live => Operation {
            summary: "What happens, as it happens, over a WebSocket.",
            query: &[
                ("channels", "string"),
                ("region", "string"),
                ("after", "integer"),
                ("lines", "boolean"),
            ],
            answer: Answer::Socket,
            refusals: &[400, 426, 503],
            ..NOTHING
        },
        E::Reset => refusing(
            ask("Resets state.", "ResetRequest", "ResetReply"),
            &[400, 404, 413, 415, 503],
        ),
        E::TokensList => with_query(read("Every token.", "Tokens"), PAGING),
        E::TokenCreate => Operation {
            answer: Answer::Json(201, "TokenReply"),
            ..refusing(
                ask(
                    "Makes a token, shown only once.",
                    "TokenRequest",
                    "TokenReply",
                ),
                &[400, 409, 413, 415, 429, 503],
            )
        },
        E::TokenRevoke => Operation {
            summary: "Revokes a token.",
            refusals: &[400, 404, 503],
            ..NOTHING
        },
        E::SessionRead => refusing(read("Who is logged in.", "Session"), &[404, 503]),
        E::SessionOpen => refusing(
            ask("Logs in.", "SessionRequest", "Session"),
            &[400, 401, 403, 413, 415, 429, 503],
        ),
        E::SessionClose => Operation {
            summary: "Logs out: the session ends everywhere within a second.",
            refusals: &[400, 503],
            ..NOTHING
        },
        E::SessionsRevoke => Operation {
            summary: "Logs everybody out: every session ends everywhere within a second.",
            refusals: &[400, 503],
            ..NOTHING
        },
    }
}
