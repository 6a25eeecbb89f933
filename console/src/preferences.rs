//! How the person at the console likes it. The browser keeps it, for this machine alone.

use form_urlencoded::{Serializer, parse};

#[cfg(target_arch = "wasm32")]
use leptos::prelude::*;

/// Light or dark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system has it.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// Every one, in the order that they are offered.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "System",
            Self::Light => "Light",
            Self::Dark => "Dark",
        }
    }

    /// Its name where it is kept, and in the page's `data-theme`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The one of that name.
    ///
    /// ```
    /// use weir_console::preferences::Theme;
    /// assert_eq!(Theme::from_slug("dark"), Some(Theme::Dark));
    /// assert_eq!(Theme::from_slug("Dark"), None);
    /// ```
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.slug() == slug)
    }
}

/// The zone that times are shown in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Zone {
    /// The same for everybody.
    #[default]
    Utc,
    /// The machine's own.
    Local,
}

impl Zone {
    /// Every one, in the order that they are offered.
    pub const ALL: [Self; 2] = [Self::Utc, Self::Local];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utc => "UTC",
            Self::Local => "Local time",
        }
    }

    /// Its name where it is kept.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Utc => "utc",
            Self::Local => "local",
        }
    }

    /// The one of that name.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|zone| zone.slug() == slug)
    }
}

/// What is preferred, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preferred {
    /// Light or dark.
    pub theme: Theme,
    /// The zone of times.
    pub zone: Zone,
    /// Whether single keys are shortcuts.
    pub shortcuts: bool,
}

impl Default for Preferred {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            zone: Zone::default(),
            shortcuts: true,
        }
    }
}

impl Preferred {
    /// Reads what was kept; what it does not know counts as not preferred.
    pub fn parse(text: &str) -> Self {
        let mut preferred = Self::default();
        for (name, value) in parse(text.as_bytes()) {
            match &*name {
                "theme" => preferred.theme = Theme::from_slug(&value).unwrap_or_default(),
                "zone" => preferred.zone = Zone::from_slug(&value).unwrap_or_default(),
                "shortcuts" => preferred.shortcuts = value != "off",
                _ => {}
            }
        }
        preferred
    }

    /// What is kept of it.
    pub fn text(self) -> String {
        Serializer::new(String::new())
            .append_pair("theme", self.theme.slug())
            .append_pair("zone", self.zone.slug())
            .append_pair("shortcuts", if self.shortcuts { "on" } else { "off" })
            .finish()
    }
}

/// What is preferred, as the page follows it: a change is shown at once, and kept.
#[cfg(target_arch = "wasm32")]
#[derive(Clone, Copy)]
pub struct Preferences {
    /// Light or dark.
    pub theme: RwSignal<Theme>,
    /// The zone of times.
    pub zone: RwSignal<Zone>,
    /// Whether single keys are shortcuts.
    pub shortcuts: RwSignal<bool>,
}

#[cfg(target_arch = "wasm32")]
impl Preferences {
    const KEPT_AS: &'static str = "weir.preferences";

    /// As they were kept. A browser that keeps nothing begins with the defaults.
    pub fn load() -> Self {
        let kept = storage().and_then(|storage| storage.get_item(Self::KEPT_AS).ok().flatten());
        let kept = Preferred::parse(&kept.unwrap_or_default());
        let preferences = Self {
            theme: RwSignal::new(kept.theme),
            zone: RwSignal::new(kept.zone),
            shortcuts: RwSignal::new(kept.shortcuts),
        };
        // At once: an effect would run after the first frame.
        paint(kept.theme);
        Effect::new(move |before: Option<Preferred>| {
            let preferred = preferences.get();
            if before.is_some_and(|before| before != preferred) {
                paint(preferred.theme);
                keep(Self::KEPT_AS, &preferred.text());
            }
            preferred
        });
        preferences
    }

    fn get(self) -> Preferred {
        Preferred {
            theme: self.theme.get(),
            zone: self.zone.get(),
            shortcuts: self.shortcuts.get(),
        }
    }
}

#[cfg(target_arch = "wasm32")]
fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

#[cfg(target_arch = "wasm32")]
fn keep(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // A full or forbidden store keeps nothing; the page is as it was asked to be all the same.
        let _ = storage.set_item(name, text);
    }
}

#[cfg(target_arch = "wasm32")]
fn paint(theme: Theme) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-theme", theme.slug());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        for theme in Theme::ALL {
            for zone in Zone::ALL {
                for shortcuts in [true, false] {
                    let preferred = Preferred {
                        theme,
                        zone,
                        shortcuts,
                    };
                    assert_eq!(Preferred::parse(&preferred.text()), preferred);
                }
            }
        }
    }

    #[test]
    fn what_is_not_understood_leaves_the_defaults() {
        let default = Preferred::default();
        let dark = Preferred {
            theme: Theme::Dark,
            ..default
        };
        for (text, expected) in [
            ("", default),
            ("%%%=&&&", default),
            ("theme=sepia&zone=mars&shortcuts=perhaps", default),
            ("colour=red&theme=dark", dark),
            ("theme=dark&zone=", dark),
        ] {
            assert_eq!(Preferred::parse(text), expected, "{text}");
        }
    }
}
