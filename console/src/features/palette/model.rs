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
    /// What it does.
    pub act: Act,
}

impl Entry {
    fn go(kind: &'static str, label: String, address: String) -> Self {
        Self {
            label,
            kind,
            act: Act::Go(address),
        }
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

/// Pages, sections of the policy and actions, as far as the role has any use for them.
pub fn fixed(role: Role) -> Vec<Entry> {
    let pages = Page::nav(role).into_iter();
    let pages = pages.map(|page| Entry::go("Page", page.name().to_owned(), page.address()));
    let sections = Section::ALL.into_iter().map(|section| {
        Entry::go(
            "Policy",
            format!("Policy: {}", section.title()),
            section.address(None),
        )
    });
    let action = |label: &str, act| Entry {
        label: label.to_owned(),
        kind: "Action",
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
        action("Log out", Act::LogOut),
    ];
    let token = (role == Role::Admin)
        .then(|| action("New token", Act::Go(Page::Access.address_with("new=token"))));
    pages.chain(actions).chain(token).chain(sections).collect()
}

/// The entries that fit what is typed, the best first; all of them, in their order, while nothing is.
///
/// Each word has to be in the label or the kind. A label that begins so stands before one in which a word begins so, and
/// that before one that only has it within.
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
            if let Act::Go(address) = entry.act {
                assert!(Page::parse(&address).is_some(), "{address}");
            }
        }
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
