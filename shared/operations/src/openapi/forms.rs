//! The named forms of the interface. The end-to-end tests hold real answers against them.

use weir_wire::changes;
use weir_wire::descriptor::{DescriptorBody, DescriptorEntryBody};
use weir_wire::metering::{GuardBody, MeterBody};
use weir_wire::numbers::{
    BudgetOverrideBody, EffectiveBudgetBody, EffectiveGuardBody, EffectiveMeterBody,
    GuardOverrideBody, LimitOverrideBody, MeterOverrideBody,
};
use weir_wire::overrides::OverrideBody;
use weir_wire::policy::{
    BudgetBody, LimitBody, NamedDimensionBody, PolicyDocument, TierBody, TierRuleBody,
};
use weir_wire::tenant::{TenantBody, TenantPatch};

/// Each form with what it is and its fields; a form that is no object begins with `=`.
pub const FORMS: &[(&str, &str, &str)] = &[
    (
        "Problem",
        "Every error (RFC 9457). `field` is a JSON pointer to the value at fault.",
        "type: string, title: string, status: integer, detail: string, field?: string, \
         retry_after_ms?: integer, decision?: string",
    ),
    (
        "Count",
        "A count of units or calls: a string above 2^53.",
        "=integer or string",
    ),
    ("Amount", "Units, or no bound.", "=integer or 'unlimited'"),
    (
        "Scope",
        "Where state is kept.",
        "='isolate' or 'region' or 'global'",
    ),
    (
        "OnUnavailable",
        "The answer when a holder is unreachable.",
        "='deny' or 'allow'",
    ),
    (
        "Role",
        "What a caller may do.",
        "='agent' or 'service' or 'tenant' or 'viewer' or 'editor' or 'admin'",
    ),
    // Decisions.
    (
        "CheckItem",
        "One check.",
        "budget?: string, limit?: string, key?: string, keys?: {string}, meter?: string, \
         meters?: {integer}, guard?: string, overload?: string, cost?: integer",
    ),
    (
        "CheckRequest",
        "The checks: one at the top, or several in `checks`, all or nothing.",
        "tenant?: string, ...CheckItem, checks?: [CheckItem], require?: 'all', reserve?: boolean",
    ),
    (
        "Decision",
        "A decision. Times are epoch milliseconds; `retry_after_ms` is null for `never` alone.",
        "allowed: boolean, limit: integer, remaining: integer, reset_at: integer, \
         retry_after_ms: integer?, binding: string, reason: Reason, region: string, \
         window: integer?, policy_revision: integer, decision?: string, reservation?: string, slot?: string, \
         expires_at?: integer",
    ),
    (
        "Reason",
        "Why a decision came out as it did.",
        "='admitted' or 'over_share' or 'cap_reached' or 'limit_exceeded' or 'concurrency' or \
         'overloaded' or 'unavailable' or 'never'",
    ),
    (
        "BatchRequest",
        "Questions, each decided as if it had come alone.",
        "requests: [CheckRequest]",
    ),
    (
        "BatchReply",
        "One decision for each question, in order.",
        "decisions: [Decision]",
    ),
    (
        "ReserveRequest",
        "Asks for a place in the queue of a shaper.",
        "tenant?: string, limit: string, key?: string, cost?: integer",
    ),
    (
        "ReserveReply",
        "The place, or why there is none.",
        "accepted: boolean, delay_ms: integer, retry_after_ms: integer?, decision?: string",
    ),
    (
        "SettleRequest",
        "A reservation's actual cost; 0 releases it.",
        "reservation: string, actual: integer",
    ),
    (
        "SettleReply",
        "What was settled, in units.",
        "reserved: integer, actual: integer, refunded: integer, debt: integer",
    ),
    (
        "ReportRequest",
        "The outcome of a request to an overload resource.",
        "resource: string, tenant: string, outcome: 'success' or 'failure'",
    ),
    (
        "ReportReply",
        "The outcome counts; always true.",
        "reported: boolean",
    ),
    ("AcquireRequest", "Asks for a slot.", "tenant?: string"),
    (
        "AcquireReply",
        "A slot.",
        "allowed: boolean, slot: string, expires_at: integer",
    ),
    ("SlotRequest", "Names a slot.", "slot: string"),
    (
        "SlotReply",
        "The slot after that.",
        "held: boolean, expires_at: integer?",
    ),
    (
        "AgentContactRequest",
        "What an agent holds, wants and has counted, in the form of Weir's own parts: see `wire::agent`.",
        "v: integer, agent: integer, region?: string?, revision: integer, exchanges: [any], frame?: any",
    ),
    (
        "AgentContactReply",
        "Units for the agent, and the policy if the agent's is older.",
        "region: string, policy?: any, exchanges: [any], frame?: any, next_contact_ms: integer",
    ),
    // Counters.
    (
        "Tally",
        "What a budget, a limit or an overload resource admitted (what is reserved, when it is settled) and denied.",
        "admitted_calls: Count, admitted_units: Count, denied_calls: Count, denied_units: Count, \
         borrowed_units?: Count, would_deny_calls?: Count, would_deny_units?: Count, reserved_units?: Count",
    ),
    (
        "MeterTally",
        "What a meter let through and shed.",
        "admitted_calls: Count, admitted_units: Count, shed_calls: Count, shed_units: Count, \
         would_deny_calls?: Count, would_deny_units?: Count, reserved_units?: Count",
    ),
    (
        "GuardReport",
        "What a guard let through and rejected.",
        "allowed: Count, rejected_concurrency: Count, rejected_budget: Count, \
         rejected_other: Count, would_deny?: Count, in_flight: integer",
    ),
    (
        "GuardTally",
        "What a guard let through and rejected in an interval.",
        "allowed: Count, rejected_concurrency: Count, rejected_budget: Count, \
         rejected_other?: Count, would_deny?: Count, in_flight: InFlight",
    ),
    (
        "InFlight",
        "Slots taken at an instant, until their last lease lapses.",
        "slots: integer, at: integer, until: integer",
    ),
    (
        "TenantCounters",
        "What was counted, by name.",
        "budgets?: {Tally}, limits?: {Tally}, meters?: {MeterTally}, guards?: {GuardTally}, \
         overload?: {Tally}, known?: boolean",
    ),
    (
        "BudgetReport",
        "What a tenant got of a budget. `guarantee` is units a window, were all that were seen to ask at once.",
        "weight: number, counts_as?: number, guarantee: integer, used: Count, borrowed: Count, denied: Count, \
         reserved?: Count, would_deny?: Count, total: Tally",
    ),
    // What applies to a tenant.
    (
        "Origin",
        "Where a value is set.",
        "='override' or 'tenant' or 'tier' or 'policy' or 'default'",
    ),
    (
        "Valued",
        "A value, where the policy sets it, and until when.",
        "value: any, origin: Origin, from: string?, until: integer?",
    ),
    (
        "EffectiveMeter",
        "A meter as it applies.",
        EffectiveMeterBody::SCHEMA,
    ),
    (
        "EffectiveGuard",
        "A guard as it applies.",
        EffectiveGuardBody::SCHEMA,
    ),
    (
        "EffectiveBudget",
        "A claim to a budget as it applies.",
        EffectiveBudgetBody::SCHEMA,
    ),
    (
        "Effective",
        "The effective policy of a tenant at an instant.",
        "tenant: string, at: integer, next_change_at: integer?, known: boolean, tier: Valued, \
         weight: Valued, parent: string?, meters: {EffectiveMeter}, guards: {EffectiveGuard}, \
         limits: {{Valued}}, budgets: {EffectiveBudget}, overload: {EffectiveResource}",
    ),
    (
        "OwnFairness",
        "A tenant's own view; only `enforcing`, false, if nothing is enforced.",
        "enforcing: boolean, tenant?: string, at?: integer, policy_revision?: integer, \
         policy?: Effective, ingest?: {MeterTally}, queries?: GuardReport, guards?: {GuardReport}, \
         budgets?: {BudgetReport}, limits?: {Tally}, overload?: {Tally}, \
         unreachable?: [string]",
    ),
    // The policy.
    (
        "Override",
        "Changes for one tenant, from a start to an end.",
        OverrideBody::SCHEMA,
    ),
    (
        "Changes",
        "Numbers that differ from the policy's; each absent inner field is as beneath.",
        changes::SCHEMA,
    ),
    (
        "Tier",
        "A tier: its tenants' weight, and other values that differ for them.",
        TierBody::SCHEMA,
    ),
    (
        "MeterOverride",
        "Numbers of a meter.",
        MeterOverrideBody::SCHEMA,
    ),
    (
        "LimitOverride",
        "Numbers of a limit.",
        LimitOverrideBody::SCHEMA,
    ),
    (
        "GuardOverride",
        "Numbers of a guard.",
        GuardOverrideBody::SCHEMA,
    ),
    (
        "BudgetOverride",
        "A claim to a budget.",
        BudgetOverrideBody::SCHEMA,
    ),
    (
        "Tenant",
        "What the policy says of a tenant by its name.",
        TenantBody::SCHEMA,
    ),
    (
        "TenantPatch",
        "The fields that change; null removes the tenant's own value.",
        TenantPatch::SCHEMA,
    ),
    ("Budget", "A budget of the policy.", BudgetBody::SCHEMA),
    (
        "Cadence",
        "When a quota starts anew.",
        "='calendar_month' or 'calendar_week' or 'calendar_day' or 'fixed' or 'rolling'",
    ),
    (
        "Sharing",
        "How a budget is shared.",
        "='weighted_fair_escrow' or 'fair_share' or 'weighted_fair_share' or 'first_come' or \
         'static_partition'",
    ),
    (
        "TierRule",
        "The tier of tenants whose name begins with a prefix.",
        TierRuleBody::SCHEMA,
    ),
    (
        "Limit",
        "A limit of the policy: an algorithm with its numbers, or others combined.",
        LimitBody::SCHEMA,
    ),
    (
        "Dimension",
        "One limit of those combined: its name, or more of it.",
        "=string or NamedDimension",
    ),
    (
        "NamedDimension",
        "A limit under a name of its own, or with its cost.",
        NamedDimensionBody::SCHEMA,
    ),
    ("Meter", "A meter of the policy.", MeterBody::SCHEMA),
    ("Guard", "A guard of the policy.", GuardBody::SCHEMA),
    (
        "Descriptor",
        "What a descriptor of Envoy's rate limit service charges.",
        DescriptorBody::SCHEMA,
    ),
    (
        "DescriptorEntry",
        "An entry of a descriptor; any value if none is given.",
        DescriptorEntryBody::SCHEMA,
    ),
    (
        "Policy",
        "The policy document. Every key at the top is answered, but `descriptors` without any.",
        "...PolicyRequest!, descriptors?: {[Descriptor]}",
    ),
    (
        "PolicyRequest",
        "A policy document to save or preview; absent fields have defaults.",
        PolicyDocument::SCHEMA,
    ),
    (
        "Preview",
        "Who gains and who loses by a candidate, over recorded windows and minutes.",
        "at: integer, windows: integer, windows_left_out?: integer, intervals: integer, \
         spans?: integer, interval_ms?: integer, tenants_left_out?: integer, gaining: integer, losing: integer, gains: [string], \
         loses: [string], rows_total: integer, rows: [PreviewRow], claims?: [PreviewClaim]",
    ),
    (
        "Claimed",
        "A tenant's claim on a budget, among all that asked for it in recorded windows.",
        "weight: number, counts_as?: number, guarantee: integer",
    ),
    (
        "PreviewClaim",
        "What a tenant claims of a budget by the present policy and by the candidate.",
        "budget: string, tenant: string, present: Claimed, candidate: Claimed",
    ),
    (
        "PreviewRow",
        "One tenant at one budget, meter, guard, limit or overload resource.",
        "kind: 'budget' or 'meter' or 'guard' or 'limit' or 'overload', name: string, tenant: string, demand: Count, \
         served: Count, present: Count, candidate: Count",
    ),
];
