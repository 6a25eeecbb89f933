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
    let environments = settings["env"].as_table().unwrap();
    for name in ["workers_dev", "preview_urls"] {
        assert_eq!(settings[name].as_bool(), Some(false), "{name}");
        assert!(said.contains(&format!("`{name} = false`")), "{name}");
        // An environment inherits it.
        for (environment, settings) in environments {
            assert!(settings.get(name).is_none(), "{name} of {environment}");
        }
    }
    assert!(!settings.contains_key("vars"), "no variable is shipped");
    let with_variables = environments.values().find(|one| one.get("vars").is_some());
    assert_eq!(with_variables, None, "no variable is shipped");
}
