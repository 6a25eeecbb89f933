//! Which decisions are looked at. It lives in the query string, so that an address shows another operator the same.

use form_urlencoded::{Serializer, parse};
use weir_shared::limits::NAME_BYTES_MAX;
use weir_shared::wire::check::Reason;
use weir_shared::wire::operator::decisions::DecisionOutcome;
use weir_shared::wire::operator::live::DecisionSample;

use crate::live::tail::{TailEntry, TailEvent};

/// What an outcome is called.
pub fn outcome_name(outcome: DecisionOutcome) -> &'static str {
    match outcome {
        DecisionOutcome::Admitted => "Admitted",
        DecisionOutcome::Denied => "Denied",
        DecisionOutcome::WouldDeny => "Would deny",
    }
}

/// What an outcome means, where the word alone does not say it.
pub fn outcome_meaning(outcome: DecisionOutcome) -> Option<&'static str> {
    (outcome == DecisionOutcome::WouldDeny).then_some(
        "It passed: a rule in shadow mode would have denied it, for the reason that is named.",
    )
}

/// What a decision has to be like; a part that is empty lets everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// What the tenant's name contains, whatever the case.
    pub tenant: String,
    /// How it came out.
    pub outcome: Option<DecisionOutcome>,
    /// Why.
    pub reason: Option<Reason>,
    /// The budget, limit, meter, guard or overload resource that decided.
    pub binding: String,
    /// The region that decided.
    pub region: String,
}

impl DecisionFilter {
    /// Reads a query string; what it does not know is passed over.
    pub fn parse(query_string: &str) -> Self {
        let mut filter = Self::default();
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            let bounded = || value.chars().take(NAME_BYTES_MAX).collect();
            match &*name {
                "tenant" => filter.tenant = bounded(),
                "outcome" => filter.outcome = DecisionOutcome::named(&value),
                "reason" => filter.reason = Reason::named(&value),
                "binding" => filter.binding = bounded(),
                "region" => filter.region = bounded(),
                _ => {}
            }
        }
        filter
    }

    /// The query string, without `?`; empty for everything.
    pub fn to_query_string(&self) -> String {
        self.written(Serializer::new(String::new()), "tenant")
    }

    /// Where the last decisions that it lets through are to be had as a file.
    pub fn csv_address(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        pairs.append_pair("format", "csv");
        format!("/operator/v1/decisions?{}", self.written(pairs, "search"))
    }

    /// What is looked for, the part of a tenant's name as `part`.
    fn written(&self, mut pairs: Serializer<'_, String>, part: &str) -> String {
        for (name, value) in [
            (part, self.tenant.as_str()),
            ("outcome", self.outcome.map_or("", DecisionOutcome::name)),
            ("reason", self.reason.map_or("", Reason::name)),
            ("binding", self.binding.as_str()),
            ("region", self.region.as_str()),
        ] {
            if !value.is_empty() {
                pairs.append_pair(name, value);
            }
        }
        pairs.finish()
    }

    /// Whether everything is let through.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether an entry is looked at. What a region missed is, whatever is looked for in that region.
    pub fn admits(&self, entry: &TailEntry) -> bool {
        if !self.region.is_empty() && entry.region != self.region {
            return false;
        }
        match &entry.event {
            TailEvent::Gap { .. } => true,
            TailEvent::Decision(sample) => self.admits_sample(sample),
        }
    }

    fn admits_sample(&self, sample: &DecisionSample) -> bool {
        let named = || {
            let tenant = sample.tenant.as_deref().unwrap_or_default();
            contains(tenant, &self.tenant)
        };
        self.outcome
            .is_none_or(|outcome| outcome == DecisionOutcome::of(sample))
            && self.reason.is_none_or(|reason| reason == sample.reason)
            && (self.binding.is_empty() || self.binding == sample.binding)
            && (self.tenant.is_empty() || named())
    }
}

fn contains(name: &str, part: &str) -> bool {
    name.to_lowercase().contains(&part.trim().to_lowercase())
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;

    use super::*;

    fn decision(tenant: Option<&str>, reason: Reason) -> TailEntry {
        TailEntry {
            number: 1,
            region: "weur".to_owned(),
            event: TailEvent::Decision(DecisionSample {
                at: EpochMs(5),
                tenant: tenant.map(str::to_owned),
                allowed: reason == Reason::Admitted,
                binding: "tokens".to_owned(),
                reason,
                would_deny: false,
                decision: None,
            }),
        }
    }

    #[test]
    fn addresses_come_back() {
        let all = DecisionFilter {
            tenant: "a&b=c ü".to_owned(),
            outcome: Some(DecisionOutcome::Denied),
            reason: Some(Reason::OverShare),
            binding: "tokens".to_owned(),
            region: "weur".to_owned(),
        };
        assert_eq!(DecisionFilter::parse(&all.to_query_string()), all);
        assert_eq!(DecisionFilter::default().to_query_string(), "");
        assert!(DecisionFilter::default().is_default() && !all.is_default());
    }

    #[test]
    fn a_file_holds_what_is_looked_at() {
        let all =
            DecisionFilter::parse("tenant=a%26b&outcome=denied&reason=over_share&region=weur");
        assert_eq!(
            all.csv_address(),
            "/operator/v1/decisions?format=csv&search=a%26b&outcome=denied&reason=over_share&region=weur"
        );
    }

    #[test]
    fn what_is_not_known_lets_everything_through() {
        let filter = DecisionFilter::parse("?reason=mood&outcome=maybe&colour=red&tenant=");
        assert!(filter.is_default());
        let long = format!("tenant={}", "x".repeat(5_000));
        assert_eq!(DecisionFilter::parse(&long).tenant.len(), NAME_BYTES_MAX);
    }

    #[test]
    fn each_part_looks_at_its_own() {
        let denied = decision(Some("Enterprise:Alpha"), Reason::OverShare);
        for (query, looked_at) in [
            ("", true),
            ("tenant=alpha", true),
            ("tenant=ALPHA%20", true),
            ("tenant=beta", false),
            ("outcome=denied", true),
            ("outcome=admitted", false),
            ("reason=over_share", true),
            ("reason=never", false),
            ("binding=tokens", true),
            ("binding=token", false),
            ("region=weur", true),
            ("region=enam", false),
            ("tenant=alpha&outcome=admitted", false),
        ] {
            assert_eq!(
                DecisionFilter::parse(query).admits(&denied),
                looked_at,
                "{query}"
            );
        }
        let mut shadowed = decision(Some("a"), Reason::OverShare);
        if let TailEvent::Decision(sample) = &mut shadowed.event {
            (sample.allowed, sample.would_deny) = (true, true);
        }
        for (query, looked_at) in [
            ("outcome=would_deny", true),
            ("outcome=denied", false),
            ("outcome=admitted", false),
        ] {
            let filter = DecisionFilter::parse(query);
            assert_eq!(filter.admits(&shadowed), looked_at, "{query}");
        }
        let anonymous = decision(None, Reason::Admitted);
        assert!(DecisionFilter::parse("").admits(&anonymous));
        assert!(!DecisionFilter::parse("tenant=a").admits(&anonymous));
    }

    #[test]
    fn what_was_missed_is_shown_whatever_is_looked_for() {
        let gap = TailEntry {
            event: TailEvent::Gap { at: 5 },
            ..decision(None, Reason::Admitted)
        };
        assert!(DecisionFilter::parse("tenant=a&reason=never").admits(&gap));
        assert!(!DecisionFilter::parse("region=enam").admits(&gap));
    }
}
