//! What happens when: an ordered queue of events in true time.

use weir_shared::ordered::OrderedMap;
use weir_shared::units::{Sequence, WindowLabel};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, ReplyBody};

/// An answer to a message.
pub(crate) type Answer = Result<ReplyBody, Refusal>;

/// Who sends a message to a region's object, or is answered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    /// A life of an isolate.
    Isolate(usize),
    /// A life of a branch.
    Branch(usize),
}

/// What happens to one part. Indices name a life, not a place: what is sent to a dead one is lost.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A request arrives at one of the isolates' places.
    Asked { place: usize },
    /// A steady asker's next request.
    Asker { index: usize },
    /// A request that may still wait goes away.
    RequestLeft { isolate: usize, request: u64 },
    /// The instant may have come that an isolate's node named.
    IsolateWoke { life: usize },
    /// A message reaches a region, whichever life answers there.
    AtRegion {
        region: usize,
        from: From,
        body: ExchangeBody,
    },
    /// A region's answer reaches an isolate.
    AtIsolate {
        isolate: usize,
        sequence: Sequence,
        answer: Answer,
    },
    /// An isolate's call has passed its deadline.
    IsolateCallExpired { isolate: usize, sequence: Sequence },
    /// A message reaches the coordinator, whichever life answers there.
    AtCoordinator { from: usize, body: ExchangeBody },
    /// The answer of what is above it reaches a region, or a branch.
    FromAbove {
        life: usize,
        sequence: Sequence,
        answer: Answer,
    },
    /// A region's call has passed its deadline.
    RegionCallExpired { life: usize, sequence: Sequence },
    /// The instant has come that a region's node named.
    RegionWoke { life: usize },
    /// The timer of an isolate's place.
    IsolateTimer { place: usize },
    /// The timer of a region.
    RegionTimer { region: usize },
    /// An isolate learns that a request which it admitted is denied elsewhere.
    DeniedElsewhere { isolate: usize, admission: usize },
    /// What a settled reservation gives back reaches a region.
    Settled { region: usize, back: Back },
    /// Idle parts are dropped.
    Swept,
    /// One isolate dies, and after a while the next.
    Death { place: usize },
    /// Something goes wrong.
    Fault,
    /// A part hears of the policy in force.
    PolicyHeard { region: usize },
    /// From here on nothing goes wrong.
    Healed,
}

/// Units that a reservation gives back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Back {
    /// Which reservation.
    pub(crate) id: u64,
    /// The window that it was charged to.
    pub(crate) label: WindowLabel,
    pub(crate) units: u64,
    /// On whose behalf, where the pool was shared.
    pub(crate) tenant: Option<usize>,
}

/// Events in the order of their time, then of their making.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    events: OrderedMap<(u64, u64), Event>,
    made: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, at_ms: u64, event: Event) {
        self.made += 1;
        self.events.insert((at_ms, self.made), event);
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, Event)> {
        let ((at_ms, _), event) = self.events.pop_first()?;
        Some((at_ms, event))
    }
}
