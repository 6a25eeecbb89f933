//! Single keys that do something: which key does what, and when a key is not meant for them.

use crate::address::Page;

/// How long after `g` the key of a page may follow.
pub const SEQUENCE_MS: u64 = 1_500;

/// What a shortcut does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Opens the list of shortcuts.
    Panel,
    /// Puts the focus into the search.
    Search,
    /// Pauses the live figures, or lets them go on.
    Live,
    /// Goes to a page.
    Go(Page),
}

impl Action {
    /// What it does, in words.
    pub fn name(&self) -> String {
        match self {
            Self::Panel => "Show the shortcuts".to_owned(),
            Self::Search => "Go to the search of the page".to_owned(),
            Self::Live => "Pause or resume live updates".to_owned(),
            Self::Go(page) => format!("Go to {}", page.name()),
        }
    }
}

/// The keys that stand alone.
const SINGLE: [(&str, Action); 3] = [
    ("?", Action::Panel),
    ("/", Action::Search),
    ("l", Action::Live),
];

/// Keys that are held together with Ctrl, or with ⌘ on a Mac, and what they do. They act whether single keys do or not.
pub const HELD: [([&str; 2], &str); 2] = [
    (
        ["Ctrl", "K"],
        "Go to any tenant, budget, region, page, section or task",
    ),
    (
        ["Ctrl", "Z"],
        "Undo the last change of the policy's draft, outside of a field",
    ),
];

/// The key before that of a page.
const BEFORE_PAGES: &str = "g";

/// The pages of the navigation with their keys.
fn keyed() -> impl Iterator<Item = (&'static str, Page)> {
    Page::NAV
        .into_iter()
        .filter_map(|page| Some((page.key()?, page)))
}

/// Every shortcut, as its keys and what they do. Pages that are not in the navigation are left out.
pub fn listed(pages: &[Page]) -> Vec<(Vec<&'static str>, Action)> {
    let single = SINGLE.map(|(key, action)| (vec![key], action));
    let to_pages = keyed()
        .filter(|(_, page)| pages.contains(page))
        .map(|(key, page)| (vec![BEFORE_PAGES, key], Action::Go(page)));
    single.into_iter().chain(to_pages).collect()
}

/// A key that was pressed, and where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Press<'a> {
    /// The key, as the browser names it.
    pub key: &'a str,
    /// Whether Control, Alt or Meta is held: such a key is the browser's.
    pub modified: bool,
    /// Whether the focus is in something that takes letters.
    pub typing: bool,
    /// Whether a dialog is open.
    pub in_dialog: bool,
    /// When, on the page's clock.
    pub at_ms: u64,
}

/// What was pressed before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keys {
    go_at_ms: Option<u64>,
}

impl Keys {
    /// What the key does, if anything.
    pub fn press(&mut self, press: Press<'_>) -> Option<Action> {
        let go_at_ms = self.go_at_ms.take();
        if press.modified || press.typing || press.in_dialog {
            return None;
        }
        let follows = go_at_ms.is_some_and(|go_at_ms| press.at_ms < go_at_ms + SEQUENCE_MS);
        if follows {
            return keyed()
                .find(|(key, _)| *key == press.key)
                .map(|(_, page)| Action::Go(page));
        }
        if press.key == BEFORE_PAGES {
            self.go_at_ms = Some(press.at_ms);
            return None;
        }
        SINGLE
            .into_iter()
            .find(|(key, _)| *key == press.key)
            .map(|(_, action)| action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(keys: &[(&str, u64)]) -> Vec<Option<Action>> {
        let mut state = Keys::default();
        let one = |(key, at_ms): &(&str, u64)| {
            state.press(Press {
                key,
                at_ms: *at_ms,
                ..Press::default()
            })
        };
        keys.iter().map(one).collect()
    }

    #[test]
    fn keys_do_what_the_list_says() {
        for (keys, action) in listed(&Page::NAV) {
            let pressed = pressed(&keys.iter().map(|key| (*key, 0)).collect::<Vec<_>>());
            assert_eq!(pressed.last().unwrap().as_ref(), Some(&action), "{keys:?}");
        }
    }

    #[test]
    fn keys_with_ctrl_are_listed_and_are_no_single_keys() {
        let told = HELD.map(|(keys, _)| keys.join("+"));
        assert_eq!(told, ["Ctrl+K", "Ctrl+Z"]);
        for ([_, key], _) in HELD {
            let held = Press {
                key,
                modified: true,
                ..Press::default()
            };
            assert_eq!(Keys::default().press(held), None, "{key}");
        }
    }

    #[test]
    fn the_list_reaches_every_page_of_the_navigation_and_no_other() {
        let reached = |pages: &[Page]| {
            let go = |(_, action)| match action {
                Action::Go(page) => Some(page),
                _ => None,
            };
            listed(pages).into_iter().filter_map(go).collect::<Vec<_>>()
        };
        assert_eq!(reached(&Page::NAV).len(), Page::NAV.len());
        assert_eq!(reached(&[Page::Regions]), [Page::Regions]);
    }

    #[test]
    fn no_key_means_two_things() {
        let mut keys: Vec<_> = listed(&Page::NAV)
            .into_iter()
            .map(|(keys, _)| keys)
            .collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn a_page_s_key_counts_only_right_after_g() {
        let tenants = Some(Action::Go(Page::Tenants));
        for (keys, last) in [
            (vec![("t", 0)], None),
            (vec![("g", 0), ("t", SEQUENCE_MS - 1)], tenants.clone()),
            (vec![("g", 0), ("t", SEQUENCE_MS)], None),
            (vec![("g", 0), ("x", 1), ("t", 2)], None),
            (vec![("g", 0), ("g", 1), ("t", 2)], None),
            (vec![("g", 0), ("t", 1), ("t", 2)], None),
            // Once `g` has lapsed, a key has its own meaning again.
            (vec![("g", 0), ("l", SEQUENCE_MS)], Some(Action::Live)),
            (
                vec![("g", 0), ("g", SEQUENCE_MS), ("t", SEQUENCE_MS + 1)],
                tenants,
            ),
        ] {
            assert_eq!(pressed(&keys).pop().unwrap(), last, "{keys:?}");
        }
    }

    #[test]
    fn no_shortcut_takes_a_key_from_what_it_was_meant_for() {
        let plain = Press {
            key: "l",
            ..Press::default()
        };
        assert_eq!(Keys::default().press(plain), Some(Action::Live));
        for elsewhere in [
            Press {
                modified: true,
                ..plain
            },
            Press {
                typing: true,
                ..plain
            },
            Press {
                in_dialog: true,
                ..plain
            },
        ] {
            assert_eq!(Keys::default().press(elsewhere), None, "{elsewhere:?}");
            // Nor does it count as the first of two.
            let mut keys = Keys::default();
            keys.press(Press {
                key: "g",
                ..elsewhere
            });
            let tenants = Press { key: "t", ..plain };
            assert_eq!(keys.press(tenants), None);
        }
    }
}
