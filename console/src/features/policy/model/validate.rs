//! Validation by the code of the edge. The time zones of quotas are the server's to check: their database is left out of
//! the console for its size.

use std::borrow::Cow;

use serde_json::Value;
use weir_shared::invalid::{Fault, Invalid, read_json};
use weir_shared::policy::Policy;
use weir_shared::wire::policy::PolicyDocument;

use crate::visible::visible;

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// JSON pointer to the value at fault; empty for the whole document.
    pub pointer: String,
    /// What is wrong with it.
    pub message: String,
    /// Whether the value is not of the form that is expected there.
    pub form: bool,
}

impl From<Invalid> for Flaw {
    fn from(refused: Invalid) -> Self {
        Self {
            form: matches!(refused.fault, Fault::Form { .. }),
            message: visible(&refused.fault.to_string()),
            pointer: refused.field,
        }
    }
}

/// A document that reads and validates.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// As it is sent.
    pub document: PolicyDocument,
    /// What it comes to.
    pub policy: Policy,
}

/// Reads a document and validates it.
///
/// # Errors
/// The first flaw that was found.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::validate::check;
/// let flaw = check(&json!({ "regions": ["weur"], "tiers": { "free": {} } })).unwrap_err();
/// assert_eq!((flaw.pointer.as_str(), flaw.message.as_str()), ("/tiers/free/weight", "is required"));
/// ```
pub fn check(value: &Value) -> Result<Checked, Flaw> {
    let document: PolicyDocument = read_json(value.to_string().as_bytes())?;
    let policy = policy_of(&document)?;
    Ok(Checked { document, policy })
}

/// The policy of a document, quotas in time zones taken as quotas in UTC.
///
/// # Errors
/// The first field at fault.
pub fn policy_of(document: &PolicyDocument) -> Result<Policy, Invalid> {
    Policy::try_from(without_zones(document).as_ref())
}

/// The document with the calendars of its quotas in UTC, for whoever has no time zone database.
pub fn without_zones(document: &PolicyDocument) -> Cow<'_, PolicyDocument> {
    let named = |document: &PolicyDocument| {
        let limits = document.limits.values();
        limits
            .filter(|limit| limit.time_zone.is_some() && limit.offset_minutes.is_none())
            .count()
    };
    if named(document) == 0 {
        return Cow::Borrowed(document);
    }
    let mut document = document.clone();
    for limit in document.limits.values_mut() {
        if limit.offset_minutes.is_none() {
            limit.time_zone = None;
        }
    }
    Cow::Owned(document)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(limit: Value) -> Value {
        json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "limits": { "monthly": limit }
        })
    }

    #[test]
    fn a_time_zone_is_left_to_the_server_and_sent_as_it_is() {
        let zoned = document(json!({
            "algorithm": "quota", "limit": 5, "cadence": "calendar_month", "time_zone": "Europe/Berlin",
            "scope": "global"
        }));
        let checked = check(&zoned).unwrap();
        let sent = &checked.document.limits["monthly"];
        assert_eq!(sent.time_zone.as_deref(), Some("Europe/Berlin"));
    }

    #[test]
    fn a_time_zone_beside_an_offset_is_still_refused() {
        let both = document(json!({
            "algorithm": "quota", "limit": 5, "cadence": "calendar_day", "time_zone": "Europe/Berlin",
            "offset_minutes": 60, "scope": "region"
        }));
        let flaw = check(&both).unwrap_err();
        assert_eq!(flaw.pointer, "/limits/monthly/time_zone");
    }

    #[test]
    fn a_value_of_another_form_is_told_in_words_without_a_place_in_a_text_that_nobody_sees() {
        let flaw = check(&document(json!({
            "algorithm": "gcra", "limit": "fifty", "period_ms": 1000, "scope": "region"
        })))
        .unwrap_err();
        assert_eq!(
            (flaw.pointer.as_str(), flaw.message.as_str()),
            (
                "/limits/monthly/limit",
                "must be a whole number of at least 0, not \"fifty\""
            )
        );
    }

    #[test]
    fn flaws_say_where_and_whether_the_form_is_wrong() {
        for (limit, pointer, form) in [
            (
                json!({ "algorithm": "gcra", "limit": "many", "period_ms": 1000, "scope": "region" }),
                "/limits/monthly/limit",
                true,
            ),
            (
                json!({ "algorithm": "gcra", "limit": 0, "period_ms": 1000, "scope": "region" }),
                "/limits/monthly/limit",
                false,
            ),
            (
                json!({ "algorithm": "gcra", "limit": 5, "scope": "region" }),
                "/limits/monthly/period_ms",
                false,
            ),
        ] {
            let flaw = check(&document(limit)).unwrap_err();
            assert_eq!((flaw.pointer.as_str(), flaw.form), (pointer, form));
        }
    }
}
