//! Why a limit, a meter, a guard or an overload resource denied a tenant: its numbers, and what was asked for in the
//! interval of the denial.

use weir_shared::policy::limit::algorithm_of;
use weir_shared::wire::amount::AmountBody;
use weir_shared::wire::effective::EffectiveBody;
use weir_shared::wire::metering::RateBody;
use weir_shared::wire::numbers::{EffectiveGuardBody, EffectiveMeterBody};
use weir_shared::wire::policy::{Algorithm, Cadence, DimensionBody, LimitBody};

use super::counted::Interval;
use super::effective_rows::length;
use super::explanation::{Explanation, Step};
use crate::format::{count, weight};

/// A stretch of time in which something was denied, and what was counted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// What was counted.
    pub interval: Interval,
    /// Its length.
    pub step_ms: u64,
}

impl Stretch {
    fn asked_units(&self) -> u128 {
        let seen = &self.interval.seen;
        seen.admitted_units + seen.denied_units
    }

    fn steps(&self, unit: &'static str) -> Vec<Step> {
        let seen = &self.interval.seen;
        let formula = format!(
            "{} admitted + {} denied, in {}",
            count(seen.admitted_units),
            count(seen.denied_units),
            length(self.step_ms)
        );
        let calls = format!(
            "of {} calls",
            count(seen.admitted_calls + seen.denied_calls)
        );
        let asked = Step::fact("Asked for", count(self.asked_units()), unit).from(formula);
        let denied = Step::fact("Denied", count(seen.denied_calls), "calls").from(calls);
        vec![asked, denied]
    }

    /// Whether more was asked for than could pass in this time; what was denied of less came too close together.
    fn exceeds(&self, most_units: f64) -> bool {
        self.asked_units() as f64 > most_units
    }

    /// What flows at a rate in this time.
    fn flows(&self, per_s: f64) -> f64 {
        per_s * self.step_ms as f64 / 1_000.0
    }
}

/// A figure that need not be whole, with as many digits as say something.
fn figure(value: f64) -> String {
    if value >= 1_000.0 {
        count(value.floor() as u128)
    } else {
        weight((value * 1_000.0).round() / 1_000.0)
    }
}

/// How long one unit takes at a rate.
fn one_in(per_s: f64) -> String {
    if per_s <= 0.0 {
        return "never".to_owned();
    }
    let ms = 1_000.0 / per_s;
    if ms < 1.0 {
        "less than 1 ms".to_owned()
    } else {
        length(ms.ceil() as u64)
    }
}

/// The answer for a limit. `effective` has the numbers of a tenant with keys of its own.
pub fn limit(
    name: &str,
    body: &LimitBody,
    effective: Option<&EffectiveBody>,
    stretch: &Stretch,
) -> Explanation {
    let own = effective.and_then(|effective| effective.limits.get(name));
    let number = |field: &str, said: Option<f64>| {
        let own = own.and_then(|numbers| numbers.get(field));
        own.and_then(|valued| valued.value.number()).or(said)
    };
    let of = |units: Option<u64>| units.map(|units| units as f64);
    let decimal = |value: Option<weir_shared::wire::decimal::Decimal>| value.map(|value| value.0);
    let numbers = Numbers {
        limit: number("limit", of(body.limit)).unwrap_or(0.0),
        period_ms: number("period_ms", of(body.period_ms)).unwrap_or(0.0),
        window_ms: number("window_ms", of(body.window_ms)).unwrap_or(0.0),
        burst: number("burst", of(body.burst)),
        capacity: number("capacity", decimal(body.capacity)).unwrap_or(0.0),
        refill_per_sec: number("refill_per_sec", decimal(body.refill_per_sec)).unwrap_or(0.0),
        peak_capacity: number("peak_capacity", decimal(body.peak_capacity)).unwrap_or(0.0),
        peak_per_sec: number("peak_per_sec", decimal(body.peak_per_sec)).unwrap_or(0.0),
        rate_per_sec: number("rate_per_sec", decimal(body.rate_per_sec)).unwrap_or(0.0),
        max_queue_ms: number("max_queue_ms", of(body.max_queue_ms)).unwrap_or(0.0),
    };
    let (rule, mut steps, can_pass) = numbers.of(body, stretch);
    steps.extend(stretch.steps("units"));
    let keys = if own.is_some() {
        "Each key of the tenant is counted separately: one key can be at its bound while others pass."
    } else {
        "Each key is counted separately, and no key belongs to the tenant alone: what others ask under it counts, too."
    };
    Explanation {
        headline: format!("The limit {name} did not permit it: {rule}."),
        steps,
        can_pass,
        notes: vec![keys.to_owned()],
    }
}

struct Numbers {
    limit: f64,
    period_ms: f64,
    window_ms: f64,
    burst: Option<f64>,
    capacity: f64,
    refill_per_sec: f64,
    peak_capacity: f64,
    peak_per_sec: f64,
    rate_per_sec: f64,
    max_queue_ms: f64,
}

impl Numbers {
    /// The rule in words, its numbers, and when a request can pass.
    fn of(&self, body: &LimitBody, stretch: &Stretch) -> (String, Vec<Step>, String) {
        match algorithm_of(body) {
            Some(Algorithm::Gcra) => self.gcra(stretch),
            Some(Algorithm::TokenBucket) => self.bucket(stretch),
            Some(Algorithm::DualTokenBucket) => self.dual_bucket(stretch),
            Some(Algorithm::LeakyBucket) => self.queue(),
            Some(Algorithm::Quota) => self.quota(body),
            Some(algorithm) => self.window(algorithm),
            None => composite(body),
        }
    }

    fn units(&self) -> String {
        figure(self.limit)
    }

    fn gcra(&self, stretch: &Stretch) -> (String, Vec<Step>, String) {
        let per_s = self.limit * 1_000.0 / self.period_ms.max(1.0);
        let burst = self.burst.unwrap_or(self.limit);
        let period = length(self.period_ms as u64);
        let formula = format!("{} units / {period}", self.units());
        let most = format!(
            "{} units at once + {} that flow in",
            figure(burst),
            figure(stretch.flows(per_s))
        );
        let most_units = burst + stretch.flows(per_s);
        let at_once = !stretch.exceeds(most_units);
        let steps = vec![
            Step::fact("Rate", figure(per_s), "units/s").from(formula),
            Step::fact("At once", figure(burst), "units").binds(at_once),
            most_in(stretch, most_units, most),
        ];
        let pass = format!(
            "A unit flows in every {}; a request of n units waits for n of them. {}",
            one_in(per_s),
            too_large(burst)
        );
        (
            format!(
                "{} units in {period}, {} at once",
                self.units(),
                figure(burst)
            ),
            steps,
            pass,
        )
    }

    fn bucket(&self, stretch: &Stretch) -> (String, Vec<Step>, String) {
        let flows = stretch.flows(self.refill_per_sec);
        let most = format!(
            "{} in a full bucket + {} that flow in",
            figure(self.capacity),
            figure(flows)
        );
        let most_units = self.capacity + flows;
        let at_once = !stretch.exceeds(most_units);
        let steps = vec![
            Step::fact("Full bucket", figure(self.capacity), "tokens").binds(at_once),
            Step::fact("Flows in", figure(self.refill_per_sec), "tokens/s"),
            most_in(stretch, most_units, most),
        ];
        let pass = format!(
            "A token flows in every {}; a request of n units waits for n of them. {}",
            one_in(self.refill_per_sec),
            too_large(self.capacity)
        );
        let rule = format!(
            "a bucket of {} tokens into which {} flow a second",
            figure(self.capacity),
            figure(self.refill_per_sec)
        );
        (rule, steps, pass)
    }

    fn dual_bucket(&self, stretch: &Stretch) -> (String, Vec<Step>, String) {
        let (rule, mut steps, _) = self.bucket(stretch);
        let at_peak = self.peak_capacity + stretch.flows(self.peak_per_sec);
        steps.insert(
            2,
            Step::fact("At once", figure(self.peak_capacity), "tokens")
                .binds(!stretch.exceeds(at_peak)),
        );
        steps.insert(
            3,
            Step::fact("Peak rate", figure(self.peak_per_sec), "tokens/s"),
        );
        let pass = format!(
            "While the bucket has tokens, one may be taken every {}; once it is empty, one flows in every {}. {}",
            one_in(self.peak_per_sec),
            one_in(self.refill_per_sec),
            too_large(self.peak_capacity)
        );
        let rule = format!(
            "{rule}, of which {} may be taken at once and {} a second",
            figure(self.peak_capacity),
            figure(self.peak_per_sec)
        );
        (rule, steps, pass)
    }

    fn queue(&self) -> (String, Vec<Step>, String) {
        let wait = length(self.max_queue_ms as u64);
        let steps = vec![
            Step::fact("Leave", figure(self.rate_per_sec), "units/s"),
            Step::fact("Longest wait", wait.clone(), "").binds(true),
        ];
        let pass = format!(
            "A place is free again as soon as the queue is shorter than {wait}; one unit leaves every {}.",
            one_in(self.rate_per_sec)
        );
        let rule = format!(
            "{} units leave a second, and none may wait longer than {wait}",
            figure(self.rate_per_sec)
        );
        (rule, steps, pass)
    }

    fn quota(&self, body: &LimitBody) -> (String, Vec<Step>, String) {
        let period = length(self.period_ms as u64);
        let (each, anew) = match body.cadence {
            Some(Cadence::CalendarMonth) => (
                "each month".to_owned(),
                "on the first day of the next month".to_owned(),
            ),
            Some(Cadence::CalendarWeek) => (
                "each week".to_owned(),
                "when the next week starts".to_owned(),
            ),
            Some(Cadence::CalendarDay) => {
                ("each day".to_owned(), "at the next midnight".to_owned())
            }
            Some(Cadence::Rolling) => (
                format!("in any {period}"),
                format!("as what was used {period} ago no longer counts"),
            ),
            Some(Cadence::Fixed) | None => (
                format!("every {period}"),
                "when the next period starts".to_owned(),
            ),
        };
        let zone = body.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
        let zone = match body.offset_minutes {
            Some(minutes) if minutes != 0 => format!(
                "UTC{}{} min",
                if minutes < 0 { "−" } else { "+" },
                minutes.unsigned_abs()
            ),
            _ => zone,
        };
        let steps = vec![Step::fact(format!("Quota {each}"), self.units(), "units").binds(true)];
        let pass = format!("It resets {anew} ({zone}). {}", too_large(self.limit));
        (format!("{} units {each}", self.units()), steps, pass)
    }

    fn window(&self, algorithm: Algorithm) -> (String, Vec<Step>, String) {
        let window = length(self.window_ms as u64);
        let (rule, pass) = match algorithm {
            Algorithm::FixedWindow => (
                format!("{} units in each window of {window}", self.units()),
                "When the next window starts: windows are aligned to the epoch, UTC.".to_owned(),
            ),
            _ => (
                format!("{} units in any {window}", self.units()),
                format!("As requests become older than {window}, their units are free again."),
            ),
        };
        let steps = vec![Step::fact(format!("In {window}"), self.units(), "units").binds(true)];
        (rule, steps, format!("{pass} {}", too_large(self.limit)))
    }
}

fn most_in(stretch: &Stretch, units: f64, formula: String) -> Step {
    let label = format!("Most in {}", length(stretch.step_ms));
    Step::fact(label, figure(units), "units")
        .from(formula)
        .binds(stretch.exceeds(units))
}

fn too_large(most: f64) -> String {
    format!(
        "One request of more than {} units never passes.",
        figure(most)
    )
}

fn composite(body: &LimitBody) -> (String, Vec<Step>, String) {
    let (word, dimensions) = match (&body.all, &body.any) {
        (Some(all), _) => ("all", all.as_slice()),
        (None, Some(any)) => ("one", any.as_slice()),
        (None, None) => ("all", &[][..]),
    };
    let names = dimensions.iter().map(|dimension| match dimension {
        DimensionBody::Plain(name) => name.clone(),
        DimensionBody::Named(named) => named.limit.clone().unwrap_or_default(),
    });
    let names: Vec<String> = names.collect();
    let steps = names
        .iter()
        .map(|name| Step::fact(format!("Dimension {name}"), "a limit of its own", ""))
        .collect();
    let rule = format!("{word} of {} has to admit", names.join(", "));
    (
        rule,
        steps,
        "As soon as the dimension that denied admits again: see that limit.".to_owned(),
    )
}

/// The answer for a meter.
pub fn meter(name: &str, numbers: &EffectiveMeterBody, stretch: &Stretch) -> Explanation {
    let debt_ms = numbers.max_debt_ms.value;
    let RateBody::PerSec(rate) = numbers.per_sec.value else {
        return Explanation {
            headline: format!("The meter {name} has no bound for this tenant now."),
            steps: stretch.steps("units"),
            can_pass: "Now: nothing bounds it.".to_owned(),
            notes: Vec::new(),
        };
    };
    let capacity = rate.0 * numbers.burst_seconds.value.0;
    let debt = rate.0 * debt_ms as f64 / 1_000.0;
    let flows = stretch.flows(rate.0);
    let burst = format!(
        "{} units/s × {} s",
        figure(rate.0),
        weight(numbers.burst_seconds.value.0)
    );
    let owed = format!("{} units/s × {}", figure(rate.0), length(debt_ms));
    let most = format!(
        "{} full + {} that flow in + {} owed",
        figure(capacity),
        figure(flows),
        figure(debt)
    );
    let most_units = capacity + flows + debt;
    let at_once = !stretch.exceeds(most_units);
    let mut steps = vec![
        Step::fact("Rate", figure(rate.0), "units/s"),
        Step::fact("Full bucket", figure(capacity), "units")
            .from(burst)
            .binds(at_once),
        Step::fact("May owe", figure(debt), "units").from(owed),
        most_in(stretch, most_units, most),
    ];
    steps.extend(stretch.steps("units"));
    Explanation {
        headline: format!(
            "The meter {name} was empty: {} units a second flow in, and {} were asked for in {}.",
            figure(rate.0),
            count(stretch.asked_units()),
            length(stretch.step_ms)
        ),
        steps,
        can_pass: format!(
            "As soon as one unit is there: at most {} after the last batch went into debt. One batch of more than {} \
             units never passes.",
            length(debt_ms),
            figure(capacity + debt)
        ),
        notes: scope_note(numbers.scope == weir_shared::wire::policy::Scope::Region),
    }
}

fn scope_note(regional: bool) -> Vec<String> {
    let note = "It bounds each region separately; the figures are for all regions together.";
    if regional {
        vec![note.to_owned()]
    } else {
        Vec::new()
    }
}

/// A bound in words.
fn amount(amount: AmountBody) -> String {
    amount
        .units()
        .map_or_else(|| "unlimited".to_owned(), |units| count(units.into()))
}

/// The answer for a guard.
pub fn guard(name: &str, numbers: &EffectiveGuardBody, stretch: &Stretch) -> Explanation {
    let seen = &stretch.interval.seen;
    let for_budget = seen.denied_calls - seen.for_want_of_a_slot;
    let slots = amount(numbers.concurrency.value);
    let minute = amount(numbers.per_minute.value);
    let by_slots = seen.for_want_of_a_slot >= for_budget;
    let mut steps = vec![
        Step::fact("At a time", slots.clone(), "calls").binds(by_slots),
        Step::fact("In a minute", minute.clone(), "calls").binds(!by_slots),
        Step::fact("A slot lapses after", length(numbers.lease_ms.value), ""),
        Step::fact(
            "Rejected: no slot free",
            count(seen.for_want_of_a_slot),
            "calls",
        ),
        Step::fact(
            "Rejected: minute used up, or other",
            count(for_budget),
            "calls",
        ),
    ];
    steps.extend(stretch.steps("calls"));
    let headline = if by_slots {
        format!("All {slots} slots of {name} were taken.")
    } else {
        format!("The {minute} calls a minute of {name} were used up.")
    };
    let can_pass = if by_slots {
        format!(
            "When a call is released, or after {} when its lease lapses.",
            length(numbers.lease_ms.value)
        )
    } else {
        match numbers.per_minute.value.units() {
            Some(calls) => format!(
                "A call is free again every {}.",
                one_in(calls as f64 / 60.0)
            ),
            None => "Now: nothing bounds it.".to_owned(),
        }
    };
    Explanation {
        headline,
        steps,
        can_pass,
        notes: scope_note(numbers.scope == weir_shared::wire::policy::Scope::Region),
    }
}

/// The answer for an overload resource.
pub fn overload(name: &str, own_weight: f64, stretch: &Stretch) -> Explanation {
    let mut steps = vec![Step::fact("Its weight", weight(own_weight), "")];
    steps.extend(stretch.steps("units"));
    Explanation {
        headline: format!(
            "{name} reported failures: Weir shed load, and shares what still passes by weight."
        ),
        steps,
        can_pass: "As reports of success come in, the part that is shed shrinks by itself."
            .to_owned(),
        notes: vec!["Whoever asks for more than its share is shed first.".to_owned()],
    }
}

#[cfg(test)]
mod tests;
