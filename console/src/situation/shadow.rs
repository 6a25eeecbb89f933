//! What a rule in shadow mode would have denied.

use weir_shared::ordered::sort_by;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::operator::series::SeriesView;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::preview::{PreviewBody, PreviewRow};

use crate::format::{count, duration, percent};
use crate::what::{Kind, Seen, What, seen};

/// Tenants that are named.
pub const NAMED_MAX: usize = 5;

/// What one rule would have denied in a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed {
    /// The rule.
    pub what: What,
    /// Calls that it decided.
    pub calls: u128,
    /// Calls that it would have denied.
    pub would_deny_calls: u128,
    /// Units of them.
    pub would_deny_units: u128,
    /// How long ago the interval began from which on it counts, if what stands before it does not.
    pub since_ms: Option<u64>,
}

impl Shadowed {
    /// Of a rule, in the time that was read. A rule in shadow mode denies nothing, so an interval in which it denied is the one
    /// in which it was put there, or before: what stands before it does not count.
    pub fn of(view: &SeriesView, what: &What) -> Self {
        let mut shadowed = Self {
            what: what.clone(),
            calls: 0,
            would_deny_calls: 0,
            would_deny_units: 0,
            since_ms: None,
        };
        for point in &view.points {
            let Seen {
                admitted_calls,
                denied_calls,
                would_deny_calls,
                would_deny_units,
                ..
            } = seen(&point.counters, what);
            if denied_calls > 0 {
                (shadowed.calls, shadowed.would_deny_calls) = (0, 0);
                shadowed.would_deny_units = 0;
                shadowed.since_ms = Some(view.to.0.saturating_sub(point.at.0));
            }
            shadowed.calls += admitted_calls + would_deny_calls;
            shadowed.would_deny_calls += would_deny_calls;
            shadowed.would_deny_units += would_deny_units;
        }
        shadowed
    }

    /// In a sentence; `period` is the time that was read, such as `the last 24 hours`.
    pub fn words(&self, period: &str) -> String {
        let since = self.since_ms.map(|ms| {
            let length = duration(ms);
            format!("the last {length}, since it last denied")
        });
        let period = since.as_deref().unwrap_or(period);
        if self.calls == 0 {
            return format!("It decided nothing in {period}.");
        }
        if self.would_deny_calls == 0 {
            return format!(
                "It would have denied none of {} calls in {period}.",
                count(self.calls)
            );
        }
        let share = percent(self.would_deny_calls as f64 / self.calls as f64);
        let units = match self.what.kind {
            Kind::Guard => String::new(),
            _ => format!(", {} units,", count(self.would_deny_units)),
        };
        format!(
            "It would have denied {} of {} calls{units} in {period}: {share}.",
            count(self.would_deny_calls),
            count(self.calls)
        )
    }
}

/// Every rule of the policy that is in shadow mode.
pub fn rules(document: &PolicyDocument) -> Vec<What> {
    let mut found = Vec::new();
    let mut add = |kind, name: &str, shadow: Option<bool>| {
        if shadow == Some(true) {
            found.push(What::new(kind, name));
        }
    };
    for (name, body) in &document.budgets {
        add(Kind::Budget, name, body.shadow);
    }
    for (name, body) in &document.limits {
        add(Kind::Limit, name, body.shadow);
    }
    for (name, body) in &document.meters {
        add(Kind::Meter, name, body.shadow);
    }
    for (name, body) in &document.guards {
        add(Kind::Guard, name, body.shadow);
    }
    for (name, body) in &document.overload {
        add(Kind::Overload, name, body.shadow);
    }
    found
}

/// What is to be known of a preview whose candidate has rules in shadow mode.
pub fn preview_note(document: &PolicyDocument, body: &PreviewBody) -> Option<String> {
    note(&rules(document), body)
}

/// The same of a preview that is about a tenant: only of the rules that have lines in it, since the change is of no rule.
pub fn tenant_preview_note(document: &PolicyDocument, body: &PreviewBody) -> Option<String> {
    let mut found = rules(document);
    found.retain(|rule| lines(rule, body).next().is_some());
    note(&found, body)
}

/// The lines of a rule.
fn lines<'a>(rule: &'a What, body: &'a PreviewBody) -> impl Iterator<Item = &'a PreviewRow> {
    let of = |row: &&PreviewRow| row.kind.name() == rule.kind.name() && row.name == rule.name;
    body.rows
        .iter()
        .filter(move |row| row.candidate != row.present && of(row))
}

/// Whether lines of a rule say whom it would deny: a rule that is only now put in shadow mode gives what was asked for.
fn would_deny(rule: &What, body: &PreviewBody) -> bool {
    lines(rule, body).any(|row| row.candidate < row.demand)
}

fn note(shadows: &[What], body: &PreviewBody) -> Option<String> {
    let names: Vec<String> = shadows.iter().map(What::words).collect();
    let tells = shadows.iter().any(|rule| would_deny(rule, body));
    let (told, whom) = match &names[..] {
        [] => return None,
        [one] => (
            format!("The {one} is in shadow mode: it denies nobody."),
            " Its lines say whom it would deny.",
        ),
        _ => (
            format!("In shadow mode, and denying nobody: {}.", names.join(", ")),
            " Their lines say whom they would deny.",
        ),
    };
    Some(told + if tells { whom } else { "" })
}

/// Whom a rule would have denied most since counting began, with the calls: the most first, at most [`NAMED_MAX`].
pub fn tenants(reply: &FairnessReply, what: &What) -> Vec<(String, u128)> {
    let name = &what.name;
    let mut found: Vec<(String, u128)> = reply
        .tenants
        .iter()
        .map(|report| {
            let calls = match what.kind {
                Kind::Budget => report
                    .budgets
                    .get(name)
                    .map(|one| one.total.would_deny_calls),
                Kind::Limit => report.limits.get(name).map(|one| one.would_deny_calls),
                Kind::Meter => report.meters.get(name).map(|one| one.would_deny_calls),
                Kind::Guard => report.guards.get(name).map(|one| one.would_deny),
                Kind::Overload => report.overload.get(name).map(|one| one.would_deny_calls),
            };
            (report.tenant.clone(), calls.unwrap_or_default().0)
        })
        .filter(|(_, calls)| *calls > 0)
        .collect();
    sort_by(&mut found, |(one, a), (other, b)| {
        b.cmp(a).then_with(|| one.cmp(other))
    });
    found.truncate(NAMED_MAX);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_it_would_have_denied_is_said_with_what_it_decided() {
        let view: SeriesView = serde_json::from_value(json!({
            "from": 0, "to": 120_000, "step_ms": 60_000, "tenant": null, "unreachable": [], "points": [
                {"at": 0, "budgets": {"tokens": {"admitted_calls": 60, "would_deny_calls": 15, "would_deny_units": 75}}},
                {"at": 60_000, "budgets": {"tokens": {"admitted_calls": 20, "would_deny_calls": 5, "would_deny_units": 25}},
                 "guards": {"queries": {"allowed": 9, "would_deny": 1}}},
            ],
        }))
        .unwrap();
        let tokens = Shadowed::of(&view, &What::new(Kind::Budget, "tokens"));
        assert_eq!(
            tokens.words("the last hour"),
            "It would have denied 20 of 100 calls, 100 units, in the last hour: 20.0%."
        );
        let queries = Shadowed::of(&view, &What::new(Kind::Guard, "queries"));
        assert_eq!(
            queries.words("the last hour"),
            "It would have denied 1 of 10 calls in the last hour: 10.0%."
        );
        let other = Shadowed::of(&view, &What::new(Kind::Limit, "tokens"));
        assert_eq!(
            other.words("the last hour"),
            "It decided nothing in the last hour."
        );
    }

    #[test]
    fn what_it_decided_before_it_was_in_shadow_mode_does_not_count() {
        let view: SeriesView = serde_json::from_value(json!({
            "from": 0, "to": 180_000, "step_ms": 60_000, "tenant": null, "unreachable": [], "points": [
                {"at": 0, "budgets": {"tokens": {"admitted_calls": 500, "denied_calls": 400}}},
                {"at": 60_000, "budgets": {"tokens": {"admitted_calls": 7, "denied_calls": 2, "would_deny_calls": 1,
                    "would_deny_units": 5}}},
                {"at": 120_000, "budgets": {"tokens": {"admitted_calls": 8, "would_deny_calls": 4, "would_deny_units": 20}}},
            ],
        }))
        .unwrap();
        let tokens = Shadowed::of(&view, &What::new(Kind::Budget, "tokens"));
        assert_eq!(
            (
                tokens.calls,
                tokens.would_deny_calls,
                tokens.would_deny_units
            ),
            (20, 5, 25)
        );
        assert_eq!(
            tokens.words("the last hour"),
            "It would have denied 5 of 20 calls, 25 units, in the last 2 min 00 s, since it last denied: 25.0%."
        );
    }

    #[test]
    fn rules_in_shadow_mode_are_found_whatever_their_kind() {
        let document: PolicyDocument = serde_json::from_value(json!({
            "budgets": {"a": {"limit": 1, "window_ms": 1_000, "sharing": "first_come", "scope": "global", "shadow": true},
                        "b": {"limit": 1, "window_ms": 1_000, "sharing": "first_come", "scope": "global"}},
            "limits": {"c": {"algorithm": "gcra", "limit": 1, "period_ms": 1_000, "scope": "region", "shadow": true}},
            "guards": {"d": {"concurrency": 1, "shadow": false}},
        }))
        .unwrap();
        let found: Vec<String> = rules(&document).iter().map(What::to_string).collect();
        assert_eq!(found, ["budget:a", "limit:c"]);
    }

    /// A preview with rows of so much demand, and so much given by either policy.
    fn body(rows: &[(&str, &str, [u32; 3])]) -> PreviewBody {
        let row = |(kind, name, units): &(&str, &str, [u32; 3])| {
            let [demand, present, candidate] = units.map(|units| units.to_string());
            json!({ "kind": kind, "name": name, "tenant": "a", "demand": demand, "served": "1", "present": present,
                "candidate": candidate })
        };
        let rows: Vec<Value> = rows.iter().map(row).collect();
        let body = json!({ "at": 1, "windows": 1, "intervals": 1, "gaining": 1, "losing": 0, "gains": [], "loses": [],
            "rows_total": 1, "rows": rows });
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_preview_says_that_a_shadow_denies_nobody_and_of_lines_only_where_some_say_whom_it_would_deny()
     {
        let one: PolicyDocument = serde_json::from_value(json!({
            "guards": {"d": {"concurrency": 1, "shadow": true}},
        }))
        .unwrap();
        let note = |rows| preview_note(&one, &body(rows)).unwrap();
        let alone = "The guard d is in shadow mode: it denies nobody.";
        assert_eq!(note(&[]), alone);
        assert_eq!(note(&[("guard", "d", [9, 5, 9])]), alone, "it is put there");
        assert_eq!(note(&[("guard", "d", [9, 5, 5])]), alone, "no line");
        assert_eq!(note(&[("limit", "d", [9, 5, 6])]), alone, "another rule's");
        assert_eq!(
            note(&[("guard", "d", [9, 5, 6])]),
            "The guard d is in shadow mode: it denies nobody. Its lines say whom it would deny."
        );
        let none = PolicyDocument::default();
        assert_eq!(preview_note(&none, &body(&[])), None);
    }

    #[test]
    fn a_preview_of_a_tenant_notes_the_shadows_among_its_lines_alone() {
        let document: PolicyDocument = serde_json::from_value(json!({
            "limits": {"tokens": {"algorithm": "gcra", "limit": 1, "period_ms": 1_000, "scope": "region", "shadow": true}},
            "meters": {"tokens": {"per_sec": 5}},
            "guards": {"queries": {"concurrency": 1, "shadow": true}, "uploads": {"concurrency": 1, "shadow": true}},
        }))
        .unwrap();
        let note = |rows| tenant_preview_note(&document, &body(rows));
        assert_eq!(
            note(&[
                ("guard", "queries", [9, 1, 2]),
                ("guard", "uploads", [9, 1, 1]),
                ("meter", "tokens", [9, 1, 2])
            ])
            .unwrap(),
            "The guard queries is in shadow mode: it denies nobody. Its lines say whom it would deny."
        );
        assert_eq!(
            note(&[
                ("limit", "tokens", [9, 1, 2]),
                ("guard", "uploads", [9, 1, 0])
            ])
            .unwrap(),
            "In shadow mode, and denying nobody: limit tokens, guard uploads. Their lines say whom they would deny."
        );
        assert_eq!(note(&[("meter", "tokens", [9, 1, 2])]), None, "it denies");
        assert_eq!(note(&[]), None);
    }

    #[test]
    fn those_whom_it_would_have_denied_most_stand_first() {
        let tenant = |name: &str, calls: u64| {
            json!({"tenant": name, "tier": null, "weight": 1, "total": {}, "budgets": {},
                   "limits": {"login": {"would_deny_calls": calls}}})
        };
        let reply: FairnessReply = serde_json::from_value(json!({
            "at": 1, "policy_revision": 1, "enforcing": true, "regions": [],
            "tenants": [tenant("a", 3), tenant("b", 0), tenant("c", 9)],
        }))
        .unwrap();
        let login = What::new(Kind::Limit, "login");
        assert_eq!(
            tenants(&reply, &login),
            [("c".to_owned(), 9), ("a".to_owned(), 3)]
        );
        assert!(tenants(&reply, &What::new(Kind::Budget, "login")).is_empty());
    }
}
