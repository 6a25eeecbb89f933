//! What is asked of the lists and reports, and the query strings that say so. What is not set is not asked for.

use form_urlencoded::Serializer;
use weir_shared::wire::audit::AuditOutcome;

/// Pairs of a query string under way.
#[derive(Default)]
struct Pairs(Option<Serializer<'static, String>>);

impl Pairs {
    fn text(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.0
                .get_or_insert_with(|| Serializer::new(String::new()))
                .append_pair(name, value);
        }
        self
    }

    fn number(self, name: &str, value: Option<u64>) -> Self {
        self.text(name, value.map(|value| value.to_string()).as_deref())
    }

    /// A number of which 0 stands for the server's own choice.
    fn count(self, name: &str, value: u64) -> Self {
        self.number(name, (value > 0).then_some(value))
    }

    fn flag(self, name: &str, value: Option<bool>) -> Self {
        self.text(
            name,
            value.map(|value| if value { "true" } else { "false" }),
        )
    }

    fn finish(self) -> String {
        self.0
            .map(|mut pairs| format!("?{}", pairs.finish()))
            .unwrap_or_default()
    }
}

/// `GET /operator/v1/fairness`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FairnessAsk {
    /// The page, from 1; 0 leaves it to the server.
    pub page: u64,
    /// Tenants a page; 0 leaves it to the server, which then answers all.
    pub page_size: u64,
    /// `tenant`, `weight`, `admitted_units`, `denied_units` or `calls`; from the largest with a `-` in front.
    pub sort: Option<String>,
    /// A part of the tenants' names.
    pub search: Option<String>,
    /// Whether to say what the policy comes to for each tenant.
    pub effective: bool,
}

impl FairnessAsk {
    /// With its question mark.
    pub fn query_string(&self) -> String {
        Pairs::default()
            .count("page", self.page)
            .count("page_size", self.page_size)
            .text("sort", self.sort.as_deref())
            .text("search", self.search.as_deref())
            .flag("effective", Some(self.effective))
            .finish()
    }
}

/// `GET /operator/v1/tenants`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantsAsk {
    /// The page, from 1; 0 leaves it to the server.
    pub page: u64,
    /// Tenants a page; 0 leaves it to the server.
    pub page_size: u64,
    /// By what; from the largest with a `-` in front.
    pub sort: Option<String>,
    /// A part of the tenants' names.
    pub search: Option<String>,
    /// Those that the policy names, or those that it does not.
    pub named: Option<bool>,
    /// Those of a tier.
    pub tier: Option<String>,
    /// The budget that the figures are of.
    pub budget: Option<String>,
}

impl TenantsAsk {
    /// With its question mark; empty for nothing.
    pub fn query_string(&self) -> String {
        self.pairs().finish()
    }

    /// The address of the list as comma-separated values: all of it, where no page is asked for.
    ///
    /// ```
    /// use weir_console::api::ask::TenantsAsk;
    /// let ask = TenantsAsk { tier: Some("pro".to_owned()), ..TenantsAsk::default() };
    /// assert_eq!(ask.csv_address(), "/operator/v1/tenants?tier=pro&format=csv");
    /// ```
    pub fn csv_address(&self) -> String {
        let query = self.pairs().text("format", Some("csv")).finish();
        format!("/operator/v1/tenants{query}")
    }

    fn pairs(&self) -> Pairs {
        Pairs::default()
            .count("page", self.page)
            .count("page_size", self.page_size)
            .text("sort", self.sort.as_deref())
            .text("search", self.search.as_deref())
            .flag("named", self.named)
            .text("tier", self.tier.as_deref())
            .text("budget", self.budget.as_deref())
    }
}

/// `GET /operator/v1/budgets/{name}/windows`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowsAsk {
    /// The page, from 1; 0 leaves it to the server.
    pub page: u64,
    /// Windows a page; 0 leaves it to the server.
    pub page_size: u64,
    /// Windows that end at this instant or later, epoch milliseconds.
    pub from: Option<u64>,
    /// Windows that end before this instant.
    pub to: Option<u64>,
}

impl WindowsAsk {
    /// With its question mark; empty for nothing.
    pub fn query_string(&self) -> String {
        Pairs::default()
            .count("page", self.page)
            .count("page_size", self.page_size)
            .number("from", self.from)
            .number("to", self.to)
            .finish()
    }
}

/// `GET /operator/v1/audit`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditAsk {
    /// Records before this number, newest first.
    pub before: Option<u64>,
    /// Records after this number, oldest first.
    pub after: Option<u64>,
    /// Records a page; 0 leaves it to the server.
    pub limit: u64,
    /// Who did it.
    pub actor: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// To what.
    pub target: Option<String>,
    /// What became of it.
    pub outcome: Option<AuditOutcome>,
    /// From this instant on, epoch milliseconds.
    pub from: Option<u64>,
    /// Before this instant.
    pub to: Option<u64>,
}

impl AuditAsk {
    /// With its question mark; empty for nothing.
    pub fn query_string(&self) -> String {
        Pairs::default()
            .number("before", self.before)
            .number("after", self.after)
            .count("limit", self.limit)
            .text("actor", self.actor.as_deref())
            .text("action", self.action.as_deref())
            .text("target", self.target.as_deref())
            .text("outcome", self.outcome.map(AuditOutcome::name))
            .number("from", self.from)
            .number("to", self.to)
            .finish()
    }
}

/// `GET /operator/v1/series`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesAsk {
    /// The start, epoch milliseconds; an hour before the end without it.
    pub from: Option<u64>,
    /// The end; now without it.
    pub to: Option<u64>,
    /// Length of the intervals; minutes without it.
    pub step_ms: Option<u64>,
    /// One tenant.
    pub tenant: Option<String>,
    /// One region.
    pub region: Option<String>,
    /// One budget; with any of these five, nothing else is counted.
    pub budget: Option<String>,
    /// One limit.
    pub limit: Option<String>,
    /// One meter.
    pub meter: Option<String>,
    /// One guard.
    pub guard: Option<String>,
    /// One overload resource.
    pub overload: Option<String>,
}

impl SeriesAsk {
    /// With its question mark; empty for nothing.
    pub fn query_string(&self) -> String {
        Pairs::default()
            .number("from", self.from)
            .number("to", self.to)
            .number("step_ms", self.step_ms)
            .text("tenant", self.tenant.as_deref())
            .text("region", self.region.as_deref())
            .text("budget", self.budget.as_deref())
            .text("limit", self.limit.as_deref())
            .text("meter", self.meter.as_deref())
            .text("guard", self.guard.as_deref())
            .text("overload", self.overload.as_deref())
            .finish()
    }
}

/// `GET /operator/v1/regions`: all budgets, or one, of which the tenants are told too.
pub fn regions_query(budget: Option<&str>) -> String {
    Pairs::default().text("budget", budget).finish()
}

/// The address of the audit log as a file, one record a line, of all records behind `after`.
pub fn audit_export_address(after: Option<u64>) -> String {
    let query = Pairs::default().number("after", after).finish();
    format!("/operator/v1/audit/export{query}")
}

/// The address of every window that a budget had as comma-separated values.
///
/// ```
/// use weir_console::api::ask::windows_csv_address;
/// let address = windows_csv_address("a/b");
/// assert_eq!(address, "/operator/v1/budgets/a%2Fb/windows?format=csv");
/// ```
pub fn windows_csv_address(budget: &str) -> String {
    let budget = segment(budget);
    format!("/operator/v1/budgets/{budget}/windows?format=csv")
}

/// The address of the live socket of all regions. `origin` is that of the page.
///
/// ```
/// use weir_console::api::ask::live_address;
/// let address = live_address("https://weir.example");
/// assert_eq!(address, "wss://weir.example/operator/v1/live?lines=true");
/// ```
pub fn live_address(origin: &str) -> String {
    let socket = origin.replacen("http", "ws", 1);
    format!("{socket}/operator/v1/live?lines=true")
}

/// One name as a segment of a path.
///
/// ```
/// assert_eq!(weir_console::api::ask::segment("a/b c"), "a%2Fb%20c");
/// assert_eq!(weir_console::api::ask::segment(".."), "=..");
/// ```
pub fn segment(name: &str) -> String {
    // Browsers take these for steps, encoded or not.
    if let "." | ".." = name {
        return format!("={name}");
    }
    form_urlencoded::byte_serialize(name.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn what_is_not_set_is_not_asked_for() {
        assert_eq!(FairnessAsk::default().query_string(), "?effective=false");
        assert_eq!(TenantsAsk::default().query_string(), "");
        assert_eq!(WindowsAsk::default().query_string(), "");
        assert_eq!(AuditAsk::default().query_string(), "");
        assert_eq!(SeriesAsk::default().query_string(), "");
        let blank = TenantsAsk {
            search: some(""),
            ..TenantsAsk::default()
        };
        assert_eq!(blank.query_string(), "");
    }

    #[test]
    fn everything_asked_is_said_and_encoded() {
        let fairness = FairnessAsk {
            page: 2,
            page_size: 10,
            sort: some("-denied_units"),
            search: some("a&b=c"),
            effective: true,
        };
        assert_eq!(
            fairness.query_string(),
            "?page=2&page_size=10&sort=-denied_units&search=a%26b%3Dc&effective=true"
        );
        let tenants = TenantsAsk {
            page: 1,
            page_size: 100,
            sort: some("weight"),
            search: some("é +"),
            named: Some(false),
            tier: some("pro"),
            budget: some("tokens"),
        };
        assert_eq!(
            tenants.query_string(),
            "?page=1&page_size=100&sort=weight&search=%C3%A9+%2B&named=false&tier=pro&budget=tokens"
        );
        let windows = WindowsAsk {
            page: 3,
            page_size: 20,
            from: Some(0),
            to: Some(5),
        };
        assert_eq!(windows.query_string(), "?page=3&page_size=20&from=0&to=5");
        let audit = AuditAsk {
            before: Some(9),
            after: None,
            limit: 50,
            actor: some("ops"),
            action: some("policy.save"),
            target: some("acme"),
            outcome: Some(AuditOutcome::Refused),
            from: Some(1),
            to: Some(2),
        };
        assert_eq!(
            audit.query_string(),
            "?before=9&limit=50&actor=ops&action=policy.save&target=acme&outcome=refused&from=1&to=2"
        );
        let series = SeriesAsk {
            from: Some(1),
            to: Some(2),
            step_ms: Some(60_000),
            tenant: some("a:b"),
            region: some("weur"),
            budget: some("tokens"),
            ..SeriesAsk::default()
        };
        assert_eq!(
            series.query_string(),
            "?from=1&to=2&step_ms=60000&tenant=a%3Ab&region=weur&budget=tokens"
        );
    }

    #[test]
    fn addresses_lead_to_one_thing_whatever_it_is_called() {
        assert_eq!(audit_export_address(None), "/operator/v1/audit/export");
        assert_eq!(
            audit_export_address(Some(7)),
            "/operator/v1/audit/export?after=7"
        );
        assert_eq!(
            live_address("http://127.0.0.1:8787"),
            "ws://127.0.0.1:8787/operator/v1/live?lines=true"
        );
        for (name, path) in [
            ("acme", "acme"),
            ("enterprise:alpha", "enterprise%3Aalpha"),
            ("../x", "..%2Fx"),
            ("?#%", "%3F%23%25"),
            ("+ +", "%2B%20%2B"),
        ] {
            assert_eq!(segment(name), path);
        }
    }
}
