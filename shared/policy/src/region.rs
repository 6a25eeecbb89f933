//! Which region decides a request, from where on earth it arrived.

/// Where a request arrived, as the platform tells it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival<'a> {
    /// Two-letter continent code, such as `EU`.
    pub continent: Option<&'a str>,
    /// Degrees east, from -180 to 180.
    pub longitude: Option<f64>,
}

/// The regions nearest to an arrival, nearest first; all are location hints of the platform.
///
/// South America, Africa and the Middle East may host no objects, so the nearest region that does comes second.
///
/// ```
/// use weir_policy::region::{nearest, Arrival};
/// let arrival = Arrival { continent: Some("NA"), longitude: Some(-122.0) };
/// assert_eq!(nearest(arrival)[0], "wnam");
/// ```
#[must_use]
pub fn nearest(arrival: Arrival<'_>) -> &'static [&'static str] {
    let east = arrival.longitude.unwrap_or(0.0);
    match arrival.continent {
        Some("NA") if east < -100.0 => &["wnam", "enam"],
        Some("NA") => &["enam", "wnam"],
        Some("SA") => &["sam", "enam", "wnam"],
        Some("EU") if east < 15.0 => &["weur", "eeur", "enam"],
        Some("EU") => &["eeur", "weur", "enam"],
        Some("AF") => &["afr", "weur", "eeur"],
        Some("AS") if (25.0..60.0).contains(&east) => &["me", "eeur", "weur"],
        Some("AS") => &["apac", "oc", "wnam"],
        Some("OC") => &["oc", "apac", "wnam"],
        _ => &["enam", "weur"],
    }
}

/// The region of `regions` that decides: the first of the nearest that the policy has, else its home.
///
/// ```
/// use weir_policy::region::{choose, Arrival};
/// let regions = ["weur".to_owned(), "apac".to_owned()];
/// let arrival = Arrival { continent: Some("AF"), longitude: Some(36.8) };
/// assert_eq!(choose(arrival, &regions, "apac"), "weur");
/// assert_eq!(choose(Arrival::default(), &regions[1..], "apac"), "apac");
/// ```
#[must_use]
pub fn choose<'a>(arrival: Arrival<'_>, regions: &'a [String], home: &'a str) -> &'a str {
    let mut near = nearest(arrival).iter();
    let found = near.find_map(|hint| regions.iter().find(|region| region == hint));
    found.map_or(home, String::as_str)
}
