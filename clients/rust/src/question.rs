//! What is asked. Names are those of the HTTP interface, so that a question reads alike here, in its documentation, in a log and
//! in the console.

use std::collections::BTreeMap;

use serde::Serialize;

/// One thing to charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    #[serde(flatten)]
    what: What,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Budget(String),
    Limit(String),
    Meter(String),
    Meters(BTreeMap<String, u64>),
    Guard(String),
    Overload(String),
}

impl Item {
    fn of(what: What) -> Self {
        Self {
            what,
            key: None,
            keys: BTreeMap::new(),
            cost: None,
        }
    }

    /// Units of a budget of the tenant.
    pub fn budget(name: impl Into<String>) -> Self {
        Self::of(What::Budget(name.into()))
    }

    /// Units of a limit.
    pub fn limit(name: impl Into<String>) -> Self {
        Self::of(What::Limit(name.into()))
    }

    /// Units of a meter of the tenant.
    pub fn meter(name: impl Into<String>) -> Self {
        Self::of(What::Meter(name.into()))
    }

    /// Units of several meters of the tenant, all or none.
    pub fn meters<N: Into<String>>(costs: impl IntoIterator<Item = (N, u64)>) -> Self {
        let costs = costs.into_iter().map(|(name, cost)| (name.into(), cost));
        Self::of(What::Meters(costs.collect()))
    }

    /// A slot of a guard of the tenant: a call at a time. [`acquire`](crate::Weir::acquire) keeps and releases it.
    pub fn guard(name: impl Into<String>) -> Self {
        Self::of(What::Guard(name.into()))
    }

    /// Whether the tenant may use an overloaded resource. [`report`](crate::Weir::report) tells how that went.
    pub fn overload(name: impl Into<String>) -> Self {
        Self::of(What::Overload(name.into()))
    }

    /// What a limit counts by: 1 to 128 bytes.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The key of each part of a limit made of others.
    #[must_use]
    pub fn keys<N: Into<String>, K: Into<String>>(
        mut self,
        keys: impl IntoIterator<Item = (N, K)>,
    ) -> Self {
        let keys = keys
            .into_iter()
            .map(|(part, key)| (part.into(), key.into()));
        self.keys = keys.collect();
        self
    }

    /// Units to charge: 0 to 2^53-1, 1 unless it is said. 0 looks without charging anything.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = Some(cost);
        self
    }

    /// A check of this item alone, for a tenant.
    #[must_use]
    pub fn tenant(self, tenant: impl Into<String>) -> Question {
        Question::from(self).tenant(tenant)
    }

    fn guard_name(&self) -> Option<&str> {
        match &self.what {
            What::Guard(name) => Some(name),
            _ => None,
        }
    }

    /// The largest cost of it that can be settled.
    fn units(&self) -> u64 {
        match &self.what {
            What::Guard(_) | What::Overload(_) => 0,
            What::Meters(costs) => costs.values().copied().max().unwrap_or(0),
            What::Budget(_) | What::Limit(_) | What::Meter(_) => self.cost.unwrap_or(1),
        }
    }
}

/// A check of one item, or of up to 16, all or nothing; at most one of them a guard.
///
/// ```
/// use weir_client::{Item, Question};
/// let question = Question::all([Item::budget("tokens").cost(2 + 1), Item::limit("per_ip").key("k")]).tenant("acme");
/// let told = r#"{"tenant":"acme","checks":[{"budget":"tokens","cost":3},{"limit":"per_ip","key":"k"}]}"#;
/// assert_eq!(question.to_json(), told);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reserve: bool,
    #[serde(flatten)]
    asked: Asked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Asked {
    One(Item),
    All { checks: Vec<Item> },
}

impl From<Item> for Question {
    fn from(item: Item) -> Self {
        Self {
            tenant: None,
            reserve: false,
            asked: Asked::One(item),
        }
    }
}

impl Question {
    /// Several items, all or nothing.
    pub fn all(checks: impl IntoIterator<Item = Item>) -> Self {
        let checks = checks.into_iter().collect();
        Self {
            tenant: None,
            reserve: false,
            asked: Asked::All { checks },
        }
    }

    /// Who asks, 1 to 128 bytes; not needed for limits that are not per tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The decision names a reservation, to be settled within 15 minutes.
    #[must_use]
    pub fn reserving(mut self) -> Self {
        self.reserve = true;
        self
    }

    /// The question as it is sent.
    #[must_use]
    pub fn to_json(&self) -> String {
        json(self)
    }

    fn items(&self) -> &[Item] {
        match &self.asked {
            Asked::One(item) => std::slice::from_ref(item),
            Asked::All { checks } => checks,
        }
    }

    /// The guard that it takes a slot of.
    pub(crate) fn guard(&self) -> Option<&str> {
        self.items().iter().find_map(Item::guard_name)
    }

    /// Units that a settlement in full names: the largest cost of what can be settled.
    pub(crate) fn units(&self) -> u64 {
        self.items().iter().map(Item::units).max().unwrap_or(0)
    }
}

/// How a request to a resource came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedOutcome {
    /// The resource did what it was asked.
    Success,
    /// It did not.
    Failure,
}

/// JSON of what has texts for keys, which JSON always has a word for.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_worded_as_the_interface_words_it() {
        let table = [
            (
                Item::budget("b").cost(0).tenant("a"),
                r#"{"tenant":"a","budget":"b","cost":0}"#,
            ),
            (
                Item::limit("l").key("k").into(),
                r#"{"limit":"l","key":"k"}"#,
            ),
            (
                Item::limit("l").keys([("ip", "k")]).into(),
                r#"{"limit":"l","keys":{"ip":"k"}}"#,
            ),
            (
                Item::meter("m").tenant("a"),
                r#"{"tenant":"a","meter":"m"}"#,
            ),
            (
                Item::meters([("m", 2)]).tenant("a"),
                r#"{"tenant":"a","meters":{"m":2}}"#,
            ),
            (
                Item::guard("g").tenant("a"),
                r#"{"tenant":"a","guard":"g"}"#,
            ),
            (
                Item::overload("o").tenant("a").reserving(),
                r#"{"tenant":"a","reserve":true,"overload":"o"}"#,
            ),
        ];
        for (question, told) in table {
            assert_eq!(question.to_json(), told);
        }
    }

    #[test]
    fn in_full_is_the_largest_cost_of_what_can_be_settled() {
        let items = [
            Item::budget("b").cost(7),
            Item::limit("l"),
            Item::guard("g"),
            Item::overload("o").cost(9),
        ];
        let question = Question::all(items);
        assert_eq!((question.units(), question.guard()), (7, Some("g")));
        assert_eq!(
            Question::from(Item::meters([("a", 2), ("b", 5)])).units(),
            5
        );
        assert_eq!(Question::all([]).units(), 0);
    }
}
