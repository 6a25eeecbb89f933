//! What of the audit log is looked at, as the address has it.

use weir_shared::wire::audit::AuditOutcome;

use crate::api::ask::AuditAsk;
use crate::instant;

/// Records of one page.
pub const PAGE: u64 = 50;

/// What the address asks for. Times are kept as they were typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    /// Who did it.
    pub actor: String,
    /// What was done: an action's name.
    pub action: String,
    /// To what.
    pub target: String,
    /// `done`, `refused` or nothing.
    pub outcome: String,
    /// From this time on, in UTC.
    pub from: String,
    /// Before this time, in UTC.
    pub to: String,
    /// Records before this number.
    pub before: Option<u64>,
    /// The record that is open.
    pub record: Option<u64>,
}

impl ActivityQuery {
    /// Reads the part of an address behind its question mark.
    pub fn parse(search: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(search.trim_start_matches('?').as_bytes()) {
            let value = value.trim();
            match &*name {
                "actor" => value.clone_into(&mut query.actor),
                "action" => value.clone_into(&mut query.action),
                "target" => value.clone_into(&mut query.target),
                "outcome" => value.clone_into(&mut query.outcome),
                "from" => value.clone_into(&mut query.from),
                "to" => value.clone_into(&mut query.to),
                "before" => query.before = value.parse().ok(),
                "record" => query.record = value.parse().ok(),
                _ => {}
            }
        }
        query
    }

    /// The address that asks for it.
    ///
    /// ```
    /// use weir_console::features::activity::model::query::ActivityQuery;
    /// let query = ActivityQuery { actor: "ada".to_owned(), record: Some(7), ..ActivityQuery::default() };
    /// assert_eq!(query.address(), "/console/activity?actor=ada&record=7");
    /// assert_eq!(ActivityQuery::default().address(), "/console/activity");
    /// ```
    pub fn address(&self) -> String {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        let numbers = [("before", self.before), ("record", self.record)]
            .map(|(name, number)| (name, number.map(|number| number.to_string())));
        let texts = self
            .filters()
            .map(|(name, text)| (name, Some(text.clone())));
        for (name, text) in texts.into_iter().chain(numbers) {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                pairs.append_pair(name, &text);
            }
        }
        match pairs.finish() {
            query if query.is_empty() => "/console/activity".to_owned(),
            query => format!("/console/activity?{query}"),
        }
    }

    fn filters(&self) -> [(&'static str, &String); 6] {
        [
            ("actor", &self.actor),
            ("action", &self.action),
            ("target", &self.target),
            ("outcome", &self.outcome),
            ("from", &self.from),
            ("to", &self.to),
        ]
    }

    /// Whether anything is left out of the log.
    pub fn is_filtered(&self) -> bool {
        self.filters().iter().any(|(_, text)| !text.is_empty())
    }

    /// What the server is asked.
    ///
    /// # Errors
    /// The filter at fault, and what is wrong with it.
    pub fn ask(&self) -> Result<AuditAsk, (&'static str, String)> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let outcome = match self.outcome.as_str() {
            "" => None,
            "done" => Some(AuditOutcome::Done),
            "refused" => Some(AuditOutcome::Refused),
            other => return Err(("outcome", format!("{other:?} is no outcome"))),
        };
        let (from, to) = (time("from", &self.from)?, time("to", &self.to)?);
        if let (Some(from), Some(to)) = (from, to)
            && from >= to
        {
            return Err(("to", "ends before it starts".to_owned()));
        }
        Ok(AuditAsk {
            before: self.before,
            after: None,
            limit: PAGE,
            actor: given(&self.actor),
            action: given(&self.action),
            target: given(&self.target),
            outcome,
            from,
            to,
        })
    }

    /// Where the server has the same records as comma-separated values, oldest first.
    pub fn csv_address(&self) -> String {
        let ask = self.ask().unwrap_or_default();
        let ask = AuditAsk {
            before: None,
            limit: 0,
            ..ask
        };
        let filters = ask.query_string();
        let filters = filters.trim_start_matches('?');
        let and = if filters.is_empty() { "" } else { "&" };
        format!("/operator/v1/audit/export?format=csv{and}{filters}")
    }
}

fn time(name: &'static str, text: &str) -> Result<Option<u64>, (&'static str, String)> {
    if text.is_empty() {
        return Ok(None);
    }
    match instant::parse(text) {
        Some(at) => Ok(Some(at)),
        None => Err((name, "a time such as 2026-11-22 08:30".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_what_it_was_made_of() {
        let query = ActivityQuery {
            actor: "ada & co".to_owned(),
            action: "policy.save".to_owned(),
            target: "enterprise:alpha".to_owned(),
            outcome: "refused".to_owned(),
            from: "2026-11-22 08:30".to_owned(),
            to: "2026-11-22 09:30".to_owned(),
            before: Some(900),
            record: Some(888),
        };
        let address = query.address();
        let (_, search) = address.split_once('?').unwrap();
        assert_eq!(ActivityQuery::parse(search), query);
        assert_eq!(
            ActivityQuery::parse("?before=x&record=&other=1"),
            ActivityQuery::default()
        );
    }

    #[test]
    fn the_server_is_asked_for_what_the_address_says() {
        let query = ActivityQuery::parse("actor=ada&outcome=done&from=1970-01-01+00:01&before=9");
        let ask = query.ask().unwrap();
        assert_eq!(
            (
                ask.actor.as_deref(),
                ask.outcome,
                ask.from,
                ask.before,
                ask.limit
            ),
            (
                Some("ada"),
                Some(AuditOutcome::Done),
                Some(60_000),
                Some(9),
                PAGE
            )
        );
        assert!(query.is_filtered());
        assert!(!ActivityQuery::parse("before=9&record=3").is_filtered());
    }

    #[test]
    fn a_filter_that_is_none_is_named() {
        for (search, field) in [
            ("outcome=maybe", "outcome"),
            ("from=yesterday", "from"),
            ("to=2026-13-01", "to"),
            ("from=2026-11-22+09:00&to=2026-11-22+08:00", "to"),
        ] {
            let (found, message) = ActivityQuery::parse(search).ask().unwrap_err();
            assert_eq!(found, field, "{search}: {message}");
        }
    }

    #[test]
    fn the_file_has_the_filters_of_the_list_and_all_of_its_pages() {
        for (search, address) in [
            ("before=9&record=3", "/operator/v1/audit/export?format=csv"),
            (
                "actor=ada&before=9",
                "/operator/v1/audit/export?format=csv&actor=ada",
            ),
        ] {
            assert_eq!(ActivityQuery::parse(search).csv_address(), address);
        }
    }
}
