//! How regions and coordinators are, in one word each and what that means.

use weir_shared::units::Revision;
use weir_shared::wire::operator::regions::{CoordinatorStatus, RegionStatus};

/// How one of them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// All of it answers.
    Good,
    /// It answers, and nothing asked it for anything yet.
    Idle,
    /// It answers and applies an older policy.
    Behind(u64),
    /// It answers and cannot reach a coordinator.
    CutOff,
    /// The region answers and its ledger does not: it decides, and its figures are missing.
    LedgerLost,
    /// It does not answer.
    Lost,
}

impl Health {
    /// Of a region, while the policy of this revision is in force.
    pub fn of_region(status: &RegionStatus, in_force: Revision) -> Self {
        if !status.reachable {
            return Self::Lost;
        }
        if status.budgets.iter().any(|budget| budget.outage) {
            return Self::CutOff;
        }
        if !status.ledger_reachable {
            return Self::LedgerLost;
        }
        match status.policy_revision {
            Some(Revision(0)) | None => Self::Idle,
            Some(applied) if applied < in_force => Self::Behind(applied.0),
            Some(_) => Self::Good,
        }
    }

    /// Of a coordinator.
    pub fn of_coordinator(status: &CoordinatorStatus) -> Self {
        match (status.reachable, status.window) {
            (false, _) => Self::Lost,
            (true, None) => Self::Idle,
            (true, Some(_)) => Self::Good,
        }
    }

    /// Whether somebody should look at it.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Good | Self::Idle)
    }

    /// In a few words.
    pub fn words(self) -> String {
        match self {
            Self::Good => "answers".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Behind(applied) => format!("applies policy {applied}"),
            Self::CutOff => "no coordinator".to_owned(),
            Self::LedgerLost => "ledger out of reach".to_owned(),
            Self::Lost => "out of reach".to_owned(),
        }
    }

    /// What that means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Good => "It answers and applies the policy in force.",
            Self::Idle => "It answers; nobody has asked it recently.",
            Self::Behind(_) => "It has not applied the newest policy yet.",
            Self::CutOff => {
                "It spends what it holds and then does as the budget's outage mode says."
            }
            Self::LedgerLost => {
                "It still decides; figures lack what it counts, but nothing is lost."
            }
            Self::Lost => "It does not answer; isolates there do as each limit says for that case.",
        }
    }

    /// Its class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "health good",
            Self::Idle => "health idle",
            Self::Behind(_) | Self::LedgerLost => "health warning",
            Self::CutOff | Self::Lost => "health bad",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn region(reachable: bool, applied: Option<u64>, ledger: bool, outage: bool) -> RegionStatus {
        serde_json::from_value(json!({
            "region": "weur", "home": false, "reachable": reachable, "answer_ms": 3,
            "policy_revision": applied, "ledger_reachable": ledger,
            "budgets": [{"budget": "tokens", "outage": outage}],
        }))
        .unwrap()
    }

    #[test]
    fn the_worst_that_is_wrong_with_a_region_is_said() {
        for (status, health, bad) in [
            (region(true, Some(7), true, false), Health::Good, false),
            (region(true, Some(8), true, false), Health::Good, false),
            (region(true, Some(0), true, false), Health::Idle, false),
            (region(true, Some(6), true, false), Health::Behind(6), true),
            (
                region(true, Some(6), false, false),
                Health::LedgerLost,
                true,
            ),
            (region(true, Some(7), false, true), Health::CutOff, true),
            (region(false, None, false, true), Health::Lost, true),
        ] {
            let told = Health::of_region(&status, Revision(7));
            assert_eq!((told, told.is_bad()), (health, bad));
            assert!(told.meaning().ends_with('.') && !told.words().is_empty());
        }
    }

    #[test]
    fn a_coordinator_without_an_open_window_is_idle() {
        let of = |text: &str| {
            let status: CoordinatorStatus = serde_json::from_str(text).unwrap();
            Health::of_coordinator(&status)
        };
        assert_eq!(of(r#"{"budget":"t","reachable":true}"#), Health::Idle);
        assert_eq!(
            of(r#"{"budget":"t","reachable":true,"window":3}"#),
            Health::Good
        );
        assert_eq!(of(r#"{"budget":"t","window":3}"#), Health::Lost);
        assert!(Health::Lost.class().contains("bad"));
    }
}
