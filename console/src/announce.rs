//! What is said aloud to who does not see the page: changes, never the figures that move each second.

use crate::format;
use crate::live::Phase;
use crate::overview::Overview;
use crate::table::query::TableQuery;

/// What a change of phase says. The first connecting and the end of the session say nothing: the page itself does.
pub fn phase_change(before: Option<Phase>, after: Phase) -> Option<&'static str> {
    match after {
        _ if before == Some(after) => None,
        Phase::Live if before.is_none() => None,
        Phase::Live => Some("Live: figures are updated every second."),
        Phase::Reconnecting => {
            Some("Connection lost: figures are no longer updated. Reconnecting.")
        }
        Phase::Paused => Some("Paused: figures are not updated."),
        Phase::Connecting | Phase::Ended => None,
    }
}

/// What a new poll says beyond its figures: regions lost and found, another policy, enforcement on or off.
pub fn overview_change(before: &Overview, after: &Overview) -> Option<String> {
    let (lost_before, lost_after) = (before.out_of_reach(), after.out_of_reach());
    let new_in = |these: &[String], those: &[String]| {
        these
            .iter()
            .filter(|region| !those.contains(region))
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (lost, found) = (
        new_in(&lost_after, &lost_before),
        new_in(&lost_before, &lost_after),
    );
    let mut said = Vec::new();
    if !lost.is_empty() {
        said.push(format!("Out of reach: {lost}."));
    }
    if !found.is_empty() {
        said.push(format!("In reach again: {found}."));
    }
    if before.policy_revision != after.policy_revision {
        said.push(format!(
            "Policy revision {} is in force.",
            after.policy_revision
        ));
    }
    if before.enforcing != after.enforcing {
        said.push(
            if after.enforcing {
                "Limits are enforced."
            } else {
                "Limits are not enforced."
            }
            .to_owned(),
        );
    }
    (!said.is_empty()).then(|| said.join(" "))
}

/// What a changed search or sort says.
pub fn query_change(before: &TableQuery, after: &TableQuery, rows: usize) -> Option<String> {
    if before.search != after.search {
        return Some(format!("{} found.", format::counted(rows, "row")));
    }
    if (before.sort, before.descending) != (after.sort, after.descending) {
        let direction = after.aria_sort(after.sort);
        return Some(format!(
            "Sorted by {}, {direction}.",
            after.sort.name().to_lowercase()
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::RegionRow;
    use crate::table::column::Column;

    #[test]
    fn only_changes_of_phase_are_said() {
        for (before, after, said) in [
            (None, Phase::Connecting, false),
            (Some(Phase::Live), Phase::Live, false),
            (Some(Phase::Connecting), Phase::Live, true),
            (Some(Phase::Live), Phase::Reconnecting, true),
            (Some(Phase::Reconnecting), Phase::Live, true),
            (Some(Phase::Live), Phase::Paused, true),
            (Some(Phase::Paused), Phase::Connecting, false),
            (Some(Phase::Live), Phase::Ended, false),
        ] {
            assert_eq!(
                phase_change(before, after).is_some(),
                said,
                "{before:?} to {after:?}"
            );
        }
    }

    fn overview(out_of_reach: &[&str], policy_revision: u64, enforcing: bool) -> Overview {
        let row = |region: &&str| RegionRow {
            region: (*region).to_owned(),
            total: (!out_of_reach.contains(region)).then(Default::default),
            rate: None,
        };
        Overview {
            policy_revision,
            enforcing,
            regions: ["weur", "enam", "apac"].iter().map(row).collect(),
            ..Overview::default()
        }
    }

    #[test]
    fn regions_policy_and_enforcement_are_said() {
        let calm = overview(&[], 7, true);
        for (before, after, said) in [
            (&calm, overview(&[], 7, true), None),
            (
                &calm,
                overview(&["weur", "apac"], 7, true),
                Some("Out of reach: weur, apac."),
            ),
            (
                &overview(&["weur"], 7, true),
                overview(&["weur"], 7, true),
                None,
            ),
            (
                &overview(&["weur"], 7, true),
                overview(&["enam"], 7, true),
                Some("Out of reach: enam. In reach again: weur."),
            ),
            (
                &calm,
                overview(&[], 8, true),
                Some("Policy revision 8 is in force."),
            ),
            (
                &calm,
                overview(&[], 7, false),
                Some("Limits are not enforced."),
            ),
            (
                &overview(&[], 7, false),
                overview(&[], 7, true),
                Some("Limits are enforced."),
            ),
        ] {
            assert_eq!(overview_change(before, &after).as_deref(), said);
        }
    }

    #[test]
    fn search_and_sort_are_said() {
        let before = TableQuery::default();
        let mut searched = before.clone();
        searched.search_for("acme");
        let mut sorted = before.clone();
        sorted.press(Column::DeniedRate);
        let mut opened = before.clone();
        opened.toggle("acme");
        for (after, said) in [
            (&before, None),
            (&searched, Some("1 row found.")),
            (&sorted, Some("Sorted by denied calls/s, descending.")),
            (&opened, None),
        ] {
            assert_eq!(query_change(&before, after, 1).as_deref(), said);
        }
    }
}
