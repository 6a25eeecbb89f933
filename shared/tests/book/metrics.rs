//! The page of the series that `GET /metrics` answers.

use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::report::metrics::FAMILIES;
use weir_shared::report::metrics::families::Kind;

use crate::ledger::scrape::everything;

const HEAD: &str = "\
# Metrics

`GET /metrics` returns these series in the text format of Prometheus, to a viewer's token or a higher one. [A dashboard for
Grafana](../../../dashboards/weir.json) shows all of them, and [alert rules](../../../dashboards/weir.rules.yml) watch them
([runbooks](../guides/runbooks.md)). Names follow the [conventions of
Prometheus](https://prometheus.io/docs/practices/naming/): counters end with `_total`, times are in seconds.

- Counters never fall. A series that sums over regions is left out while a region does not answer: a gap is not a reset.
- Tenants beyond the listed ones share one series. No label has a key of a limit, a path or an address as its value.
- `region` is absent if a budget's windows are those of the whole deployment.
- A scrape asks each region's object and ledger, and the coordinator of each budget, at most 64: three calls a region and one a
  budget. One scrape in 30 seconds is enough. An object that does not answer delays the scrape by at most two seconds.
- A clock in a Worker stands still while it computes, and moves when the Worker has waited. A decision from held units takes 0 by
  that clock, so there is no honest histogram of its duration. `weir_decision_wait_seconds` has the decisions that waited for a
  region, a coordinator or a shard, and how long. The number of all decisions less its count is the number without a wait.
- Operating figures (waits, calls of objects, failures) travel with the counters, and are labelled by the region whose ledger
  received them. Unreported figures of an isolate that died are missing.

| series | type | labels | what it says |
| --- | --- | --- | --- |
";

pub(super) fn page() -> String {
    let labels = labels();
    let rows = FAMILIES.iter().map(|family| {
        let sample = match family.kind {
            Kind::Histogram => format!("{}_count", family.name),
            _ => family.name.to_owned(),
        };
        let of = labels.get(&sample).expect("every series is scraped");
        let of: Vec<String> = of.iter().map(|label| format!("`{label}`")).collect();
        format!(
            "| `{}` | {} | {} | {} |\n",
            family.name,
            family.kind.name(),
            of.join(", "),
            family.help
        )
    });
    HEAD.to_owned() + &rows.collect::<String>()
}

/// The labels of each series in a scrape that has all of them.
fn labels() -> OrderedMap<String, OrderedSet<String>> {
    let mut labels = OrderedMap::<String, OrderedSet<String>>::new();
    for line in everything().lines().filter(|line| !line.starts_with('#')) {
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
