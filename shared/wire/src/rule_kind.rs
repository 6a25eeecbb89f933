//! The kinds of rules that decide.

use serde::{Deserialize, Serialize};

/// What kind of rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// A budget.
    Budget,
    /// A limit.
    Limit,
    /// A meter.
    Meter,
    /// A guard.
    Guard,
    /// An overload resource.
    Overload,
}

impl RuleKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Budget,
        Self::Limit,
        Self::Meter,
        Self::Guard,
        Self::Overload,
    ];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Meter => "meter",
            Self::Guard => "guard",
            Self::Overload => "overload",
        }
    }

    /// The kind of that name.
    ///
    /// ```
    /// use weir_wire::rule_kind::RuleKind;
    /// assert_eq!(RuleKind::named("guard"), Some(RuleKind::Guard));
    /// assert_eq!(RuleKind::named("guards"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
