//! How a command ends: what a script learns of it without reading a word.

use std::process::ExitCode;

/// The exit status of a command that did what it was asked to. One that did not ends with [`FAILED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is done, or nothing differs.
    Done,
    /// Something differs.
    Differs,
    /// Something differs, and a tenant is starved by it.
    Starves,
}

/// The exit status of a command that did not do what it was asked to, a wrong use of it included.
pub const FAILED: u8 = 1;

impl Ending {
    /// The number.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Differs => 2,
            Self::Starves => 3,
        }
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        Self::from(ending.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_endings_are_alike_and_none_is_a_failure() {
        let statuses = [Ending::Done, Ending::Differs, Ending::Starves].map(Ending::status);
        assert_eq!(statuses, [0, 2, 3]);
        assert!(!statuses.contains(&FAILED));
    }
}
