//! The text of a scrape: samples by series and labels.

use std::fmt::Write;

use weir_core::limits::WAIT_BOUNDS_MS;
use weir_core::ordered::OrderedMap;
use weir_wire::telemetry::Waits;

use super::families::{FAMILIES, Family, Kind};

/// Samples by series and labels.
#[derive(Default)]
pub(super) struct Page {
    samples: OrderedMap<&'static str, OrderedMap<String, Sample>>,
}

/// What one series of labels says.
enum Sample {
    /// A number.
    Whole(u128),
    /// Thousandths, such as milliseconds of what is told in seconds.
    Thousandths(u128),
    /// Waits.
    Waits(Waits),
}

impl Page {
    pub(super) fn set(&mut self, family: &Family, labels: &[(&str, &str)], value: u128) {
        self.put(family, labels, Sample::Whole(value));
    }

    pub(super) fn set_thousandths(
        &mut self,
        family: &Family,
        labels: &[(&str, &str)],
        thousandths: u64,
    ) {
        self.put(family, labels, Sample::Thousandths(thousandths.into()));
    }

    pub(super) fn waits(&mut self, family: &Family, labels: &[(&str, &str)], waits: &Waits) {
        self.put(family, labels, Sample::Waits(waits.clone()));
    }

    /// Adds to what the labels have already: several tenants may share a series.
    pub(super) fn add(&mut self, family: &Family, labels: &[(&str, &str)], value: u128) {
        let family = self.samples.entry(family.name).or_default();
        let sample = family.entry(labels_text(labels));
        if let Sample::Whole(sum) = sample.or_insert(Sample::Whole(0)) {
            *sum = sum.saturating_add(value);
        }
    }

    fn put(&mut self, family: &Family, labels: &[(&str, &str)], sample: Sample) {
        let family = self.samples.entry(family.name).or_default();
        family.insert(labels_text(labels), sample);
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for family in FAMILIES {
            let Some(samples) = self.samples.get(family.name) else {
                continue;
            };
            let kind = family.kind.name();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {} {}", family.name, family.help);
            let _ = writeln!(text, "# TYPE {} {kind}", family.name);
            for (labels, sample) in samples {
                let _ = match sample {
                    Sample::Whole(value) => writeln!(text, "{}{{{labels}}} {value}", family.name),
                    Sample::Thousandths(ms) => {
                        writeln!(text, "{}{{{labels}}} {}", family.name, seconds(*ms))
                    }
                    Sample::Waits(waits) => histogram(&mut text, family, labels, waits),
                };
            }
        }
        text
    }
}

/// The lines of one histogram: its buckets are cumulative.
fn histogram(text: &mut String, family: &Family, labels: &str, waits: &Waits) -> std::fmt::Result {
    debug_assert!(family.kind == Kind::Histogram, "only those have buckets");
    let mut sum: u128 = 0;
    for (index, bound) in WAIT_BOUNDS_MS.iter().enumerate() {
        sum = sum.saturating_add(waits.counts.get(index).map_or(0, |count| count.0));
        let bound = seconds(u128::from(*bound));
        writeln!(
            text,
            "{}_bucket{{{labels},le=\"{bound}\"}} {sum}",
            family.name
        )?;
    }
    let last = waits.counts.get(WAIT_BOUNDS_MS.len());
    sum = sum.saturating_add(last.map_or(0, |count| count.0));
    writeln!(text, "{}_bucket{{{labels},le=\"+Inf\"}} {sum}", family.name)?;
    writeln!(
        text,
        "{}_sum{{{labels}}} {}",
        family.name,
        seconds(waits.sum_ms.0)
    )?;
    writeln!(text, "{}_count{{{labels}}} {sum}", family.name)
}

/// Milliseconds in seconds, exactly and no longer than needed.
///
/// ```
/// use weir_operations::report::metrics::seconds;
/// assert_eq!([5, 1_000, 1_250, 0].map(seconds), ["0.005", "1", "1.25", "0"]);
/// ```
#[must_use]
pub fn seconds(ms: u128) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

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
/// use weir_operations::report::metrics::escaped;
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
