//! The pages of the console and their addresses: what a page is called, where it is, and who sees it in the navigation.

use weir_shared::access::role::Role;

use crate::api::ask::segment;

/// The path that every page is under, without its slash.
const ROOT: &str = "/console";

/// A page that needs a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// How the deployment is.
    Overview,
    /// All tenants.
    Tenants,
    /// One tenant.
    Tenant(String),
    /// All budgets.
    Budgets,
    /// One budget.
    Budget(String),
    /// The regions.
    Regions,
    /// The policy document.
    Policy,
    /// The audit log.
    Activity,
    /// The live tail of decisions.
    Decisions,
    /// Tokens and roles.
    Access,
}

impl Page {
    /// The pages of the navigation, in its order.
    pub const NAV: [Self; 8] = [
        Self::Overview,
        Self::Tenants,
        Self::Budgets,
        Self::Regions,
        Self::Policy,
        Self::Decisions,
        Self::Activity,
        Self::Access,
    ];

    /// Those of [`Self::NAV`] that a role has any use for.
    ///
    /// ```
    /// use weir_console::address::Page;
    /// use weir_shared::access::role::Role;
    /// assert!(Page::nav(Role::Admin).contains(&Page::Access));
    /// assert!(!Page::nav(Role::Viewer).contains(&Page::Access));
    /// ```
    pub fn nav(role: Role) -> Vec<Self> {
        let seen = |page: &Self| *page != Self::Access || role == Role::Admin;
        Self::NAV.into_iter().filter(seen).collect()
    }

    /// The page's address, with its name as one segment.
    ///
    /// ```
    /// use weir_console::address::Page;
    /// let page = Page::Tenant("enterprise:alpha".to_owned());
    /// assert_eq!(page.address(), "/console/tenants/enterprise%3Aalpha");
    /// ```
    pub fn address(&self) -> String {
        match self {
            Self::Overview => format!("{ROOT}/"),
            Self::Tenant(name) => format!("{ROOT}/tenants/{}", segment(name)),
            Self::Budget(name) => format!("{ROOT}/budgets/{}", segment(name)),
            other => format!("{ROOT}/{}", other.slug()),
        }
    }

    /// The page at a path, which may carry a query string.
    pub fn parse(path: &str) -> Option<Self> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let rest = path.strip_prefix(ROOT)?;
        if rest.is_empty() {
            return Some(Self::Overview);
        }
        let rest = rest.strip_prefix('/')?;
        if rest.is_empty() {
            return Some(Self::Overview);
        }
        match rest.split_once('/') {
            Some(("tenants", name)) => Some(Self::Tenant(one_segment(name)?)),
            Some(("budgets", name)) => Some(Self::Budget(one_segment(name)?)),
            Some(_) => None,
            None => Self::NAV
                .into_iter()
                .find(|page| *page != Self::Overview && page.slug() == rest),
        }
    }

    /// What it is called in the navigation and in its heading.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Tenants => "Tenants",
            Self::Tenant(_) => "Tenant",
            Self::Budgets => "Budgets",
            Self::Budget(_) => "Budget",
            Self::Regions => "Regions",
            Self::Policy => "Policy",
            Self::Activity => "Activity",
            Self::Decisions => "Decisions",
            Self::Access => "Access",
        }
    }

    /// Its name in addresses and in the page's hooks.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Tenants => "tenants",
            Self::Tenant(_) => "tenant",
            Self::Budgets => "budgets",
            Self::Budget(_) => "budget",
            Self::Regions => "regions",
            Self::Policy => "policy",
            Self::Activity => "activity",
            Self::Decisions => "decisions",
            Self::Access => "access",
        }
    }

    /// The page of the navigation that it belongs to.
    pub fn section(&self) -> Self {
        match self {
            Self::Tenant(_) => Self::Tenants,
            Self::Budget(_) => Self::Budgets,
            other => other.clone(),
        }
    }
}

/// A segment as the name that it stands for; none for what no name is written as.
fn one_segment(text: &str) -> Option<String> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'/' | b'\\' => return None,
            b'%' => 16 * digit(rest.next()?)? + digit(rest.next()?)?,
            other => other,
        });
    }
    let name = String::from_utf8(bytes).ok()?;
    let dots = name == "." || name == "..";
    (!name.is_empty() && !dots && !name.contains(char::is_control)).then_some(name)
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_leads_back_to_its_page() {
        let named = [
            "acme",
            "a b",
            "a/b",
            "enterprise:alpha",
            "é→",
            "100%",
            "+",
            "a.b",
            "%2e",
        ];
        let mut pages = Page::NAV.to_vec();
        pages.extend(named.map(|name| Page::Tenant(name.to_owned())));
        pages.extend(named.map(|name| Page::Budget(name.to_owned())));
        for page in pages {
            assert_eq!(
                Page::parse(&page.address()).as_ref(),
                Some(&page),
                "{page:?}"
            );
            let asked = format!("{}?sort=weight#x", page.address());
            assert_eq!(Page::parse(&asked).as_ref(), Some(&page), "{page:?}");
        }
    }

    #[test]
    fn addresses_are_those_that_are_shared() {
        for (page, address) in [
            (Page::Overview, "/console/"),
            (Page::Tenants, "/console/tenants"),
            (Page::Decisions, "/console/decisions"),
            (Page::Tenant("a/b".to_owned()), "/console/tenants/a%2Fb"),
            (Page::Budget("tokens".to_owned()), "/console/budgets/tokens"),
        ] {
            assert_eq!(page.address(), address);
        }
        assert_eq!(Page::parse("/console"), Some(Page::Overview));
        let unencoded = Page::parse("/console/tenants/enterprise:alpha");
        assert_eq!(unencoded, Some(Page::Tenant("enterprise:alpha".to_owned())));
    }

    #[test]
    fn what_no_page_has_is_no_page() {
        for path in [
            "",
            "/",
            "/consoles",
            "/console/overview",
            "/console/tenant",
            "/console/login",
            "/console//tenants",
            "/console/tenants/",
            "/console/tenants/a/b",
            "/console/tenants/..",
            "/console/tenants/%2e%2e",
            "/console/tenants/%2",
            "/console/tenants/%zz",
            "/console/tenants/%ff",
            "/console/tenants/%0a",
            "/console/tenants/a\\b",
            "/console/../v1/check",
            "//example.net/console/",
            "https://example.net/console/",
        ] {
            assert_eq!(Page::parse(path), None, "{path:?}");
        }
    }

    #[test]
    fn a_page_belongs_to_a_section_of_the_navigation() {
        for page in Page::NAV {
            assert_eq!(page.section(), page);
        }
        assert_eq!(Page::Tenant("x".to_owned()).section(), Page::Tenants);
        assert_eq!(Page::Budget("x".to_owned()).section(), Page::Budgets);
    }
}
