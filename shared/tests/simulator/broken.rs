//! Rules broken on purpose, by changing what passes between the shipped machines. A simulator that does not catch
//! them would not catch the same fault in the machines either.

/// One rule, broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A region replies before its watermark is durable.
    RegionRepliesBeforeWrite,
    /// A coordinator replies before its watermark is durable.
    CoordinatorRepliesBeforeWrite,
    /// A region that wakes takes nothing for lent.
    RegionWakesUnlent,
    /// A coordinator that wakes takes nothing for granted.
    CoordinatorWakesUnlent,
    /// A coordinator with an unreadable row lends the window again.
    DamagedWindowLentAgain,
    /// A watermark that is one unit below what was lent.
    WatermarkOneShort,
    /// A superseded instance goes on as if its writes had succeeded.
    FailedWriteIgnored,
    /// A region sends a return before the lower holding is durable.
    ReturnSentBeforeWrite,
    /// A holder keeps the units that it returned.
    ReturnKept,
    /// A reply that arrives twice is credited twice.
    ReplyCreditedTwice,
    /// A reply to an older message is credited.
    OlderReplyCredited,
    /// A repeated message is answered as a new one.
    ReplayAnsweredAsNew,
    /// A message shows an older reply as the last one seen, so that a credited grant is cancelled.
    StaleSeen,
    /// A window's end is counted from when the reply arrived.
    EndCountedFromReceipt,
    /// A window's end is read off the holder's own clock.
    EndReadOffOwnClock,
    /// What is left of one window is spent in the next.
    LeftoverCarriedOver,
    /// The coordinator opens a window under a label that was used.
    LabelUsedTwice,
    /// An isolate that restarts goes on with its old memory while the first still runs.
    IsolateForked,
    /// A part of a rolling window that is over is forgotten.
    HistoryForgotten,
    /// What parts of a rolling window lent is not in the row.
    HistoryNotStored,
    /// A pool is dropped when its window is over, though what was lent still counts.
    HistoryDropped,
    /// A pool that was dropped opens again under any label.
    FloorForgotten,
    /// A part that is made again after it was dropped goes on with its incarnation.
    IncarnationKept,
    /// What is given back is taken into whatever window is open.
    RefundIntoLaterWindow,
    /// A settlement that arrives twice is taken twice.
    RefundTakenTwice,
    /// What is given back counts as written when it is not.
    RefundCountedAsWritten,
}
