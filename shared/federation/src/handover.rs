//! What the share of a region is held to while a static partition changes.

use weir_core::limits::HANDOVER_MS;
use weir_core::units::EpochMs;
use weir_wire::saved_policy::HandoverBody;

/// What a region's share is held to, whatever the policy says by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handover {
    /// Units of a window, at most.
    pub limit: u64,
    /// Windows that begin at this or later are not held to it.
    pub until: EpochMs,
}

impl Handover {
    /// What the share of `region` is held to.
    ///
    /// ```
    /// use weir_federation::handover::Handover;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::saved_policy::HandoverBody;
    /// let body = HandoverBody { since: EpochMs(5_000), before: [("weur".to_owned(), 100)].into() };
    /// let held = |region| Handover::of(&body, region);
    /// assert_eq!(held("weur"), Handover { limit: 100, until: EpochMs(65_000) });
    /// assert_eq!(held("oc").limit, 0); // it was not there
    /// ```
    #[must_use]
    pub fn of(body: &HandoverBody, region: &str) -> Self {
        Self {
            limit: body.before.get(region).copied().unwrap_or(0),
            until: until(body),
        }
    }

    /// Units of a window that begins at `starts_at`, of which the policy allows `limit`.
    #[must_use]
    pub fn allows(&self, limit: u64, starts_at: EpochMs) -> u64 {
        if starts_at < self.until {
            limit.min(self.limit)
        } else {
            limit
        }
    }
}

/// From when on windows are not held to it.
#[must_use]
pub fn until(body: &HandoverBody) -> EpochMs {
    body.since.plus(HANDOVER_MS)
}
