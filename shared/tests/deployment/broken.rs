//! Rules broken on purpose, by changing what passes between the shipped machines.

/// One rule, broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A coordinator answers before its row is written.
    CoordinatorRepliesBeforeWrite,
    /// A region answers before its row is written.
    RegionRepliesBeforeWrite,
    /// What was lent of windows to come is not in the coordinator's row.
    AheadNotStored,
    /// A reply to an older message is credited.
    OlderReplyCredited,
    /// A message shows an older reply as the last one seen, so that a credited grant is cancelled.
    StaleSeen,
    /// A coordinator that another has replaced goes on as if its writes had succeeded.
    FailedWriteIgnored,
    /// A holder keeps the units that it returned.
    ReturnKept,
    /// The end of a window is counted from when the reply arrived.
    EndCountedFromReceipt,
    /// A coordinator opens its window anew when the policy is edited.
    EditOpensAnew,
    /// A region that wakes takes nothing for lent.
    RegionWakesUnlent,
}
