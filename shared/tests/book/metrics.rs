//! The page of the series that `GET /metrics` answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use weir_shared::accounting::metrics::{FAMILIES, text};
use weir_shared::units::EpochMs;
use weir_shared::wire::series::TotalsReply;

const HEAD: &str = "\
# Metrics

`GET /metrics` answers these in the text format of Prometheus, to a viewer's token or a higher one. [A dashboard for
Grafana](../../../dashboards/weir.json) has every one of them. Counters never fall. A series that sums over regions is left out
while a region does not answer: a gap is no reset. Tenants beyond those that are listed share one series.

| series | type | labels | what it says |
| --- | --- | --- | --- |
";

pub(super) fn page() -> String {
    let labels = labels();
    let rows = FAMILIES.iter().map(|family| {
        let of = labels.get(family.name).expect("every series is scraped");
        let of: Vec<String> = of.iter().map(|label| format!("`{label}`")).collect();
        format!(
            "| `{}` | {} | {} | {} |\n",
            family.name,
            family.kind,
            of.join(", "),
            family.help
        )
    });
    HEAD.to_owned() + &rows.collect::<String>()
}

/// The labels of each series in a scrape that has all of them.
fn labels() -> BTreeMap<String, BTreeSet<String>> {
    let counted = json!({ "counters": { "acme": {
        "budgets": { "a": {} }, "limits": { "a": {} }, "meters": { "a": {} }, "guards": { "a": {} },
        "overload": { "a": {} }, "listed": true,
    } } });
    let totals: TotalsReply = serde_json::from_value(counted).expect("a ledger's totals");
    let scrape = text(
        &[("weur".to_owned(), Some(totals))],
        |_| true,
        |_| true,
        EpochMs(0),
    );
    let mut labels = BTreeMap::<String, BTreeSet<String>>::new();
    for line in scrape.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once('{').expect("every series has labels");
        let inner = rest.split('}').next().unwrap_or(rest);
        let names = inner.split(',').filter_map(|label| label.split('=').next());
        labels
            .entry(name.to_owned())
            .or_default()
            .extend(names.map(str::to_owned));
    }
    labels
}
