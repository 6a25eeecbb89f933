//! What is asked of a tenant's page: the part that is open, and what it is about. It lives in the query string.

use form_urlencoded::{Serializer, parse};

use crate::address::NAME;
use crate::region_name::in_full;
use crate::what::What;

/// The parts of the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    /// What it was admitted and denied, over time.
    #[default]
    Accounting,
    /// Why it was denied.
    Why,
    /// What counts for it, and whose word that is.
    Policy,
    /// Its weight, tier, parent and overrides, to change them.
    Edit,
}

impl Tab {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Accounting, Self::Why, Self::Policy, Self::Edit];

    /// Its name in the address.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Accounting => "accounting",
            Self::Why => "why",
            Self::Policy => "policy",
            Self::Edit => "edit",
        }
    }

    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accounting => "Accounting",
            Self::Why => "Why was it denied?",
            Self::Policy => "Effective policy",
            Self::Edit => "Change",
        }
    }
}

/// The query of the page, without the name of the tenant. What other parts of the page keep in it, such as the range of
/// time, stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantQuery {
    /// The part that is open.
    pub tab: Tab,
    /// What it is about; the last denial, or what was counted most, when absent.
    pub what: Option<What>,
    /// The region that the figures are of; all of them when absent.
    pub region: Option<String>,
    /// The rest of the query, as it was.
    pub rest: Vec<(String, String)>,
}

impl TenantQuery {
    /// Reads a query string.
    pub fn parse(query_string: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            match &*name {
                "tab" => {
                    let tab = Tab::ALL.into_iter().find(|tab| tab.slug() == value);
                    query.tab = tab.unwrap_or_default();
                }
                NAME => {}
                "what" => query.what = What::parse(&value),
                "region" => query.region = (!value.is_empty()).then(|| value.into_owned()),
                _ => query.rest.push((name.into_owned(), value.into_owned())),
            }
        }
        query
    }

    /// The query string, without `?`; empty for the default.
    pub fn to_query_string(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        if self.tab != Tab::default() {
            pairs.append_pair("tab", self.tab.slug());
        }
        if let Some(what) = &self.what {
            pairs.append_pair("what", &what.to_string());
        }
        if let Some(region) = &self.region {
            pairs.append_pair("region", region);
        }
        pairs.extend_pairs(&self.rest);
        pairs.finish()
    }
}

/// The regions that figures are of, in words: one of them, or all.
///
/// ```
/// use weir_console::features::tenant::model::query::regions;
/// assert_eq!(regions(None), "all regions");
/// assert_eq!(regions(Some("weur")), "Western Europe (weur)");
/// ```
pub fn regions(region: Option<&str>) -> String {
    region.map_or_else(|| "all regions".to_owned(), in_full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::what::Kind;

    #[test]
    fn addresses_come_back() {
        for tab in Tab::ALL {
            let query = TenantQuery {
                tab,
                what: Some(What::new(Kind::Limit, "a&b")),
                region: Some("weur".to_owned()),
                rest: vec![("range".to_owned(), "1h".to_owned())],
            };
            assert_eq!(TenantQuery::parse(&query.to_query_string()), query);
        }
        assert_eq!(TenantQuery::default().to_query_string(), "");
    }

    #[test]
    fn what_is_not_known_is_the_default_and_what_others_keep_stays() {
        let query = TenantQuery::parse("?name=acme&tab=price&what=nothing&region=&from=1&to=2");
        assert_eq!(
            (query.tab, query.what.clone(), query.region.clone()),
            (Tab::Accounting, None, None)
        );
        assert_eq!(
            query.to_query_string(),
            "from=1&to=2",
            "the name is the address's"
        );
    }
}
