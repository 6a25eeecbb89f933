//! The rules that put tenants into tiers by how their names begin: a list, of which the first that matches counts.

use serde_json::{Value, json};

/// One rule, as it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TierRule {
    /// How names begin.
    pub prefix: String,
    /// The tier of tenants with such a name.
    pub tier: String,
}

/// The rules of a document; what is no rule reads as an empty one, so that it can be corrected.
pub fn read(value: Option<&Value>) -> Vec<TierRule> {
    let text = |rule: &Value, name: &str| {
        rule.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let rules = value
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    rules
        .iter()
        .map(|rule| TierRule {
            prefix: text(rule, "prefix"),
            tier: text(rule, "tier"),
        })
        .collect()
}

/// The rules as the document has them.
pub fn written(rules: &[TierRule]) -> Value {
    let rule = |rule: &TierRule| json!({ "prefix": rule.prefix, "tier": rule.tier });
    rules.iter().map(rule).collect()
}

/// Puts the rule at a place one place earlier: it then counts before the one that it passes.
pub fn earlier(rules: &mut [TierRule], place: usize) {
    if place > 0 && place < rules.len() {
        rules.swap(place - 1, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back_as_they_were() {
        let document =
            json!([{ "prefix": "pro:", "tier": "pro" }, { "prefix": "", "tier": "free" }]);
        let mut rules = read(Some(&document));
        assert_eq!(written(&rules), document);
        earlier(&mut rules, 1);
        assert_eq!(rules[0].tier, "free");
        earlier(&mut rules, 0);
        earlier(&mut rules, 9);
        assert_eq!(rules[1].tier, "pro");
    }

    #[test]
    fn what_is_no_rule_can_be_corrected() {
        assert_eq!(read(None), []);
        assert_eq!(read(Some(&json!("x"))), []);
        assert_eq!(
            read(Some(&json!([7, { "tier": 3 }]))),
            [TierRule::default(), TierRule::default()]
        );
    }
}
