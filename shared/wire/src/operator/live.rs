//! `GET /operator/v1/live`: what happens, as it happens, over a WebSocket.
//!
//! A socket is told by the ledger of one region: the one that is nearest, unless `?region=` names another.
//! Every message has a sequence number that rises and never comes again. Who reconnects with the last one that it saw
//! (`?after=`) gets what it missed, or a [`LiveEvent::Gap`] when that is no longer there.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Sequence};

use super::live_holder::LiveHolder;
use crate::accounting::TenantCounters;
use crate::check::Reason;

/// What a socket can be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// What was counted since the message before, by region.
    Accounting,
    /// Single decisions, some of many.
    Decisions,
    /// Which regions were heard of, and when.
    Health,
}

impl Channel {
    /// Every channel.
    pub const ALL: [Self; 3] = [Self::Accounting, Self::Decisions, Self::Health];

    /// Its name in a query.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accounting => "accounting",
            Self::Decisions => "decisions",
            Self::Health => "health",
        }
    }

    /// The channel of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.name() == name)
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveMessage {
    /// Its number.
    pub sequence: Sequence,
    /// The number of the message before, on whatever channel: who has not seen that one missed it. 0 for the first.
    pub previous: Sequence,
    /// When, epoch milliseconds.
    pub at: EpochMs,
    /// What.
    #[serde(flatten)]
    pub event: LiveEvent,
}

/// What a message tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "channel", rename_all = "snake_case")]
pub enum LiveEvent {
    /// The first message on a socket: what it will be told, and whether it continues where it left off.
    Hello {
        /// The region whose ledger tells.
        region: String,
        /// The channels.
        channels: Vec<Channel>,
        /// Whether all that came after the number it named follows.
        resumed: bool,
    },
    /// What was missed is no longer there: read the reports anew.
    Gap {
        /// The number that it named.
        after: Sequence,
    },
    /// What one region counted.
    Accounting {
        /// The region.
        region: String,
        /// By tenant: those with the most calls by name, the rest together.
        tenants: OrderedMap<String, TenantCounters>,
    },
    /// Some of the decisions of one region.
    Decisions {
        /// The region.
        region: String,
        /// The decisions.
        samples: Vec<DecisionSample>,
    },
    /// The regions that were heard of.
    Health {
        /// When each last told what it counted, epoch milliseconds.
        regions: OrderedMap<String, EpochMs>,
    },
}

impl LiveEvent {
    /// The channel that it belongs to; `None` for what every socket is told.
    #[must_use]
    pub fn channel(&self) -> Option<Channel> {
        match self {
            Self::Hello { .. } | Self::Gap { .. } => None,
            Self::Accounting { .. } => Some(Channel::Accounting),
            Self::Decisions { .. } => Some(Channel::Decisions),
            Self::Health { .. } => Some(Channel::Health),
        }
    }
}

/// What a socket asks for, as it travels to the ledger and stays with the socket while the ledger sleeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveAsk {
    /// The ledger's region.
    pub region: String,
    /// The channels.
    pub channels: Vec<Channel>,
    /// The number of the last message that it saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sequence>,
    /// Who asks; absent where an earlier version opened the socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LiveHolder>,
}

impl LiveAsk {
    /// Whether a message is for this socket.
    #[must_use]
    pub fn wants(&self, message: &LiveMessage) -> bool {
        let channel = message.event.channel();
        channel.is_none_or(|channel| self.channels.contains(&channel))
    }
}

/// One decision, of many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionSample {
    /// When, epoch milliseconds.
    pub at: EpochMs,
    /// The tenant; absent where none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Whether it was admitted.
    pub allowed: bool,
    /// What decided.
    pub binding: String,
    /// Why.
    pub reason: Reason,
    /// Whether it passed where a shadow would have denied it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub would_deny: bool,
    /// What leads to the explanation of a denial; absent where it passed, and from an older isolate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}
