//! The named forms of what operators read and ask.

/// Each form, as in [`super::forms::FORMS`].
pub const OPERATOR_FORMS: &[(&str, &str, &str)] = &[
    (
        "Page",
        "Which part of a list an answer holds.",
        "page: integer, page_size: integer, pages: integer, total: integer",
    ),
    (
        "TenantRow",
        "A tenant in the list.",
        "tenant: string, named: boolean, tier: string?, weight: number, parent: string?, \
         overrides: integer, total: Tally, budgets: {TenantBudget}",
    ),
    (
        "TenantBudget",
        "What a tenant got of the list's budget; `guarantee` is for one window.",
        "guarantee: integer, used: Count, borrowed: Count, denied: Count, denied_units: Count",
    ),
    (
        "Tenants",
        "One page of tenants. `budget` is that of the rows: the one asked for, else the first.",
        "at: integer, policy_revision: integer, ...Page, unreachable: [string], budget: string?, \
         tenants: [TenantRow]",
    ),
    (
        "TenantReply",
        "One tenant; its `ETag` is of `body`.",
        "tenant: string, policy_revision: integer, named: boolean, unknown_weight_max?: number, body: Tenant, \
         effective: Effective?",
    ),
    (
        "RegionReport",
        "What a region's ledger said.",
        "region: string, reachable: boolean, total: Tally",
    ),
    (
        "TenantReport",
        "What a tenant got.",
        "tenant: string, tier: string?, weight: number, total: Tally, budgets: {BudgetReport}, \
         limits: {Tally}, meters: {MeterTally}, billable_units?: Count, guards: {GuardReport}, overload: {Tally}, \
         effective: Effective?, overrides: [Override]",
    ),
    (
        "Fairness",
        "Every tenant seen.",
        "at: integer, policy_revision: integer, enforcing: boolean, regions: [RegionReport], \
         tenants: [TenantReport], page?: Page",
    ),
    (
        "BudgetRow",
        "A budget, with what went through it.",
        "name: string, body: Budget, tenants: integer, total: Tally",
    ),
    (
        "Budgets",
        "Every budget of the policy.",
        "at: integer, policy_revision: integer, unreachable: [string], budgets: [BudgetRow]",
    ),
    (
        "WindowTenant",
        "A tenant in a window.",
        "tenant: string, weight: number, parent?: string, counts_as?: number, entitlement: integer, served: Count, borrowed: Count, \
         denied: Count, reserved?: Count, beyond?: Count, would_deny?: Count",
    ),
    (
        "Window",
        "The fairness record of a window: `granted = admitted + reserved + returned + unaccounted` where it is exact.",
        "budget: string, region?: string, label: integer, ends_at: integer, limit: integer, \
         complete: boolean, granted: Count?, admitted: Count, reserved?: Count, beyond?: Count, \
         returned: Count, unaccounted: Count?, exact: boolean, denied: Count, would_deny?: Count, jain: number?, \
         tenants_seen: integer, weights?: number, tenants: [WindowTenant]",
    ),
    (
        "Windows",
        "The windows that a budget had, newest first.",
        "budget: string, ...Page, unreachable: [string], windows: [Window]",
    ),
    (
        "RegionStatus",
        "A region and whether it answers.",
        "region: string, home: boolean, reachable: boolean, answer_ms: integer?, \
         policy_revision: integer?, ledger_reachable: boolean, last_contact_at: integer?, \
         budgets: [RegionBudget]",
    ),
    (
        "RegionBudget",
        "What a region holds of a budget's open window: `held` it was lent, of which it lent `lent` on to isolates. \
         `own` budgets are the region's alone, and `limit` counts for it alone.",
        "budget: string, own: boolean, window: integer?, ends_at: integer?, limit: integer, \
         held: integer, lent: integer, isolates: integer, outage: boolean",
    ),
    (
        "CoordinatorStatus",
        "The coordinator of a budget, and what of its open window it lent to each region, spent or not. Where `exact` \
         is false it woke in this window: `lent_total` is an upper bound.",
        "budget: string, reachable: boolean, answer_ms: integer?, window: integer?, \
         ends_at: integer?, limit: integer, lent: {integer}, lent_total: integer, free: integer, \
         exact: boolean, tenants: [TenantLent]",
    ),
    (
        "TenantLent",
        "Units that regions have of a tenant, spent or not.",
        "tenant: string, lent: integer",
    ),
    (
        "Regions",
        "The regions of the policy, and the coordinators of its budgets. `unasked` budgets can be asked for by name.",
        "at: integer, policy_revision: integer, here: string, regions: [RegionStatus], \
         coordinators: [CoordinatorStatus], unasked: integer",
    ),
    (
        "AuditRecord",
        "A record; its hash covers the rest, the hash of the record before included.",
        "sequence: integer, previous: string, at: integer, actor: string, token?: string, role: Role?, \
         action: string, target: string, before: any, after: any, why: string?, \
         outcome: 'done' or 'refused', hash: string",
    ),
    (
        "AuditHead",
        "What the log has.",
        "sequence: integer, hash: string, pruned: integer, pruned_hash: string",
    ),
    (
        "Audit",
        "Records of the log.",
        "records: [AuditRecord], damaged: [integer], next: integer?, head: AuditHead",
    ),
    (
        "AuditFault",
        "The first record that was changed.",
        "sequence: integer, what: string",
    ),
    (
        "AuditVerdict",
        "Whether the log is unchanged.",
        "intact: boolean, checked: integer, through: integer, hash: string, fault: AuditFault?, \
         more: boolean, head: AuditHead",
    ),
    (
        "SeriesPoint",
        "What was counted in one interval.",
        "at: integer, ...TenantCounters",
    ),
    (
        "Series",
        "Counters over time; intervals in which nothing was counted are left out.",
        "from: integer, to: integer, step_ms: integer, tenant: string?, unreachable: [string], \
         points: [SeriesPoint]",
    ),
    (
        "DecisionRow",
        "One sampled decision.",
        "region: string, outcome: 'admitted' or 'denied' or 'would_deny', at: integer, tenant?: string, \
         allowed: boolean, binding: string, reason: Reason, would_deny?: boolean, decision?: string",
    ),
    (
        "Decisions",
        "The last sampled decisions, newest first.",
        "at: integer, unreachable: [string], decisions: [DecisionRow]",
    ),
    (
        "RuleKind",
        "What kind of rule decided.",
        "='budget' or 'limit' or 'meter' or 'guard' or 'overload'",
    ),
    (
        "ExplainedDecision",
        "What a decision id says, and whether counters confirm it. `from` and `to` are where to look.",
        "decision: string, at: integer, region: string, reason: Reason, kind: RuleKind, rule: string, \
         in_force: boolean, tenant: string?, from: integer, to: integer, denied_calls: Count?",
    ),
    (
        "Usage",
        "Use of the platform.",
        "coordinator_calls: Count, region_calls: Count, registry_calls: Count, \
         ledger_calls: Count, rows_written: Count",
    ),
    (
        "PerMillion",
        "What a million decisions cost.",
        "object_calls: number, rows_written: number",
    ),
    (
        "RegionCosts",
        "One region's report.",
        "region: string, reachable: boolean, decisions: Count, usage: Usage",
    ),
    (
        "Costs",
        "What the deployment used of the platform, as it was counted.",
        "at: integer, decisions: Count, usage: Usage, per_million: PerMillion?, \
         regions: [RegionCosts]",
    ),
    (
        "ResetRequest",
        "What is put back to its start: a key of a limit, a meter or a guard of a tenant, or a tenant.",
        "limit?: string, key?: string, meter?: string, guard?: string, tenant?: string, \
         why?: string",
    ),
    (
        "ResetReply",
        "What was put back.",
        "at: integer, audit: integer, keys: integer",
    ),
    (
        "TokenRequest",
        "A token to be made.",
        "name: string, role: Role, tenant?: string, prefix?: string, expires_at?: integer",
    ),
    (
        "TokenView",
        "A token, without what is secret about it.",
        "id: string, name: string, role: Role, tenant: string?, prefix: string?, expires_at: integer?, \
         created_at: integer, created_by: string, last_used: integer?",
    ),
    (
        "TokenReply",
        "A token, with its text, this once.",
        "token: string, ...TokenView",
    ),
    (
        "Tokens",
        "One page of tokens.",
        "...Page, tokens: [TokenView]",
    ),
    (
        "SessionRequest",
        "A token in exchange for a cookie.",
        "token: string",
    ),
    (
        "Session",
        "What the holder of a session may do, and until when.",
        "role: Role, name: string, expires_at: integer",
    ),
    (
        "Health",
        "That the Worker runs, and which version of it answers, where the platform tells that.",
        "status: 'ok', version?: Version",
    ),
    (
        "Version",
        "A version of the Worker, as the platform names it: `tag` is what whoever uploaded it called it.",
        "id: string, tag: string",
    ),
    (
        "ReplayRequest",
        "A candidate, and what is played against it: a `trace`, or what was recorded in minutes `from` `to`.",
        "policy: PolicyRequest, trace?: [TraceEntry], from?: integer, to?: integer",
    ),
    (
        "TraceEntry",
        "A request: one of `budget`, `limit` (with its `key`) and `meter`, of a tenant unless it is a limit for all.",
        "at: integer, tenant?: string, budget?: string, limit?: string, meter?: string, key?: string, cost?: integer",
    ),
    (
        "Replay",
        "What either policy would have admitted, as one holder who sees every request. `others` is the sum of the rows \
         that are not listed.",
        "at: integer, present_revision: integer?, entries: integer, from: integer, to: integer, unreachable?: [string], \
         rows_total: integer, rows: [ReplayRow], others?: ReplayTallies",
    ),
    (
        "ReplayTallies",
        "What either policy would have admitted.",
        "present: Tally, candidate: Tally",
    ),
    (
        "ReplayRow",
        "One tenant at one budget, limit or meter.",
        "kind: 'budget' or 'limit' or 'meter', name: string, tenant: string, ...ReplayTallies",
    ),
];
