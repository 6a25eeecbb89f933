//! The pages of the console and their addresses: what a page is called, where it is, and who sees it in the navigation.

use form_urlencoded::{Serializer, parse};
use weir_shared::wire::role::Role;

use crate::api::ask::segment;
use crate::icon::Icon;

/// The path that every page is under, without its slash.
const ROOT: &str = "/console";

/// What a query calls the name of the tenant whose page is asked for.
pub const NAME: &str = "name";

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
    /// One region.
    Region(String),
    /// The policy document.
    Policy,
    /// What another policy would have done.
    Simulator,
    /// The audit log.
    Activity,
    /// The live tail of decisions.
    Decisions,
    /// What the id of a denial leads to.
    Decision(String),
    /// Tokens and roles.
    Access,
    /// What the words mean.
    Glossary,
}

/// A page as it is listed.
struct About {
    name: &'static str,
    slug: &'static str,
    icon: Icon,
    key: Option<&'static str>,
}

impl Page {
    /// The pages of the navigation, in its order.
    pub const NAV: [Self; 10] = [
        Self::Overview,
        Self::Tenants,
        Self::Budgets,
        Self::Regions,
        Self::Policy,
        Self::Simulator,
        Self::Decisions,
        Self::Activity,
        Self::Access,
        Self::Glossary,
    ];

    /// Those of [`Self::NAV`] that a role has any use for.
    ///
    /// ```
    /// use weir_console::address::Page;
    /// use weir_shared::wire::role::Role;
    /// assert!(Page::nav(Role::Admin).contains(&Page::Access));
    /// assert!(!Page::nav(Role::Viewer).contains(&Page::Access));
    /// ```
    pub fn nav(role: Role) -> Vec<Self> {
        let seen = |page: &Self| *page != Self::Access || role == Role::Admin;
        Self::NAV.into_iter().filter(seen).collect()
    }

    /// The page's address.
    ///
    /// A tenant's name may be of any characters, and stands in the query: servers and browsers leave a query alone, while
    /// a path comes back decoded (the platform's asset server sends `%2F` to `/`), or is cut at `..`. A budget's name has
    /// no character of which that is true.
    ///
    /// ```
    /// use weir_console::address::Page;
    /// let page = Page::Tenant("acme/web".to_owned());
    /// assert_eq!(page.address(), "/console/tenant?name=acme%2Fweb");
    /// ```
    pub fn address(&self) -> String {
        match self {
            Self::Overview => format!("{ROOT}/"),
            Self::Tenant(name) => {
                let mut query = Serializer::new(String::new());
                query.append_pair(NAME, name);
                format!("{ROOT}/tenant?{}", query.finish())
            }
            Self::Budget(name) => format!("{ROOT}/budgets/{}", segment(name)),
            Self::Region(name) => format!("{ROOT}/regions/{}", segment(name)),
            Self::Decision(id) => format!("{ROOT}/decisions/{}", segment(id)),
            other => format!("{ROOT}/{}", other.slug()),
        }
    }

    /// The page's address with a query, which comes without its question mark and may be empty.
    ///
    /// ```
    /// use weir_console::address::Page;
    /// let page = Page::Tenant("acme".to_owned());
    /// assert_eq!(page.address_with("tab=why"), "/console/tenant?name=acme&tab=why");
    /// assert_eq!(Page::Tenants.address_with("q=a"), "/console/tenants?q=a");
    /// assert_eq!(Page::Tenants.address_with(""), "/console/tenants");
    /// ```
    pub fn address_with(&self, query: &str) -> String {
        let address = self.address();
        let joint = match () {
            () if query.is_empty() => "",
            () if address.contains('?') => "&",
            () => "?",
        };
        format!("{address}{joint}{query}")
    }

    /// The page at a path, which may carry a query string. Of a tenant also the addresses that have its name in the path,
    /// as it was or decoded.
    pub fn parse(path: &str) -> Option<Self> {
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let rest = path.strip_prefix(ROOT)?;
        if rest.is_empty() {
            return Some(Self::Overview);
        }
        let rest = rest.strip_prefix('/')?;
        if rest.is_empty() {
            return Some(Self::Overview);
        }
        match rest.split_once('/') {
            Some(("tenants", name)) => Some(Self::Tenant(segments(name)?)),
            Some(("budgets", name)) => Some(Self::Budget(one_segment(name)?)),
            Some(("regions", name)) => Some(Self::Region(one_segment(name)?)),
            Some(("decisions", id)) => Some(Self::Decision(one_segment(id)?)),
            Some(_) => None,
            None if rest == "tenant" => Some(Self::Tenant(named(query)?)),
            None => Self::NAV
                .into_iter()
                .find(|page| *page != Self::Overview && page.slug() == rest),
        }
    }

    /// What is said of it wherever pages are listed.
    fn about(&self) -> About {
        let page = |name, slug, icon, key| About {
            name,
            slug,
            icon,
            key: Some(key),
        };
        let within = |section: Self, name, slug| About {
            name,
            slug,
            key: None,
            ..section.about()
        };
        match self {
            Self::Overview => page("Overview", "overview", Icon::Overview, "o"),
            Self::Tenants => page("Tenants", "tenants", Icon::Tenants, "t"),
            Self::Tenant(_) => within(Self::Tenants, "Tenant", "tenant"),
            Self::Budgets => page("Budgets", "budgets", Icon::Budgets, "b"),
            Self::Budget(_) => within(Self::Budgets, "Budget", "budget"),
            Self::Regions => page("Regions", "regions", Icon::Regions, "r"),
            Self::Region(_) => within(Self::Regions, "Region", "region"),
            Self::Policy => page("Policy", "policy", Icon::Policy, "p"),
            Self::Simulator => page("Simulator", "simulator", Icon::Simulator, "s"),
            Self::Activity => page("Activity", "activity", Icon::Activity, "a"),
            Self::Decisions => page("Decisions", "decisions", Icon::Decisions, "d"),
            Self::Decision(_) => within(Self::Decisions, "Decision", "decision"),
            Self::Access => page("Access", "access", Icon::Access, "k"),
            Self::Glossary => page("Glossary", "glossary", Icon::Glossary, "w"),
        }
    }

    /// What it is called in the navigation and in its heading.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// Its name in addresses and in the page's hooks.
    pub fn slug(&self) -> &'static str {
        self.about().slug
    }

    /// The icon that stands before it in the navigation.
    pub fn icon(&self) -> Icon {
        self.about().icon
    }

    /// The key that leads to it; `None` for a page that has a name of its own.
    pub fn key(&self) -> Option<&'static str> {
        self.about().key
    }

    /// The page of the navigation that it belongs to.
    pub fn section(&self) -> Self {
        match self {
            Self::Tenant(_) => Self::Tenants,
            Self::Budget(_) => Self::Budgets,
            Self::Region(_) => Self::Regions,
            Self::Decision(_) => Self::Decisions,
            other => other.clone(),
        }
    }
}

/// The name that a query has.
fn named(query: &str) -> Option<String> {
    let mut pairs = parse(query.as_bytes());
    let (_, name) = pairs.find(|(key, _)| key == NAME)?;
    (!name.is_empty() && !name.contains(char::is_control)).then(|| name.into_owned())
}

/// Segments as the name that they stand for, with the slashes between them.
fn segments(text: &str) -> Option<String> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let names = text.split('/').map(one_segment);
    Some(names.collect::<Option<Vec<_>>>()?.join("/"))
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
            "a?b&c=d",
            "a#b",
            "a%2Fb",
        ];
        let mut pages = Page::NAV.to_vec();
        pages.extend(named.map(|name| Page::Tenant(name.to_owned())));
        pages.extend(named.map(|name| Page::Budget(name.to_owned())));
        pages.extend(named.map(|name| Page::Region(name.to_owned())));
        pages.extend(named.map(|id| Page::Decision(id.to_owned())));
        let of_tenants_alone = ["..", ".", "/", "a//b", "/a", "a/../b", "\\"];
        pages.extend(of_tenants_alone.map(|name| Page::Tenant(name.to_owned())));
        for page in pages {
            assert_eq!(
                Page::parse(&page.address()).as_ref(),
                Some(&page),
                "{page:?}"
            );
            let asked = format!("{}#x", page.address_with("sort=weight"));
            assert_eq!(Page::parse(&asked).as_ref(), Some(&page), "{page:?}");
        }
    }

    #[test]
    fn addresses_are_those_that_are_shared() {
        for (page, address) in [
            (Page::Overview, "/console/"),
            (Page::Tenants, "/console/tenants"),
            (Page::Decisions, "/console/decisions"),
            (Page::Tenant("a/b".to_owned()), "/console/tenant?name=a%2Fb"),
            (
                Page::Tenant("é 100%?#..".to_owned()),
                "/console/tenant?name=%C3%A9+100%25%3F%23..",
            ),
            (Page::Budget("tokens".to_owned()), "/console/budgets/tokens"),
            (
                Page::Decision("17.0a.weur.never.limit.x".to_owned()),
                "/console/decisions/17.0a.weur.never.limit.x",
            ),
        ] {
            assert_eq!(page.address(), address);
        }
        assert_eq!(Page::parse("/console"), Some(Page::Overview));
    }

    #[test]
    fn a_tenant_with_its_name_in_the_path_is_found_as_ever() {
        for (path, name) in [
            ("/console/tenants/enterprise%3Aalpha", "enterprise:alpha"),
            (
                "/console/tenants/enterprise:alpha?tab=why",
                "enterprise:alpha",
            ),
            ("/console/tenants/acme%2Fweb", "acme/web"),
            // What the asset server makes of it.
            ("/console/tenants/acme/web", "acme/web"),
            ("/console/tenants/acme/web/", "acme/web"),
            ("/console/tenants/100%25", "100%"),
        ] {
            assert_eq!(
                Page::parse(path),
                Some(Page::Tenant(name.to_owned())),
                "{path}"
            );
        }
    }

    #[test]
    fn what_no_page_has_is_no_page() {
        for path in [
            "",
            "/",
            "/consoles",
            "/console/overview",
            "/console/tenant",
            "/console/tenant?",
            "/console/tenant?name=",
            "/console/tenant?tab=why",
            "/console/tenant?name=%0A",
            "/console/tenant/?name=a",
            "/console/login",
            "/console//tenants",
            "/console/tenants/",
            "/console/tenants/a//b",
            "/console/tenants//example.net",
            "/console/tenants/a/../b",
            "/console/budgets/a/b",
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
        assert_eq!(Page::Region("x".to_owned()).section(), Page::Regions);
        assert_eq!(Page::Decision("x".to_owned()).section(), Page::Decisions);
    }
}
