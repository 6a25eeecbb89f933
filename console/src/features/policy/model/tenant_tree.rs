//! Named tenants as a tree: each below its parent, bounded to what a page shows.

use weir_shared::ordered::{OrderedMap, OrderedSet};

use serde_json::Value;

/// One tenant in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The tenant.
    pub tenant: String,
    /// How many tenants are above it.
    pub depth: usize,
    /// Tenants directly below it.
    pub children: usize,
    /// Its tier; `None` by rule.
    pub tier: Option<String>,
    /// Its weight; `None` its tier's.
    pub weight: Option<String>,
    /// Overrides that the policy has for it.
    pub overrides: usize,
}

/// A part of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The tenants that are shown, each directly below its parent or a sibling.
    pub rows: Vec<Branch>,
    /// Tenants in all that the search matches.
    pub found: usize,
    /// Tenants that the policy names.
    pub named: usize,
}

/// The tree of the tenants whose names contain `search`, with all above them, at most `rows_max` rows.
pub fn tree(tenants: &Value, search: &str, rows_max: usize) -> Tree {
    let empty = serde_json::Map::new();
    let tenants = tenants.as_object().unwrap_or(&empty);
    let parent = |name: &str| {
        let parent = tenants.get(name)?.get("parent")?.as_str()?;
        tenants.contains_key(parent).then_some(parent)
    };
    let mut below: OrderedMap<Option<&str>, Vec<&str>> = OrderedMap::new();
    for name in tenants.keys() {
        let parent = parent(name).filter(|_| !circular(name, parent));
        below.entry(parent).or_default().push(name);
    }
    let search = search.trim().to_lowercase();
    let matches = |name: &str| search.is_empty() || name.to_lowercase().contains(&search);
    let found: OrderedSet<&str> = tenants
        .keys()
        .map(String::as_str)
        .filter(|name| matches(name))
        .collect();
    let mut shown = found.clone();
    for name in &found {
        let mut at = *name;
        while let Some(above) = parent(at).filter(|_| !circular(at, parent)) {
            if !shown.insert(above) {
                break;
            }
            at = above;
        }
    }
    let mut rows = Vec::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    push(&mut open, below.get(&None), &shown, 0);
    while let Some((name, depth)) = open.pop() {
        if rows.len() >= rows_max {
            break;
        }
        let children = below.get(&Some(name));
        rows.push(branch(
            name,
            depth,
            children.map_or(0, Vec::len),
            tenants.get(name),
        ));
        push(&mut open, children, &shown, depth + 1);
    }
    Tree {
        rows,
        found: found.len(),
        named: tenants.len(),
    }
}

/// Puts those of the children that are shown on the stack, the first one on top.
fn push<'a>(
    open: &mut Vec<(&'a str, usize)>,
    children: Option<&Vec<&'a str>>,
    shown: &OrderedSet<&'a str>,
    depth: usize,
) {
    let children = children.into_iter().flatten().rev();
    let children = children.filter(|name| shown.contains(*name));
    open.extend(children.map(|name| (*name, depth)));
}

/// Whether a tenant is above itself. A policy that says so is refused; the draft of one is still shown.
fn circular<'a>(name: &'a str, parent: impl Fn(&str) -> Option<&'a str>) -> bool {
    let mut seen = OrderedSet::from([name]);
    let mut at = name;
    while let Some(above) = parent(at) {
        if !seen.insert(above) {
            return true;
        }
        at = above;
    }
    false
}

fn branch(name: &str, depth: usize, children: usize, body: Option<&Value>) -> Branch {
    let at = |field: &str| {
        body.and_then(|body| body.get(field))
            .filter(|value| !value.is_null())
    };
    Branch {
        tenant: name.to_owned(),
        depth,
        children,
        tier: at("tier").and_then(Value::as_str).map(str::to_owned),
        weight: at("weight").map(Value::to_string),
        overrides: at("overrides")
            .and_then(Value::as_array)
            .map_or(0, Vec::len),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(tree: &Tree) -> Vec<(&str, usize)> {
        tree.rows
            .iter()
            .map(|row| (row.tenant.as_str(), row.depth))
            .collect()
    }

    fn tenants() -> Value {
        json!({
            "acme": { "weight": 6, "overrides": [{}, {}] },
            "acme/eu": { "parent": "acme", "tier": "pro" },
            "acme/us": { "parent": "acme" },
            "acme/us/ada": { "parent": "acme/us", "weight": 0.5 },
            "zeta": {}
        })
    }

    #[test]
    fn each_tenant_stands_below_its_parent() {
        let tree = tree(&tenants(), "", 100);
        assert_eq!(
            told(&tree),
            [
                ("acme", 0),
                ("acme/eu", 1),
                ("acme/us", 1),
                ("acme/us/ada", 2),
                ("zeta", 0)
            ]
        );
        assert_eq!((tree.rows[0].children, tree.rows[0].overrides), (2, 2));
        assert_eq!(tree.rows[3].weight.as_deref(), Some("0.5"));
        assert_eq!((tree.found, tree.named), (5, 5));
    }

    #[test]
    fn a_search_keeps_those_above_what_it_finds() {
        let found = tree(&tenants(), " ADA", 100);
        assert_eq!(
            told(&found),
            [("acme", 0), ("acme/us", 1), ("acme/us/ada", 2)]
        );
        assert_eq!((found.found, found.named), (1, 5));
        assert!(tree(&tenants(), "nobody", 100).rows.is_empty());
    }

    #[test]
    fn no_more_rows_are_shown_than_are_asked_for() {
        let many: serde_json::Map<String, Value> = (0..10_000)
            .map(|n| (format!("t{n:05}"), json!({})))
            .collect();
        let tree = tree(&Value::Object(many), "", 200);
        assert_eq!((tree.rows.len(), tree.found), (200, 10_000));
    }

    #[test]
    fn a_draft_in_circles_and_with_parents_that_are_not_there_is_still_shown() {
        let odd = json!({
            "a": { "parent": "b" }, "b": { "parent": "a" }, "c": { "parent": "a" }, "d": { "parent": "nobody" },
            "e": { "parent": "e" }
        });
        let tree = tree(&odd, "", 100);
        let mut names: Vec<_> = told(&tree).into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "c", "d", "e"]);
    }
}
