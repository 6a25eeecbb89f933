//! Names of models, and patterns of them.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{MODEL_PATTERN_BYTES_MAX, MODEL_PATTERNS_MAX};
use weir_core::ordered::OrderedSet;
use weir_wire::route::RouteBody;

use crate::count;

/// A model's name, in which `*` stands for any characters.
///
/// ```
/// use weir_policy::route::ModelPattern;
/// let every = ModelPattern::read("gpt-4o*").unwrap();
/// assert!(every.fits("gpt-4o") && every.fits("gpt-4o-mini") && !every.fits("gpt-4"));
/// assert_eq!((every.name(), ModelPattern::read("o1").unwrap().name()), (None, Some("o1")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPattern(String);

impl ModelPattern {
    /// Reads a pattern of 1 to 128 bytes.
    ///
    /// # Errors
    /// [`Fault::Missing`] for an empty one, [`Fault::TooMany`] for one that is too long.
    pub fn read(text: &str) -> Result<Self, Fault> {
        match text.len() {
            0 => Err(Fault::Missing),
            bytes if bytes > MODEL_PATTERN_BYTES_MAX => Err(too_long(text)),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The one name that it stands for; `None` where it stands for several.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.contains('*'))
    }

    /// How specific it is: a whole name before all patterns, then by the characters that it names.
    pub(super) fn rank(&self) -> (bool, usize) {
        let stars = self.0.bytes().filter(|byte| *byte == b'*').count();
        (stars == 0, self.0.len() - stars)
    }

    /// Whether it stands for a name.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let Some((begins, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let Some(mut name) = name.strip_prefix(begins) else {
            return false;
        };
        let (middle, ends) = rest.rsplit_once('*').unwrap_or(("", rest));
        // Each part where it first stands leaves the most for those after it.
        for part in middle.split('*') {
            let Some(at) = name.find(part) else {
                return false;
            };
            name = &name[at + part.len()..];
        }
        name.ends_with(ends)
    }
}

/// The models of a route; none for all.
///
/// # Errors
/// At `/models` or `/models/..`.
pub(super) fn models(body: &RouteBody) -> Result<Vec<ModelPattern>, Invalid> {
    let Some(given) = &body.models else {
        return Ok(Vec::new());
    };
    if given.is_empty() {
        return Err(Invalid::new("/models", Fault::Missing));
    }
    count("/models", "models", given.len(), MODEL_PATTERNS_MAX)?;
    let mut known = OrderedSet::new();
    let numbered = given.iter().enumerate();
    let patterns = numbered.map(|(index, text)| {
        let pattern = ModelPattern::read(text).and_then(|pattern| match known.insert(text) {
            true => Ok(pattern),
            false => Err(Fault::Duplicate { got: text.clone() }),
        });
        pattern.map_err(|fault| Invalid::new(format!("/models/{index}"), fault))
    });
    patterns.collect()
}

pub(super) fn too_long(text: &str) -> Fault {
    Fault::TooMany {
        got: text.len(),
        max: MODEL_PATTERN_BYTES_MAX,
        what: "bytes",
    }
}
