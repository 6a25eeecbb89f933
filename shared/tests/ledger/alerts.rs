//! The rules for Prometheus ask for nothing that a scrape does not have, and every alert says what to do.

use weir_shared::ordered::OrderedSet;
use weir_shared::report::metrics::FAMILIES;

use crate::repository::root;

fn file(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What follows `key: ` in a line, dashes of lists left out.
fn values<'a>(text: &'a str, key: &'a str) -> Vec<&'a str> {
    let lines = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches("- "));
    lines
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
        .collect()
}

#[test]
fn every_series_of_the_rules_is_scraped() {
    let rules = file("dashboards/weir.rules.yml");
    let code = rules
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let code: String = code.map(|line| format!("{line}\n")).collect();
    let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let asked: OrderedSet<&str> = words.filter(|word| word.starts_with("weir_")).collect();
    assert!(asked.len() > 10, "{asked:?}");
    let served: OrderedSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
    for series in asked {
        let name = series.trim_end_matches("_bucket");
        assert!(served.contains(name), "{series}");
    }
}

#[test]
fn every_alert_has_its_section_in_the_runbooks_and_its_tests() {
    let (rules, tests) = (
        file("dashboards/weir.rules.yml"),
        file("dashboards/weir.rules.test.yml"),
    );
    let runbooks = file("docs/src/guides/runbooks.md");
    let alerts = values(&rules, "alert");
    assert!(alerts.len() >= 10, "{alerts:?}");
    let urls = values(&rules, "runbook_url");
    let expected: Vec<String> = alerts
        .iter()
        .map(|alert| format!("guides/runbooks.html#{}", alert.to_lowercase()))
        .collect();
    assert_eq!(urls, expected);
    for alert in &alerts {
        let section = format!("\n## {alert}\n");
        assert_eq!(runbooks.matches(&section).count(), 1, "{alert}");
        let fires = tests.contains(&format!("#{}", alert.to_lowercase()));
        assert!(fires, "no test shows that {alert} fires");
    }
    let sections = runbooks
        .lines()
        .filter_map(|line| line.strip_prefix("## Weir"));
    let sections: OrderedSet<String> = sections.map(|name| format!("Weir{name}")).collect();
    let named: OrderedSet<String> = alerts.iter().map(|alert| (*alert).to_owned()).collect();
    assert_eq!(sections, named, "a section without an alert");
}
