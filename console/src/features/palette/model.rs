//! The command palette: what it offers, and what of that fits what is typed.

use weir_shared::ordered::sort_by_key;
use weir_shared::wire::role::Role;

use crate::address::Page;
use crate::features::policy::model::section::Section;
use crate::visible::visible;

/// Entries that are listed at most.
pub const LISTED_MAX: usize = 12;

/// What an entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Goes to an address.
    Go(String),
    /// Goes to an address, and on to the part of the page with that id.
    Part(String, &'static str),
    /// Pauses live updates, or resumes them.
    Live,
    /// Shows the list of shortcuts.
    Shortcuts,
    /// The other of light and dark.
    Theme,
    /// Logs out.
    LogOut,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What is read and matched.
    pub label: String,
    /// What kind of thing it is.
    pub kind: &'static str,
    /// Other words that it is looked for by.
    pub also: &'static str,
    /// What it does.
    pub act: Act,
}

impl Entry {
    fn go(kind: &'static str, label: String, address: String) -> Self {
        Self {
            label,
            kind,
            also: "",
            act: Act::Go(address),
        }
    }

    fn also(self, also: &'static str) -> Self {
        Self { also, ..self }
    }

    /// A tenant's page.
    pub fn tenant(name: &str) -> Self {
        let address = Page::Tenant(name.to_owned()).address();
        Self::go("Tenant", visible(name), address)
    }

    /// A budget's page.
    pub fn budget(name: &str) -> Self {
        let address = Page::Budget(name.to_owned()).address();
        Self::go("Budget", visible(name), address)
    }

    /// A region's page.
    pub fn region(name: &str) -> Self {
        let address = Page::Region(name.to_owned()).address();
        Self::go("Region", crate::region_name::in_full(name), address)
    }
}

/// Parts of pages, by the ids of their headings.
fn parts() -> [(Page, &'static str, &'static str, &'static str); 9] {
    use Page::{Access, Overview, Regions};
    [
        (
            Overview,
            "flow-heading",
            "Over time",
            "chart admitted rate traffic",
        ),
        (
            Overview,
            "denied-heading",
            "Denied most",
            "429 refused top tenants",
        ),
        (
            Overview,
            "health-heading",
            "Regions and coordinators",
            "health status outage",
        ),
        (
            Overview,
            "costs-heading",
            "What decisions cost",
            "price money bill dollars",
        ),
        (
            Access,
            "tokens",
            "Tokens",
            "api key credential secret service revoke",
        ),
        (Access, "sessions", "Sessions", "log out everybody logins"),
        (
            Access,
            "roles",
            "Roles",
            "permission rights viewer editor admin",
        ),
        (
            Regions,
            "regions-heading",
            "State of each region",
            "health outage contact",
        ),
        (
            Regions,
            "places-heading",
            "Where each budget is now",
            "leased lent escrow units holders",
        ),
    ]
}

/// Other words for what a section of the policy is about.
fn also_called(section: Section) -> &'static str {
    match section {
        Section::Budgets => "quota cap window units shared",
        Section::Limits => "rate quota throttle ip address key user login algorithm token bucket",
        Section::Meters => "rate throughput bandwidth bytes",
        Section::Guards => "concurrency parallel requests per minute",
        Section::Tiers => "plan weight rules",
        Section::Tenants => "customer team user parent weight",
        Section::Overload => "resource shed protect",
        Section::Routes => "gateway proxy origin path host checks cost model descriptors envoy",
        Section::ApiKeys => "token credential customer authorization",
        Section::General => "regions home enforcing headers proxies",
        Section::Document => "json export import",
        Section::Reset => "clear counters state",
    }
}

/// What is added to the policy, where the role may change it.
fn additions(role: Role) -> impl Iterator<Item = Entry> {
    let sections = Section::ALL
        .into_iter()
        .filter(move |_| role != Role::Viewer);
    sections.filter_map(|section| {
        let noun = match section {
            Section::Routes => "a route".to_owned(),
            Section::ApiKeys => "an API key".to_owned(),
            listed => listed.entries().map(|_| format!("a {}", listed.noun()))?,
        };
        let entry = Entry::go("Action", format!("Add {noun}"), section.address(None));
        Some(entry.also("new create make"))
    })
}

/// Pages and their parts, sections of the policy and actions, as far as the role has any use for them.
pub fn fixed(role: Role) -> Vec<Entry> {
    let nav = Page::nav(role);
    let parts = parts().into_iter().filter(|part| nav.contains(&part.0));
    let parts: Vec<_> = parts
        .map(|(page, id, label, also)| Entry {
            label: format!("{}: {label}", page.name()),
            kind: "Part",
            also,
            act: Act::Part(page.address(), id),
        })
        .collect();
    let pages = nav.into_iter();
    let pages = pages.map(|page| Entry::go("Page", page.name().to_owned(), page.address()));
    let sections = Section::ALL.into_iter();
    let sections = sections.filter(|section| *section != Section::Reset || role != Role::Viewer);
    let sections = sections.map(|section| {
        let label = format!("Policy: {}", section.title());
        Entry::go("Policy", label, section.address(None)).also(also_called(section))
    });
    let action = |label: &str, act| Entry {
        label: label.to_owned(),
        kind: "Action",
        also: "",
        act,
    };
    let actions = [
        action("Pause or resume live updates", Act::Live),
        action("Keyboard shortcuts", Act::Shortcuts),
        action("Switch between light and dark", Act::Theme),
        action(
            "What a shadow would have denied",
            Act::Go(Page::Decisions.address_with("outcome=would_deny")),
        ),
        action(
            "What the draft would have done",
            Act::Go(Page::Simulator.address_with("over=recorded")),
        ),
        action(
            "Who is denied now",
            Act::Go(Page::Decisions.address_with("outcome=denied")),
        ),
        action("Why was a call denied", Act::Go(Page::Decisions.address()))
            .also("decision id refused 429 reason"),
        action("Revert a change", Act::Go(Page::Activity.address()))
            .also("undo roll back audit log"),
        action("Log out", Act::LogOut),
    ];
    let token = (role == Role::Admin)
        .then(|| action("New token", Act::Go(Page::Access.address_with("new=token"))));
    let fixed = pages.chain(actions).chain(token).chain(sections);
    fixed.chain(parts).chain(additions(role)).collect()
}

/// The entries that fit what is typed, the best first; all of them, in their order, while nothing is.
///
/// Each word has to be in the label, the kind or the other words. A label that begins so stands before one in which a word
/// begins so, that before one that only has it within, and what only has another word for it comes last.
pub fn found(entries: &[Entry], typed: &str) -> Vec<Entry> {
    let words: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
    let mut ranked: Vec<(u8, usize, &Entry)> = entries
        .iter()
        .enumerate()
        .filter_map(|(place, entry)| Some((rank(entry, &words)?, place, entry)))
        .collect();
    sort_by_key(&mut ranked, |(rank, place, _)| (*rank, *place));
    let best = ranked.into_iter().take(LISTED_MAX);
    best.map(|(_, _, entry)| entry.clone()).collect()
}

/// How well an entry fits: 0 is best; none where a word is missing.
fn rank(entry: &Entry, words: &[String]) -> Option<u8> {
    let label = entry.label.to_lowercase();
    let kind = entry.kind.to_lowercase();
    let also = |word: &str| entry.also.split(' ').any(|other| other.starts_with(word));
    let mut worst = 0;
    for word in words {
        let at = label.find(word.as_str());
        let begins_word = label
            .split(|one: char| !one.is_alphanumeric())
            .any(|part| part.starts_with(word.as_str()));
        worst = worst.max(match at {
            Some(0) => 0,
            Some(_) if begins_word => 1,
            Some(_) => 2,
            None if kind.starts_with(word.as_str()) => 1,
            None if also(word) => 3,
            None => return None,
        });
    }
    Some(worst)
}

/// Where a key takes the choice among `count` entries, over the ends; none for a key that is not for it.
///
/// ```
/// use weir_console::features::palette::model::moved;
/// assert_eq!((moved(0, "ArrowDown", 3), moved(0, "ArrowUp", 3), moved(0, "x", 3)), (Some(1), Some(2), None));
/// ```
pub fn moved(place: usize, key: &str, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    match key {
        "ArrowDown" => Some(if place >= last { 0 } else { place + 1 }),
        "ArrowUp" => Some(if place == 0 { last } else { place - 1 }),
        "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(entries: &[Entry], typed: &str) -> Vec<String> {
        found(entries, typed)
            .into_iter()
            .map(|entry| entry.label)
            .collect()
    }

    #[test]
    fn what_begins_so_stands_before_what_only_has_it() {
        let entries = [
            Entry::tenant("acme-tokens"),
            Entry::tenant("xtokens"),
            Entry::budget("tokens"),
        ];
        assert_eq!(
            labels(&entries, "TOK"),
            ["tokens", "acme-tokens", "xtokens"]
        );
        assert_eq!(
            labels(&entries, "budget tok"),
            ["tokens"],
            "its kind is a word, too"
        );
        assert_eq!(labels(&entries, "nobody"), [""; 0]);
    }

    #[test]
    fn nothing_typed_offers_the_pages_first_and_no_more_than_fit() {
        let all = fixed(Role::Admin);
        let offered = found(&all, "  ");
        assert_eq!(offered.len(), LISTED_MAX);
        assert_eq!(offered[0].label, "Overview");
    }

    #[test]
    fn a_role_is_offered_what_it_may_see() {
        let has = |role, label: &str| fixed(role).iter().any(|entry| entry.label == label);
        assert!(has(Role::Admin, "New token") && has(Role::Admin, "Access"));
        assert!(!has(Role::Viewer, "New token") && !has(Role::Viewer, "Access"));
    }

    #[test]
    fn entries_lead_to_their_pages() {
        let act = |entry: Entry| entry.act;
        assert_eq!(
            act(Entry::tenant("a/b")),
            Act::Go("/console/tenant?name=a%2Fb".to_owned())
        );
        assert_eq!(
            act(Entry::region("weur")),
            Act::Go("/console/regions/weur".to_owned())
        );
        assert_eq!(Entry::region("weur").label, "Western Europe (weur)");
        for entry in fixed(Role::Admin) {
            if let Act::Go(address) | Act::Part(address, _) = entry.act {
                assert!(Page::parse(&address).is_some(), "{address}");
            }
        }
    }

    #[test]
    fn what_is_looked_for_leads_to_the_part_of_the_page_that_has_it() {
        let all = fixed(Role::Admin);
        for (typed, first) in [
            ("api key", "Policy: API keys"),
            ("cost", "Overview: What decisions cost"),
            ("price", "Overview: What decisions cost"),
            ("tier", "Policy: Tiers"),
            ("limit", "Policy: Limits"),
            ("token", "New token"),
            ("region", "Regions"),
            ("plan", "Policy: Tiers"),
            ("rate limit", "Policy: Limits"),
            ("concurrency", "Policy: Guards"),
            ("roll back", "Revert a change"),
            ("create budget", "Add a budget"),
            ("permission", "Access: Roles"),
        ] {
            let found = labels(&all, typed);
            assert_eq!(
                found.first().map(String::as_str),
                Some(first),
                "{typed}: {found:?}"
            );
        }
        assert!(labels(&all, "token").contains(&"Access: Tokens".to_owned()));
        assert!(labels(&all, "region").contains(&"Policy: General".to_owned()));
    }

    #[test]
    fn another_word_for_it_comes_after_what_is_called_so() {
        let entries = [
            Entry::budget("quota").also(""),
            Entry::budget("tokens").also("quota"),
        ];
        assert_eq!(labels(&entries, "quota"), ["quota", "tokens"]);
        assert_eq!(labels(&entries, "uota"), ["quota"], "a word begins so");
    }

    #[test]
    fn a_viewer_is_offered_nothing_that_changes_the_policy() {
        let viewer = fixed(Role::Viewer);
        let changes = |label: &String| label.starts_with("Add ") || label.contains("Reset");
        let offered: Vec<_> = viewer.into_iter().map(|entry| entry.label).collect();
        assert!(!offered.iter().any(changes), "{offered:?}");
    }

    #[test]
    fn keys_go_round() {
        for (place, key, to) in [
            (1, "ArrowDown", Some(2)),
            (2, "ArrowDown", Some(0)),
            (0, "ArrowUp", Some(2)),
            (1, "End", Some(2)),
            (2, "Home", Some(0)),
            (1, "Enter", None),
        ] {
            assert_eq!(moved(place, key, 3), to, "{key}");
        }
        assert_eq!(moved(0, "ArrowDown", 0), None);
    }
}
