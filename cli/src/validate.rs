//! Whether a file is a policy, asked of nobody.

use serde_json::{Value, json};

use crate::document::Valid;
use crate::figures::counted;

/// What a valid file holds, in a line.
///
/// ```
/// use weir_cli::{document::valid, validate::text};
/// let file = valid(br#"{ "regions": ["weur", "enam"] }"#).unwrap();
/// assert_eq!(text("policy.json", &file), "policy.json is valid: 2 regions, 0 tenants, 0 budgets, 0 limits, 0 meters, 0 guards, 0 routes.\n");
/// ```
#[must_use]
pub fn text(file: &str, valid: &Valid) -> String {
    let parts = counts(valid).map(|(noun, number)| counted(number, noun));
    format!("{file} is valid: {}.\n", parts.join(", "))
}

/// The same for a program.
#[must_use]
pub fn value(valid: &Valid) -> Value {
    let mut told = json!({ "valid": true });
    for (noun, number) in counts(valid) {
        told[format!("{noun}s")] = json!(number);
    }
    told
}

fn counts(valid: &Valid) -> [(&'static str, u64); 7] {
    let document = &valid.document;
    [
        ("region", document.regions.len()),
        ("tenant", document.tenants.len()),
        ("budget", document.budgets.len()),
        ("limit", document.limits.len()),
        ("meter", document.meters.len()),
        ("guard", document.guards.len()),
        ("route", document.routes.len()),
    ]
    .map(|(noun, number)| (noun, number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::valid;

    #[test]
    fn a_program_reads_how_many_of_each() {
        let told = value(&valid(br#"{ "regions": ["weur"] }"#).unwrap());
        assert_eq!(told["valid"], true);
        assert_eq!((&told["regions"], &told["routes"]), (&json!(1), &json!(0)));
    }
}
