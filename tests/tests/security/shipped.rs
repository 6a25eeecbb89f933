//! The deployment as it is shipped.

use weir_tests::paths::workspace;

fn shipped(name: &str) -> String {
    std::fs::read_to_string(workspace().join(name)).unwrap()
}

/// At another address Weir would answer past what stands before its hosts.
#[test]
fn the_deployment_that_is_shipped_answers_at_no_address_besides_its_own() {
    let settings: toml::Table = shipped("wrangler.toml").parse().unwrap();
    let said = shipped("SECURITY.md");
    for name in ["workers_dev", "preview_urls"] {
        assert_eq!(settings[name].as_bool(), Some(false), "{name}");
        assert!(said.contains(&format!("`{name} = false`")), "{name}");
    }
    // Another environment would have settings of its own.
    assert!(!settings.contains_key("env"));
    assert!(!settings.contains_key("vars"), "no variable is shipped");
}
