//! Rules broken on purpose, by changing what passes between the shipped machines. A simulator that does not catch
//! them would not catch the same fault in the machines either.

use weir_shared::federation::stored::StoredPool;
use weir_shared::ordered::OrderedMap;
use weir_shared::outlasting::Outlasting;
use weir_shared::units::WindowLabel;
use weir_shared::wire::exchange::{ExchangeBody, Grant, ReplyBody};

use super::World;

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
    /// What an object writes before it falls asleep is one unit below what was lent.
    RestsOneShort,
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
    /// What was lent of a window to come does not count when it opens.
    AheadForgottenAtRoll,
    /// A coordinator's row does not say what it has lent of windows to come.
    AheadNotWritten,
    /// A region's row does not say what it has lent on of windows to come.
    AheadLentOnNotWritten,
    /// A region that wakes takes nothing of windows to come for lent on.
    RegionWakesAheadUnlent,
    /// What a holder had of a window to come is in its lease once more when the window opens.
    AheadCountedTwice,
    /// Each life of a region is told all that its earlier lives were lent ahead.
    AheadToldToEveryLife,
    /// A window to come is lent from as if the limit had not been lowered.
    AheadOfOldLimit,
    /// A region opens a window to come as soon as it is told of it.
    WindowOpenedBeforeItsTime,
    /// Labels rise by one however many windows went by.
    LabelOutOfStep,
    /// What comes back of one window is taken into another.
    ReturnOfAnotherWindow,
    /// What a holder says that it has is lent to it again.
    HeldLentAgain,
    /// What was lent in windows that an edit closed early is forgotten.
    ClosedEarlyForgotten,
    /// A longer window does not count what was lent in the shorter one that it takes the place of.
    ShortWindowForgotten,
    /// Regions do not hear that a limit was lowered, so that they keep their slices.
    SlicesKept,
    /// An isolate forgets whom an answer decides.
    WaiterForgotten,
    /// An isolate's node is not woken when it said.
    NeverWoken,
    /// An isolate that moves to another object takes what it holds of the one before along.
    MovedWithUnits,
    /// A reply that was given up, and its grant cancelled, is credited when it comes after all.
    CancelledGrantKept,
}

impl World {
    /// What a broken rule makes of a reply to an isolate.
    pub(crate) fn bent(&mut self, life: usize, mut reply: ReplyBody) -> ReplyBody {
        let Some(rule) = self.setup.broken.filter(|_| !self.healed) else {
            return reply;
        };
        let now = self.isolate_now(life);
        let now_ms = self.now_ms;
        let isolate = &mut self.isolates[life];
        let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
        let awaited = isolate.asked.as_ref().map(|asked| asked.sequence);
        let expected = awaited == Some(reply.to.sequence);
        match rule {
            Broken::ReplyCreditedTwice if isolate.credited_last == Some(reply.to.sequence) => {
                isolate.smuggled += granted;
            }
            Broken::OlderReplyCredited if !expected => {
                reply.to.sequence = awaited.unwrap_or(reply.to.sequence);
            }
            Broken::CancelledGrantKept
                if !expected && isolate.credited_last < Some(reply.to.sequence) =>
            {
                isolate.smuggled += granted;
            }
            Broken::EndCountedFromReceipt => reply.window.remaining_ms += 400,
            Broken::EndReadOffOwnClock => {
                let ends_at_ms = now_ms + reply.window.remaining_ms + self.coordinator_offset_ms();
                reply.window.remaining_ms = ends_at_ms.saturating_sub(now.0);
            }
            Broken::LeftoverCarriedOver if expected => {
                let lease = isolate.node.holder().lease();
                let over = lease.filter(|lease| lease.label < reply.window.label);
                isolate.smuggled += over.map_or(0, weir_shared::federation::holder::Lease::balance);
            }
            _ => {}
        }
        let isolate = &mut self.isolates[life];
        if expected && isolate.smuggled > 0 {
            reply.grants.push(Grant {
                tenant: None,
                units: std::mem::take(&mut isolate.smuggled),
                ceiling: reply.window.limit,
                used: 0,
                left: 0,
                allowance: 0,
                contended: false,
                retry_ms: None,
            });
        }
        reply
    }

    /// What a broken rule makes of a coordinator's reply to a region.
    pub(crate) fn bent_above(&mut self, life: usize, mut reply: ReplyBody) -> ReplyBody {
        let region = self.lives[life].region;
        if self.is_broken(Broken::WindowOpenedBeforeItsTime) && !reply.ahead.is_empty() {
            reply.window.remaining_ms = 0;
            for ahead in &mut reply.ahead {
                ahead.starts_ms = 0;
            }
        }
        if self.setup.broken == Some(Broken::SlicesKept) {
            let limits = self.policy.iter().map(|terms| terms.limit);
            reply.window.limit = limits.max().unwrap_or(reply.window.limit);
        }
        if self.is_broken(Broken::AheadToldToEveryLife) {
            for ahead in &mut reply.ahead {
                let told = self.told_ahead.entry((region, ahead.label.0)).or_insert(0);
                *told = (*told).max(ahead.units);
                ahead.units = *told;
            }
        }
        reply
    }

    /// What a broken rule makes of a message to a region, or of one to a coordinator, whose window is `label`.
    pub(crate) fn bent_message(&self, label: WindowLabel, body: &mut ExchangeBody) {
        if self.is_broken(Broken::ReturnOfAnotherWindow) {
            for back in &mut body.returns {
                back.window = label;
            }
        }
        if self.is_broken(Broken::AheadOfOldLimit) && body.ahead > 0 {
            let limits = self.policy.iter().map(|terms| terms.limit);
            body.terms.limit = limits.max().unwrap_or(body.terms.limit);
            body.terms.revision.0 = self.policy.len() as u64 + 1;
        }
    }

    /// What a broken rule makes of a pool's row before a message is answered, `begun` windows after its own.
    pub(crate) fn bent_pool(&self, row: &StoredPool, begun: u64) -> Option<StoredPool> {
        let bent = match self.setup.broken? {
            Broken::AheadForgottenAtRoll => row.clone().with_ahead(OrderedMap::new()),
            Broken::ClosedEarlyForgotten if row.outlasting.is_some() => {
                row.clone().with_outlasting(Outlasting::default())
            }
            Broken::ShortWindowForgotten if self.policy.last()?.window_ms > row.window_ms => {
                let mut row = row.clone().with_history(Vec::new());
                row.watermark = 0;
                row
            }
            Broken::LabelOutOfStep if begun > 1 && row.label.0 >= begun => {
                let mut row = row.clone();
                row.label.0 -= begun - 1;
                row
            }
            _ => return None,
        };
        (begun > 0).then_some(bent)
    }
}
