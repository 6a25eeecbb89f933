//! What regions are called by people: the platform's location hints are a few letters.

/// Hints of the platform, and what they stand for.
const NAMES: [(&str, &str); 11] = [
    ("wnam", "Western North America"),
    ("enam", "Eastern North America"),
    ("sam", "South America"),
    ("weur", "Western Europe"),
    ("eeur", "Eastern Europe"),
    ("apac", "Asia-Pacific"),
    ("apac-ne", "Northeast Asia-Pacific"),
    ("apac-se", "Southeast Asia-Pacific"),
    ("oc", "Oceania"),
    ("afr", "Africa"),
    ("me", "Middle East"),
];

/// What a region is called; none for one whose name is no hint of the platform.
///
/// ```
/// use weir_console::region_name::region_name;
/// assert_eq!(region_name("weur"), Some("Western Europe"));
/// assert_eq!(region_name("local"), None);
/// ```
pub fn region_name(region: &str) -> Option<&'static str> {
    let mut all = NAMES.into_iter();
    all.find(|(hint, _)| *hint == region).map(|(_, name)| name)
}

/// In full, with the short name that the policy has: `Western Europe (weur)`.
pub fn in_full(region: &str) -> String {
    match region_name(region) {
        Some(name) => format!("{name} ({region})"),
        None => region.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hint_has_a_name_of_its_own() {
        let mut names: Vec<_> = NAMES.into_iter().map(|(_, name)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMES.len());
        assert_eq!(in_full("apac"), "Asia-Pacific (apac)");
        assert_eq!(in_full("x1"), "x1");
    }
}
