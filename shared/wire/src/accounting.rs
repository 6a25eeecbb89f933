//! Counters as they travel from isolate to `Region` to `Ledger`.

pub mod counters;

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Sequence};

use super::by_name::ByName;
use super::count::Count;
use super::exchange::VERSION;
use super::operator::live::DecisionSample;
use super::stored::{Damaged, Row};
use super::telemetry::Telemetry;
use super::usage::Usage;
use super::windows::WindowParts;

/// The name under which tenants beyond the bound of names kept are counted together. The control character
/// keeps it apart from every tenant name, none of which may contain one.
pub const OTHERS: &str = "\u{1}others";

/// The name under which requests without a tenant are counted.
pub const ANONYMOUS: &str = "\u{1}anonymous";

/// What was decided, in calls and units. Every call is in exactly one of admitted, denied and what a shadow would have
/// denied; every unit in one of those, or reserved until it is settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Calls admitted, those included that reserved.
    pub admitted_calls: Count,
    /// Units used: those of a reservation count when it is settled, as it is settled, or in full when its time is over.
    pub admitted_units: Count,
    /// Calls denied.
    pub denied_calls: Count,
    /// Units denied.
    pub denied_units: Count,
    /// Units admitted beyond the tenant's guarantee, summed over the windows of a budget that are recorded.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub borrowed_units: Count,
    /// Calls that a shadow would have denied: they passed as far as it had a say.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny_calls: Count,
    /// Units that a shadow would have denied.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny_units: Count,
    /// Units of reservations that are open. On its way to a ledger: of those that were made.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub reserved_units: Count,
    /// On its way to a ledger: units of reservations that are open no more.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub released_units: Count,
}

/// What one meter let through and shed of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeterTally {
    /// Calls admitted.
    pub admitted_calls: Count,
    /// Units admitted.
    pub admitted_units: Count,
    /// Calls shed.
    pub shed_calls: Count,
    /// Units shed.
    pub shed_units: Count,
    /// Calls that a shadow would have denied.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny_calls: Count,
    /// Units that a shadow would have denied.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny_units: Count,
    /// Units of reservations, as in [`Tally`].
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub reserved_units: Count,
    /// Units of reservations that are open no more, as in [`Tally`].
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub released_units: Count,
}

/// What one guard let through and rejected of a tenant. Every decided call is in exactly one of the first five.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardTally {
    /// Calls that got a slot.
    pub allowed: Count,
    /// Calls rejected as all slots were taken.
    pub rejected_concurrency: Count,
    /// Calls rejected as the minute's budget was used up.
    pub rejected_budget: Count,
    /// Calls rejected as the guard was out of reach, or for any other reason.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub rejected_other: Count,
    /// Calls that a shadow would have rejected.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny: Count,
    /// Slots taken, as was last heard.
    pub in_flight: InFlight,
}

/// Slots taken at an instant. The newest word counts; without another they are all free again at `until`, when the
/// last lease has lapsed, as every later question would have brought a newer word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InFlight {
    /// Slots taken.
    pub slots: u64,
    /// When that was so.
    pub at: EpochMs,
    /// When the last of their leases lapses.
    pub until: EpochMs,
}

/// What one tenant was counted for, by budget, limit, meter, guard and overload resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TenantCounters {
    /// By budget name.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub budgets: ByName<Tally>,
    /// By limit name.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub limits: ByName<Tally>,
    /// By meter name.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub meters: ByName<MeterTally>,
    /// By guard name.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub guards: ByName<GuardTally>,
    /// By the name of the overload resource.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub overload: ByName<Tally>,
    /// Whether the policy names the tenant: it is kept by name before those that it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Whether `/metrics` lists the tenant by name: what is listed once stays so, and what is not is in one series.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

/// Counters by tenant.
pub type Counters = OrderedMap<String, TenantCounters>;

/// Reservations by the minute in which their time is over: of each tenant and name the units that were reserved, those of
/// them that are settled (`released`), and what settlements said was used of these (`admitted`).
pub type Reservations = OrderedMap<EpochMs, Counters>;

/// Counters on their way to the one that keeps them, counted exactly once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameBody {
    /// Version of the form.
    pub v: u16,
    /// Who counted.
    pub sender: HolderId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Which frame of that life.
    pub sequence: Sequence,
    /// The receiver's life that the sender last heard of; 0 when it has heard of none.
    pub receiver: Incarnation,
    /// Whether this frame was sent before.
    pub again: bool,
    /// What was counted since the last frame.
    pub counters: Counters,
    /// What was counted of windows since the last frame, by budget and label.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub windows: WindowParts,
    /// What was reserved since the last frame, and what came of reservations.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub reservations: Reservations,
    /// What running the deployment used of the platform since the last frame.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// What running it tells of itself since the last frame.
    #[serde(default, skip_serializing_if = "Telemetry::is_empty")]
    pub telemetry: Telemetry,
    /// Some of the decisions since the last frame, to be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<DecisionSample>,
}

/// What a settlement comes to for the accounts, kept by the region that settled it until the ledgers have counted it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledEntry {
    v: u16,
    /// What came of the reservation.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub reservations: Reservations,
    /// What that changes of windows which are the region's own.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub own: WindowParts,
    /// What that changes of windows of the whole deployment.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub windows: WindowParts,
}

impl SettledEntry {
    /// An entry of the present version that changes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            v: VERSION,
            ..Self::default()
        }
    }
}

impl Row for SettledEntry {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}

/// The answer to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameReply {
    /// The frame that this answers.
    pub sequence: Sequence,
    /// The receiver's life.
    pub receiver: Incarnation,
    /// False when the receiver cannot know whether an earlier life of it has counted the frame. What was sent once is
    /// then sent to this life; what was repeated is given up, as counting it twice would be worse.
    pub counted: bool,
}
