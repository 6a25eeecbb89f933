//! The dashboard asks for nothing that a scrape does not have.

use weir_shared::ordered::OrderedSet;
use weir_shared::report::metrics::FAMILIES;
use weir_shared::report::metrics::families::Kind;

use crate::repository::root;

fn dashboard() -> serde_json::Value {
    let path = root().join("dashboards/weir.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every word of the text that begins with `weir_`.
fn series(text: &str) -> OrderedSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("weir_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_series_of_the_dashboard_exists_and_every_series_is_on_it() {
    let asked = series(&dashboard().to_string());
    let served: OrderedSet<_> = FAMILIES
        .iter()
        .map(|family| match family.kind {
            Kind::Histogram => format!("{}_bucket", family.name),
            _ => family.name.to_owned(),
        })
        .collect();
    assert_eq!(asked, served);
}

#[test]
fn every_panel_of_the_dashboard_asks_for_something_and_has_its_own_number() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: OrderedSet<_> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(
            targets
                .iter()
                .all(|target| !series(target["expr"].as_str().unwrap()).is_empty())
        );
        assert!(!targets.is_empty());
    }
}
