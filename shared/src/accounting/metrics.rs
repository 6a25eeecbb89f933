//! Counters in the text format of Prometheus, version 0.0.4: what a scrape of `/metrics` answers.
//!
//! Every number comes from the ledgers' totals, which are durable and never fall: units of a reservation are a gauge while
//! it is open, and are counted when it is settled, as it is settled, so that nothing counted has to be taken back. A series that sums over regions is left
//! out while a region does not answer: a gap is not a reset, a smaller number would be taken for one. Label sets are
//! bounded: what ledgers list by name stays listed, all others are one series.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::units::EpochMs;
use crate::wire::accounting::{ANONYMOUS, GuardTally, MeterTally, OTHERS, Tally, TenantCounters};
use crate::wire::series::TotalsReply;

/// How tenants are labelled that are counted together. No tenant can have the name, as it has a control character.
pub const OTHERS_LABEL: &str = OTHERS;

/// How requests without a tenant are labelled.
pub const ANONYMOUS_LABEL: &str = ANONYMOUS;

/// A series: its name, type and meaning.
pub struct Family {
    /// The name.
    pub name: &'static str,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// What it says.
    pub help: &'static str,
}

macro_rules! families {
    ($($constant:ident $name:literal $kind:literal $help:literal;)*) => {
        $(const $constant: Family = Family { name: $name, kind: $kind, help: $help };)*

        /// Every series that a scrape may answer.
        pub const FAMILIES: &[&Family] = &[$(&$constant),*];
    };
}

families! {
    UP "weir_ledger_up" "gauge" "Whether the ledger of a region answered.";
    ADMITTED "weir_fairness_admitted_units_total" "counter" "Units used of meters, as they were settled.";
    BILLABLE "weir_billable_units_total" "counter" "Units used of meters that the policy bills.";
    SHED "weir_fairness_shed_units_total" "counter" "Units that meters shed.";
    ADMITTED_CALLS "weir_fairness_admitted_calls_total" "counter" "Calls that meters admitted.";
    SHED_CALLS "weir_fairness_shed_calls_total" "counter" "Calls that meters shed.";
    ALLOWED "weir_fairness_queries_allowed_total" "counter" "Calls that guards let through.";
    REJECTED "weir_fairness_queries_rejected_total" "counter" "Calls that guards rejected, by reason.";
    IN_FLIGHT "weir_fairness_queries_in_flight" "gauge" "Slots of guards that are taken, as was last heard.";
    RESERVED "weir_fairness_reserved_units" "gauge" "Units of meters that are reserved and not settled yet.";
    WOULD_DENY "weir_fairness_would_deny_units_total" "counter" "Units that meters would have shed but for a shadow.";
    WOULD_DENY_CALLS "weir_fairness_would_deny_calls_total" "counter" "Calls that meters would have shed but for a shadow.";
    WOULD_REJECT "weir_fairness_queries_would_deny_total" "counter" "Calls that guards would have rejected but for a shadow.";
    BUDGET_ADMITTED_UNITS "weir_budget_admitted_units_total" "counter" "Units used of budgets, as they were settled.";
    BUDGET_RESERVED "weir_budget_reserved_units" "gauge" "Units of budgets that are reserved and not settled yet.";
    BUDGET_WOULD_DENY_UNITS "weir_budget_would_deny_units_total" "counter" "Units that budgets would have denied but for a shadow.";
    BUDGET_WOULD_DENY_CALLS "weir_budget_would_deny_calls_total" "counter" "Calls that budgets would have denied but for a shadow.";
    BUDGET_ADMITTED_CALLS "weir_budget_admitted_calls_total" "counter" "Calls that budgets admitted.";
    BUDGET_DENIED_UNITS "weir_budget_denied_units_total" "counter" "Units that budgets denied.";
    BUDGET_DENIED_CALLS "weir_budget_denied_calls_total" "counter" "Calls that budgets denied.";
    BUDGET_BORROWED "weir_budget_borrowed_units_total" "counter" "Units that budgets admitted beyond guarantees.";
    LIMIT_ADMITTED_UNITS "weir_limit_admitted_units_total" "counter" "Units used of limits, as they were settled.";
    LIMIT_RESERVED "weir_limit_reserved_units" "gauge" "Units of limits that are reserved and not settled yet.";
    LIMIT_WOULD_DENY_UNITS "weir_limit_would_deny_units_total" "counter" "Units that limits would have denied but for a shadow.";
    LIMIT_WOULD_DENY_CALLS "weir_limit_would_deny_calls_total" "counter" "Calls that limits would have denied but for a shadow.";
    LIMIT_ADMITTED_CALLS "weir_limit_admitted_calls_total" "counter" "Calls that limits admitted.";
    LIMIT_DENIED_UNITS "weir_limit_denied_units_total" "counter" "Units that limits denied.";
    LIMIT_DENIED_CALLS "weir_limit_denied_calls_total" "counter" "Calls that limits denied.";
    OVERLOAD_ADMITTED_UNITS "weir_overload_admitted_units_total" "counter" "Units that overload resources admitted.";
    OVERLOAD_ADMITTED_CALLS "weir_overload_admitted_calls_total" "counter" "Calls that overload resources admitted.";
    OVERLOAD_DENIED_UNITS "weir_overload_denied_units_total" "counter" "Units that overload resources denied.";
    OVERLOAD_DENIED_CALLS "weir_overload_denied_calls_total" "counter" "Calls that overload resources denied.";
    OVERLOAD_WOULD_DENY_UNITS "weir_overload_would_deny_units_total" "counter" "Units that overload resources would have denied but for a shadow.";
    OVERLOAD_WOULD_DENY_CALLS "weir_overload_would_deny_calls_total" "counter" "Calls that overload resources would have denied but for a shadow.";
}

/// The text, of what the ledgers of all regions said; `None` for one that did not answer. `regional`: whether a guard's
/// slots are a region's own, so that those of the regions add up; `billed`: whether a meter is.
///
/// ```
/// use weir_shared::accounting::metrics::text;
/// use weir_shared::units::EpochMs;
/// use weir_shared::wire::series::TotalsReply;
/// let text = text(&[("weur".to_owned(), Some(TotalsReply::default()))], |_| false, |_| true, EpochMs(0));
/// assert!(text.contains("# TYPE weir_ledger_up gauge\nweir_ledger_up{region=\"weur\"} 1\n"));
/// ```
#[must_use]
pub fn text(
    regions: &[(String, Option<TotalsReply>)],
    regional: impl Fn(&str) -> bool,
    billed: impl Fn(&str) -> bool,
    now: EpochMs,
) -> String {
    let mut page = Page::default();
    for (region, totals) in regions {
        page.set(&UP, &[("region", region)], u128::from(totals.is_some()));
    }
    let whole = regions.iter().all(|(_, totals)| totals.is_some());
    let mut slots: BTreeMap<(String, String), GuardTally> = BTreeMap::new();
    for (region, totals) in regions {
        for (name, tenant) in totals.iter().flat_map(|totals| &totals.counters) {
            let label = label(name, tenant);
            page.regional(region, label, tenant);
            if whole {
                page.summed(label, tenant);
                let units = tenant.billable_units(&billed);
                page.add(&BILLABLE, &[("tenant_id", label)], units.0);
                for (guard, tally) in &tenant.guards {
                    if regional(guard) {
                        let taken = tally.in_flight.slots_at(now);
                        page.add(&IN_FLIGHT, &[("tenant_id", label)], taken.into());
                    } else {
                        // One place counts the slots for all regions: its newest word is the whole.
                        let key = (name.clone(), guard.clone());
                        slots
                            .entry(key)
                            .or_default()
                            .in_flight
                            .hear(tally.in_flight);
                    }
                }
            }
        }
    }
    for ((name, _), tally) in &slots {
        let listed = |totals: &TotalsReply| {
            let tenant = totals.counters.get(name);
            tenant.is_some_and(|tenant| tenant.listed)
        };
        let listed = regions
            .iter()
            .filter_map(|(_, totals)| totals.as_ref())
            .any(listed);
        let label = if listed { name.as_str() } else { OTHERS_LABEL };
        page.add(
            &IN_FLIGHT,
            &[("tenant_id", label)],
            tally.in_flight.slots_at(now).into(),
        );
    }
    page.text()
}

fn label<'a>(name: &'a str, tenant: &TenantCounters) -> &'a str {
    match name {
        ANONYMOUS => ANONYMOUS_LABEL,
        OTHERS => OTHERS_LABEL,
        _ if tenant.listed => name,
        _ => OTHERS_LABEL,
    }
}

/// Samples by series and labels.
#[derive(Default)]
struct Page {
    samples: BTreeMap<&'static str, BTreeMap<String, u128>>,
}

impl Page {
    fn set(&mut self, family: &Family, labels: &[(&str, &str)], value: u128) {
        let family = self.samples.entry(family.name).or_default();
        family.insert(labels_text(labels), value);
    }

    fn add(&mut self, family: &Family, labels: &[(&str, &str)], value: u128) {
        let family = self.samples.entry(family.name).or_default();
        let sample = family.entry(labels_text(labels)).or_default();
        *sample = sample.saturating_add(value);
    }

    /// Budgets, limits and overload resources, by region.
    fn regional(&mut self, region: &str, tenant: &str, counters: &TenantCounters) {
        for (name, tally) in &counters.budgets {
            let labels = [
                ("region", region),
                ("tenant_id", tenant),
                ("budget", name.as_str()),
            ];
            self.tally(&labels, tally, &BUDGETS);
            self.add(&BUDGET_RESERVED, &labels, tally.reserved_units.0);
            self.add(&BUDGET_BORROWED, &labels, tally.borrowed_units.0);
        }
        for (name, tally) in &counters.limits {
            let labels = [
                ("region", region),
                ("tenant_id", tenant),
                ("limit", name.as_str()),
            ];
            self.tally(&labels, tally, &LIMITS);
            self.add(&LIMIT_RESERVED, &labels, tally.reserved_units.0);
        }
        for (name, tally) in &counters.overload {
            let labels = [
                ("region", region),
                ("tenant_id", tenant),
                ("resource", name.as_str()),
            ];
            self.tally(&labels, tally, &OVERLOAD);
        }
    }

    fn tally(&mut self, labels: &[(&str, &str)], tally: &Tally, families: &[&'static Family; 6]) {
        let values = [
            tally.admitted_units,
            tally.admitted_calls,
            tally.denied_units,
            tally.denied_calls,
            tally.would_deny_units,
            tally.would_deny_calls,
        ];
        for (family, value) in families.iter().zip(values) {
            self.add(family, labels, value.0);
        }
    }

    /// Meters and guards, over all regions.
    fn summed(&mut self, tenant: &str, counters: &TenantCounters) {
        for (name, tally) in &counters.meters {
            self.meter(&[("tenant_id", tenant), ("meter", name.as_str())], tally);
        }
        for tally in counters.guards.values() {
            self.add(&ALLOWED, &[("tenant_id", tenant)], tally.allowed.0);
            self.add(&WOULD_REJECT, &[("tenant_id", tenant)], tally.would_deny.0);
            let reasons = [
                ("concurrency", tally.rejected_concurrency),
                ("budget", tally.rejected_budget),
                ("other", tally.rejected_other),
            ];
            for (reason, count) in reasons {
                self.add(
                    &REJECTED,
                    &[("tenant_id", tenant), ("reason", reason)],
                    count.0,
                );
            }
        }
    }

    fn meter(&mut self, labels: &[(&str, &str)], tally: &MeterTally) {
        self.add(&ADMITTED, labels, tally.admitted_units.0);
        self.add(&SHED, labels, tally.shed_units.0);
        self.add(&ADMITTED_CALLS, labels, tally.admitted_calls.0);
        self.add(&SHED_CALLS, labels, tally.shed_calls.0);
        self.add(&RESERVED, labels, tally.reserved_units.0);
        self.add(&WOULD_DENY, labels, tally.would_deny_units.0);
        self.add(&WOULD_DENY_CALLS, labels, tally.would_deny_calls.0);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for family in FAMILIES {
            let Some(samples) = self.samples.get(family.name) else {
                continue;
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {} {}", family.name, family.help);
            let _ = writeln!(text, "# TYPE {} {}", family.name, family.kind);
            for (labels, value) in samples {
                let _ = writeln!(text, "{}{{{labels}}} {value}", family.name);
            }
        }
        text
    }
}

const BUDGETS: [&Family; 6] = [
    &BUDGET_ADMITTED_UNITS,
    &BUDGET_ADMITTED_CALLS,
    &BUDGET_DENIED_UNITS,
    &BUDGET_DENIED_CALLS,
    &BUDGET_WOULD_DENY_UNITS,
    &BUDGET_WOULD_DENY_CALLS,
];

const LIMITS: [&Family; 6] = [
    &LIMIT_ADMITTED_UNITS,
    &LIMIT_ADMITTED_CALLS,
    &LIMIT_DENIED_UNITS,
    &LIMIT_DENIED_CALLS,
    &LIMIT_WOULD_DENY_UNITS,
    &LIMIT_WOULD_DENY_CALLS,
];

const OVERLOAD: [&Family; 6] = [
    &OVERLOAD_ADMITTED_UNITS,
    &OVERLOAD_ADMITTED_CALLS,
    &OVERLOAD_DENIED_UNITS,
    &OVERLOAD_DENIED_CALLS,
    &OVERLOAD_WOULD_DENY_UNITS,
    &OVERLOAD_WOULD_DENY_CALLS,
];

fn labels_text(labels: &[(&str, &str)]) -> String {
    let labels = labels.iter();
    let labels: Vec<_> = labels
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    labels.join(",")
}

/// A label's value: backslash, quote and line feed are escaped.
///
/// ```
/// use weir_shared::accounting::metrics::escaped;
/// assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
/// ```
#[must_use]
pub fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            _ => text.push(c),
        }
    }
    text
}
