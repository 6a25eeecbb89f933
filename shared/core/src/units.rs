//! Newtypes where two numbers could be swapped. Each says its unit and its range.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// A point in time: milliseconds since 1970-01-01T00:00:00Z, below 2^53.
    EpochMs
);
number!(
    /// A window's label: the coordinator's count of the windows it opened, from 1.
    WindowLabel
);
number!(
    /// A policy revision, from 1; 0 stands for none.
    Revision
);
number!(
    /// Which life of a holder or parent speaks: it rises each time the object wakes. 0 stands for none.
    Incarnation
);
number!(
    /// The number of a message within one incarnation, from 1.
    Sequence
);
number!(
    /// Names one question to the keys of a region: a random number.
    OpId
);
number!(
    /// Who holds a lease: a random number for an isolate, a hash of its name for a region.
    HolderId
);

impl HolderId {
    /// The id of a holder that is known by its name: FNV-1a (Fowler, Noll, Vo; 64 bit).
    ///
    /// ```
    /// use weir_core::units::HolderId;
    /// assert_eq!(HolderId::of_name("weur"), HolderId::of_name("weur"));
    /// assert_ne!(HolderId::of_name("weur"), HolderId::of_name("eeur"));
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(hash)
    }
}

impl EpochMs {
    /// This time plus `ms`, saturating.
    ///
    /// ```
    /// use weir_core::units::EpochMs;
    /// assert_eq!(EpochMs(1_000).plus(500), EpochMs(1_500));
    /// ```
    #[must_use]
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this time; 0 when `earlier` is not earlier.
    ///
    /// ```
    /// use weir_core::units::EpochMs;
    /// assert_eq!(EpochMs(1_500).since(EpochMs(1_000)), 500);
    /// assert_eq!(EpochMs(1_000).since(EpochMs(1_500)), 0);
    /// ```
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
