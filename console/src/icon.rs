//! Icons, each one path in a box of 24 by 24, drawn with strokes.
//!
//! They are of Lucide 1.62.0 (<https://lucide.dev>), under the ISC licence in `LICENSE-LUCIDE`; circles, lines and
//! rectangles are written as paths.

/// An icon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// The overview.
    Overview,
    /// Tenants.
    Tenants,
    /// Budgets.
    Budgets,
    /// Regions.
    Regions,
    /// The policy.
    Policy,
    /// The simulator.
    Simulator,
    /// Decisions.
    Decisions,
    /// The audit log.
    Activity,
    /// Tokens.
    Access,
    /// What the words mean.
    Glossary,
    /// What looks for something.
    Search,
    /// All is well.
    Good,
    /// Something needs attention.
    Warning,
    /// Something is wrong.
    Error,
    /// It is not known yet.
    Waiting,
    /// The way out.
    LogOut,
}

impl Icon {
    /// All of them.
    pub const ALL: [Self; 16] = [
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
        Self::Search,
        Self::Good,
        Self::Warning,
        Self::Error,
        Self::Waiting,
        Self::LogOut,
    ];

    /// The path.
    pub fn path(self) -> &'static str {
        match self {
            Self::Overview => {
                "M4 3h5a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-5a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1M15 3h5a1 1 0 0 1 1 1v3a1 1 0 0 1-1 1h-5a1 1 0 0 1-1-1v-3a1 1 0 0 1 1-1M15 12h5a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-5a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1M4 16h5a1 1 0 0 1 1 1v3a1 1 0 0 1-1 1h-5a1 1 0 0 1-1-1v-3a1 1 0 0 1 1-1"
            }
            Self::Tenants => {
                "M16 21v-2a4 4 0 0 0-4-4H6a4 4 0 0 0-4 4v2M16 3.128a4 4 0 0 1 0 7.744M22 21v-2a4 4 0 0 0-3-3.87M5 7a4 4 0 1 0 8 0a4 4 0 1 0 -8 0"
            }
            Self::Budgets => "M12 14l4-4M3.34 19a10 10 0 1 1 17.32 0",
            Self::Regions => {
                "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0M12 2a14.5 14.5 0 0 0 0 20 14.5 14.5 0 0 0 0-20M2 12h20"
            }
            Self::Policy => {
                "M6 22a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2h8a2.4 2.4 0 0 1 1.704.706l3.588 3.588A2.4 2.4 0 0 1 20 8v12a2 2 0 0 1-2 2zM14 2v5a1 1 0 0 0 1 1h5M10 9H8M16 13H8M16 17H8"
            }
            Self::Simulator => {
                "M14 2v6a2 2 0 0 0 .245.96l5.51 10.08A2 2 0 0 1 18 22H6a2 2 0 0 1-1.755-2.96l5.51-10.08A2 2 0 0 0 10 8V2M6.453 15h11.094M8.5 2h7"
            }
            Self::Decisions => "M3 5h.01M3 12h.01M3 19h.01M8 5h13M8 12h13M8 19h13",
            Self::Activity => {
                "M3 12a9 9 0 1 0 9-9 9.75 9.75 0 0 0-6.74 2.74L3 8M3 3v5h5M12 7v5l4 2"
            }
            Self::Access => {
                "M2 21l9.6-9.6M7.5 15.5l2.3 2.3a1 1 0 0 1 0 1.4l-2.1 2.1a1 1 0 0 1-1.4 0L4 19M10 7.5a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0"
            }
            Self::Glossary => {
                "M12 7v14M3 18a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h5a4 4 0 0 1 4 4 4 4 0 0 1 4-4h5a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1h-6a3 3 0 0 0-3 3 3 3 0 0 0-3-3z"
            }
            Self::Search => "M21 21l-4.34-4.34M3 11a8 8 0 1 0 16 0a8 8 0 1 0 -16 0",
            Self::Good => "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0M16 9l-5.5 5.5L8 12",
            Self::Warning => {
                "M21.73 18l-8-14a2 2 0 0 0-3.48 0l-8 14A2 2 0 0 0 4 21h16a2 2 0 0 0 1.73-3M12 9v4M12 17h.01"
            }
            Self::Error => "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0M12 8L12 12M12 16L12.01 16",
            Self::Waiting => {
                "M5 22h14M5 2h14M17 22v-4.172a2 2 0 0 0-.586-1.414L12 12l-4.414 4.414A2 2 0 0 0 7 17.828V22M7 2v4.172a2 2 0 0 0 .586 1.414L12 12l4.414-4.414A2 2 0 0 0 17 6.172V2"
            }
            Self::LogOut => "M16 17l5-5-5-5M21 12H9M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_icon_is_a_path_of_its_own() {
        let mut paths = Icon::ALL.map(Icon::path).to_vec();
        assert!(paths.iter().all(|path| path.starts_with('M')));
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), Icon::ALL.len());
    }
}
