//! Which decisions are shown.

use weir_shared::wire::check::Reason;
use weir_shared::wire::operator::live::DecisionSample;

/// What a decision has to be; of each kind any of those that are named, everything where none is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The tenants.
    pub tenants: Vec<String>,
    /// The reasons.
    pub reasons: Vec<Reason>,
    /// Only denials, and what a rule in shadow mode would have denied.
    pub denied: bool,
}

impl Filter {
    /// Whether a decision is shown.
    #[must_use]
    pub fn shows(&self, sample: &DecisionSample) -> bool {
        let named = |tenant: &String| sample.tenant.as_ref() == Some(tenant);
        let tenant = self.tenants.is_empty() || self.tenants.iter().any(named);
        let reason = self.reasons.is_empty() || self.reasons.contains(&sample.reason);
        let denied = !self.denied || !sample.allowed || sample.would_deny;
        tenant && reason && denied
    }
}

/// The reason of a name.
///
/// # Errors
/// The names that there are.
///
/// ```
/// use weir_cli::tail::filter::reason;
/// use weir_shared::wire::check::Reason;
/// assert_eq!(reason("over_share"), Ok(Reason::OverShare));
/// assert!(reason("late").unwrap_err().contains("cap_reached"));
/// ```
pub fn reason(name: &str) -> Result<Reason, String> {
    Reason::named(name).ok_or_else(|| {
        let names = Reason::ALL.map(Reason::name);
        format!("the reasons are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;

    use super::*;

    fn sample(tenant: Option<&str>, reason: Reason) -> DecisionSample {
        DecisionSample {
            at: EpochMs(0),
            tenant: tenant.map(str::to_owned),
            allowed: reason == Reason::Admitted,
            binding: "tokens".to_owned(),
            reason,
            would_deny: false,
            decision: None,
        }
    }

    #[test]
    fn what_is_not_named_is_not_asked_for() {
        let all = Filter::default();
        let acme = Filter {
            tenants: vec!["acme".to_owned(), "hooli".to_owned()],
            ..Filter::default()
        };
        let share = Filter {
            reasons: vec![Reason::OverShare],
            ..Filter::default()
        };
        let denied = Filter {
            denied: true,
            ..Filter::default()
        };
        for (tenant, reason, shown) in [
            (Some("acme"), Reason::OverShare, [true, true, true, true]),
            (Some("hooli"), Reason::Admitted, [true, true, false, false]),
            (
                Some("other"),
                Reason::CapReached,
                [true, false, false, true],
            ),
            (None, Reason::Admitted, [true, false, false, false]),
        ] {
            let sample = sample(tenant, reason);
            let told = [&all, &acme, &share, &denied].map(|filter| filter.shows(&sample));
            assert_eq!(told, shown, "{sample:?}");
        }
    }

    #[test]
    fn what_a_shadow_would_have_denied_is_shown_among_the_denied() {
        let filter = Filter {
            denied: true,
            ..Filter::default()
        };
        let passed = DecisionSample {
            would_deny: true,
            ..sample(None, Reason::Admitted)
        };
        assert!(filter.shows(&passed));
    }

    #[test]
    fn every_reason_has_its_name() {
        for one in Reason::ALL {
            assert_eq!(reason(one.name()), Ok(one));
        }
    }
}
