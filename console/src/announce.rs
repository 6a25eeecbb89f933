//! What is said aloud to who does not see the page: changes, never the figures that move each second.

use crate::in_force::InForce;
use crate::live::Phase;

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

/// What a new report says beyond its figures: regions lost and found, another policy, enforcement on or off.
pub fn in_force_change(before: &InForce, after: &InForce) -> Option<String> {
    let (lost_before, lost_after) = (&before.out_of_reach, &after.out_of_reach);
    let new_in = |these: &[String], those: &[String]| {
        these
            .iter()
            .filter(|region| !those.contains(region))
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (lost, found) = (
        new_in(lost_after, lost_before),
        new_in(lost_before, lost_after),
    );
    let mut said = Vec::new();
    if !lost.is_empty() {
        said.push(format!("Out of reach: {lost}."));
    }
    if !found.is_empty() {
        said.push(format!("Reachable again: {found}."));
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

#[cfg(test)]
mod tests {
    use super::*;

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

    fn in_force(out_of_reach: &[&str], policy_revision: u64, enforcing: bool) -> InForce {
        InForce {
            policy_revision,
            enforcing,
            out_of_reach: out_of_reach
                .iter()
                .map(|region| (*region).to_owned())
                .collect(),
        }
    }

    #[test]
    fn regions_policy_and_enforcement_are_said() {
        let calm = in_force(&[], 7, true);
        for (before, after, said) in [
            (&calm, in_force(&[], 7, true), None),
            (
                &calm,
                in_force(&["weur", "apac"], 7, true),
                Some("Out of reach: weur, apac."),
            ),
            (
                &in_force(&["weur"], 7, true),
                in_force(&["weur"], 7, true),
                None,
            ),
            (
                &in_force(&["weur"], 7, true),
                in_force(&["enam"], 7, true),
                Some("Out of reach: enam. Reachable again: weur."),
            ),
            (
                &calm,
                in_force(&[], 8, true),
                Some("Policy revision 8 is in force."),
            ),
            (
                &calm,
                in_force(&[], 7, false),
                Some("Limits are not enforced."),
            ),
            (
                &in_force(&[], 7, false),
                in_force(&[], 7, true),
                Some("Limits are enforced."),
            ),
        ] {
            assert_eq!(in_force_change(before, &after).as_deref(), said);
        }
    }
}
