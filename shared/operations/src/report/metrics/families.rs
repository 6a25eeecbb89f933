//! Every series that a scrape may answer, with its type and meaning.

/// A series: its name, type and meaning.
pub struct Family {
    /// The name.
    pub name: &'static str,
    /// What kind of series.
    pub kind: Kind,
    /// What it says.
    pub help: &'static str,
}

/// The type of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    /// It rises and falls.
    Gauge,
    /// Waits in buckets, with their sum and number.
    Histogram,
}

impl Kind {
    /// Its name in the text format.
    ///
    /// ```
    /// use weir_operations::report::metrics::families::Kind;
    /// assert_eq!(Kind::Histogram.name(), "histogram");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

macro_rules! families {
    ($($constant:ident $name:literal $kind:ident $help:literal;)*) => {
        $(pub(super) const $constant: Family = Family { name: $name, kind: Kind::$kind, help: $help };)*

        /// Every series that a scrape may answer.
        pub const FAMILIES: &[&Family] = &[$(&$constant),*];
    };
}

families! {
    BUILD_INFO "weir_build_info" Gauge "1, with the version of Weir that answered the scrape, and with what the platform calls it: its id and tag, on Cloudflare.";
    REGION_UP "weir_region_up" Gauge "Whether the object of a region answered the scrape.";
    REGION_REVISION "weir_region_policy_revision" Gauge "Revision of the policy that a region applies.";
    REGION_CONTACT "weir_region_last_contact_timestamp_seconds" Gauge "When a region was last heard of by its object or its ledger, in seconds since 1970.";
    LEDGER_UP "weir_ledger_up" Gauge "Whether the ledger of a region answered the scrape.";
    COORDINATOR_UP "weir_coordinator_up" Gauge "Whether the coordinator of a budget answered the scrape.";
    BUDGET_OUTAGE "weir_budget_coordinator_outage" Gauge "Whether the coordinator of a budget left the last question of a region unanswered.";
    BUDGET_LIMIT "weir_budget_limit_units" Gauge "Units of a window, by the policy; with a region where windows are a region's own.";
    BUDGET_WINDOW "weir_budget_window_seconds" Gauge "Length of a window, by the policy.";
    BUDGET_USED "weir_budget_used_units" Gauge "Units of the open window that were used or are reserved, as the ledger has heard: up to five seconds late.";
    BUDGET_LENT "weir_budget_lent_units" Gauge "Units of the open window that a region holds, spent or not.";
    BUDGET_FREE "weir_budget_free_units" Gauge "Units of the open window that the coordinator may still lend.";
    BUDGET_ENTITLED "weir_budget_entitled_units" Gauge "Units a window that a tenant is guaranteed beside those who asked in the last one.";
    BUDGET_ADMITTED_UNITS "weir_budget_admitted_units_total" Counter "Units used of budgets, as they were settled.";
    BUDGET_ADMITTED_CALLS "weir_budget_admitted_calls_total" Counter "Calls that budgets admitted.";
    BUDGET_DENIED_UNITS "weir_budget_denied_units_total" Counter "Units that budgets denied.";
    BUDGET_DENIED_CALLS "weir_budget_denied_calls_total" Counter "Calls that budgets denied.";
    BUDGET_WOULD_DENY_UNITS "weir_budget_would_deny_units_total" Counter "Units that budgets would have denied but for a shadow.";
    BUDGET_WOULD_DENY_CALLS "weir_budget_would_deny_calls_total" Counter "Calls that budgets would have denied but for a shadow.";
    BUDGET_BORROWED "weir_budget_borrowed_units_total" Counter "Units that budgets admitted beyond guarantees.";
    BUDGET_RESERVED "weir_budget_reserved_units" Gauge "Units of budgets that are reserved and not settled yet.";
    LIMIT_UNITS "weir_limit_units" Gauge "Units that a limit admits of a key in its window, by the policy.";
    LIMIT_WINDOW "weir_limit_window_seconds" Gauge "Time that the units of a limit are for, by the policy.";
    LIMIT_ADMITTED_UNITS "weir_limit_admitted_units_total" Counter "Units used of limits, as they were settled.";
    LIMIT_ADMITTED_CALLS "weir_limit_admitted_calls_total" Counter "Calls that limits admitted.";
    LIMIT_DENIED_UNITS "weir_limit_denied_units_total" Counter "Units that limits denied.";
    LIMIT_DENIED_CALLS "weir_limit_denied_calls_total" Counter "Calls that limits denied.";
    LIMIT_WOULD_DENY_UNITS "weir_limit_would_deny_units_total" Counter "Units that limits would have denied but for a shadow.";
    LIMIT_WOULD_DENY_CALLS "weir_limit_would_deny_calls_total" Counter "Calls that limits would have denied but for a shadow.";
    LIMIT_RESERVED "weir_limit_reserved_units" Gauge "Units of limits that are reserved and not settled yet.";
    METER_RATE "weir_meter_rate_units_per_second" Gauge "Units a second of a tenant without numbers of its own, by the policy; none where unlimited.";
    METER_BURST "weir_meter_burst_seconds" Gauge "Seconds of its rate in the full bucket of a meter, by the policy; none where unlimited.";
    METER_ADMITTED_UNITS "weir_meter_admitted_units_total" Counter "Units used of meters, as they were settled.";
    METER_ADMITTED_CALLS "weir_meter_admitted_calls_total" Counter "Calls that meters admitted.";
    METER_SHED_UNITS "weir_meter_shed_units_total" Counter "Units that meters shed.";
    METER_SHED_CALLS "weir_meter_shed_calls_total" Counter "Calls that meters shed.";
    METER_WOULD_DENY_UNITS "weir_meter_would_deny_units_total" Counter "Units that meters would have shed but for a shadow.";
    METER_WOULD_DENY_CALLS "weir_meter_would_deny_calls_total" Counter "Calls that meters would have shed but for a shadow.";
    METER_BILLABLE "weir_meter_billable_units_total" Counter "Units used of meters that the policy bills.";
    METER_RESERVED "weir_meter_reserved_units" Gauge "Units of meters that are reserved and not settled yet.";
    GUARD_CONCURRENCY "weir_guard_concurrency_calls" Gauge "Calls at a time of a tenant without numbers of its own, by the policy; none where unlimited.";
    GUARD_PER_MINUTE "weir_guard_per_minute_calls" Gauge "Calls in a minute of a tenant without numbers of its own, by the policy; none where unlimited.";
    GUARD_ALLOWED "weir_guard_queries_allowed_total" Counter "Calls that guards let through.";
    GUARD_REJECTED "weir_guard_queries_rejected_total" Counter "Calls that guards rejected, by reason.";
    GUARD_WOULD_DENY "weir_guard_queries_would_deny_total" Counter "Calls that guards would have rejected but for a shadow.";
    GUARD_IN_FLIGHT "weir_guard_queries_in_flight" Gauge "Slots of guards that are taken, as was last heard.";
    OVERLOAD_ADMITTED_UNITS "weir_overload_admitted_units_total" Counter "Units that overload resources admitted.";
    OVERLOAD_ADMITTED_CALLS "weir_overload_admitted_calls_total" Counter "Calls that overload resources admitted.";
    OVERLOAD_DENIED_UNITS "weir_overload_denied_units_total" Counter "Units that overload resources denied.";
    OVERLOAD_DENIED_CALLS "weir_overload_denied_calls_total" Counter "Calls that overload resources denied.";
    OVERLOAD_WOULD_DENY_UNITS "weir_overload_would_deny_units_total" Counter "Units that overload resources would have denied but for a shadow.";
    OVERLOAD_WOULD_DENY_CALLS "weir_overload_would_deny_calls_total" Counter "Calls that overload resources would have denied but for a shadow.";
    DECISION_WAIT "weir_decision_wait_seconds" Histogram "How long decisions waited for objects, of those that waited.";
    LEASE_WAIT "weir_lease_wait_seconds" Histogram "How long checks waited for units of a lease, of those that waited.";
    OBJECT_CALLS "weir_object_calls_total" Counter "Calls of objects.";
    OBJECT_CALL_FAILURES "weir_object_call_failures_total" Counter "Calls of objects that failed or came back too late.";
    ROWS_WRITTEN "weir_rows_written_total" Counter "Rows that objects wrote, indexes included.";
    WRITE_FAILURES "weir_row_write_failures_total" Counter "Writes of rows that failed.";
    DAMAGED_ROWS "weir_damaged_rows_total" Counter "Stored rows that could not be read.";
}
