//! The id of a denial: what somebody pastes, and what is said of it.

use weir_shared::decision::id::DecisionId;
use weir_shared::wire::operator::explained::ExplainedDecision;

use crate::format::count;

/// The id in what was pasted: it may have quotes, white space or the name of its header around it.
///
/// ```
/// use weir_console::features::tenant::model::denial::pasted;
/// let id = "17.0123456789abcdef.weur.cap_reached.budget.tokens";
/// assert_eq!(pasted(&format!(" weir-decision: {id}\n")).as_deref(), Some(id));
/// assert_eq!(pasted(&format!("\"decision\":\"{id}\",")).as_deref(), Some(id));
/// assert_eq!(pasted("acme"), None);
/// ```
pub fn pasted(text: &str) -> Option<String> {
    let foreign = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-');
    let found = text
        .split(foreign)
        .find(|word| DecisionId::try_from(*word).is_ok());
    found.map(str::to_owned)
}

/// Whether what was counted bears an id out.
pub fn borne_out(told: &ExplainedDecision) -> String {
    let Some(denied) = told.denied_calls else {
        return match &told.tenant {
            Some(_) => {
                "Nobody can tell: the region's ledger did not answer, or does not keep that time."
                    .to_owned()
            }
            None => "Nobody can tell without the tenant's name.".to_owned(),
        };
    };
    match denied.0 {
        0 => "No denial by this rule was counted for the tenant then. A denial is counted within seconds; an id that was made \
              up is not borne out."
            .to_owned(),
        1 => "1 denial by this rule was counted for the tenant then.".to_owned(),
        many => format!("{} denials by this rule were counted for the tenant then.", count(many)),
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;
    use weir_shared::wire::check::Reason;
    use weir_shared::wire::count::Count;
    use weir_shared::wire::rule_kind::RuleKind;

    use super::*;
    use crate::what::What;

    #[test]
    fn every_kind_of_rule_has_its_place_on_a_tenant_s_page() {
        for kind in RuleKind::ALL {
            let what = What::new(kind, "tokens");
            assert_eq!(what.to_string(), format!("{}:tokens", kind.name()));
            assert_eq!(What::parse(&what.to_string()), Some(what));
        }
    }

    #[test]
    fn what_no_counter_bears_out_is_said_to_be_so() {
        let told = |tenant: Option<&str>, denied_calls| ExplainedDecision {
            decision: String::new(),
            at: EpochMs(0),
            region: "weur".to_owned(),
            reason: Reason::OverShare,
            kind: RuleKind::Budget,
            rule: "tokens".to_owned(),
            in_force: true,
            tenant: tenant.map(str::to_owned),
            from: EpochMs(0),
            to: EpochMs(1),
            denied_calls,
        };
        for (told, begins) in [
            (told(Some("acme"), Some(Count(0))), "No denial"),
            (told(Some("acme"), Some(Count(1))), "1 denial by"),
            (told(Some("acme"), Some(Count(2_500))), "2,500 denials"),
            (told(Some("acme"), None), "Nobody can tell: the region"),
            (told(None, None), "Nobody can tell without"),
        ] {
            let words = borne_out(&told);
            assert!(words.starts_with(begins), "{words}");
        }
    }

    #[test]
    fn what_is_pasted_is_searched_for_one_id_and_no_other_text_is_one() {
        let id = "17.0123456789abcdef.weur.cap_reached.budget.tokens";
        for text in [
            id.to_owned(),
            format!("429 <{id}> and more"),
            format!("HTTP/1.1 429\nweir-decision: {id}\nretry-after: 1"),
            format!("{{\"status\":429,\"decision\":\"{id}\"}}"),
        ] {
            assert_eq!(pasted(&text).as_deref(), Some(id), "{text}");
        }
        for text in [
            "",
            "acme",
            &format!("{id}.x"),
            &id.replace("tokens", ""),
            &"1.".repeat(500),
        ] {
            assert_eq!(pasted(text), None, "{text}");
        }
    }
}
