//! Windows of budgets, as ledgers keep them: who was served what of each, and what became of what was lent.

mod sums;

pub use self::sums::minute_of;

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};

use super::count::{Count, is_zero};
use super::decimal::Decimal;
use super::exchange::VERSION;
use super::stored::{Damaged, Row};

/// What was counted of windows, by budget and label.
pub type WindowParts = OrderedMap<String, OrderedMap<WindowLabel, WindowPart>>;

/// What one holder counted of one window. Parts add up, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowPart {
    /// Units of the whole window, over all who share it.
    pub limit: u64,
    /// Its end, as the holder knew it.
    pub ends_at: EpochMs,
    /// The region, where the windows are a region's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// By tenant.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub tenants: OrderedMap<String, TenantPart>,
    /// Where tenants that asked stand below others, and what those claim. Absent where all stand at the top.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub tree: OrderedMap<String, BranchPart>,
    /// Units that are set aside by name at the top, for whoever asks or not.
    #[serde(skip_serializing_if = "is_zero")]
    pub floors: u64,
    /// The weight in millionths that tenants which the policy does not name have together, at most; absent for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_weight_max: Option<u64>,
    /// Whether all count as if they weighed the same, whatever their weights are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub equal: bool,
    /// What was reserved of it.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub reservations: HeldParts,
    /// Units that the holder still had when the window was over, and those that were given back when it was.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub lapsed: Count,
    /// Units that isolates which died had, as the region counts that lent them.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub unaccounted: Count,
}

/// What one tenant was counted for in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TenantPart {
    /// Its weight, in millionths.
    pub weight_micros: u64,
    /// Units that are set aside for it.
    #[serde(skip_serializing_if = "is_zero")]
    pub floor: u64,
    /// Whether they are so by its name, and not by its tier.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub floor_by_name: bool,
    /// Units that it may use, whatever else is free; absent for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// Whether the policy names it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Units used, those included that a settlement charged beyond what was reserved. What is reserved counts when it is
    /// settled, or in full when its time is over.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub admitted: Count,
    /// Units of those that a settlement gave back, as earlier versions told it.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub refunded: Count,
    /// Units denied.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub denied: Count,
    /// Units that a shadow would have denied.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny: Count,
    /// Units used beyond a reservation that no window had room for.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub beyond: Count,
}

/// Where a tenant stands that is below another or above one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BranchPart {
    /// The tenant above it; absent at the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its weight in millionths, where it stands above one that asked; what it claims for itself is in its own part.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_micros: u64,
    /// Units that are set aside for it, as above.
    #[serde(skip_serializing_if = "is_zero")]
    pub floor: u64,
    /// Whether they are so by its name, and not by its tier.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub floor_by_name: bool,
    /// Units that all below it may use together; absent for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// Units that are set aside by name for those right below it.
    #[serde(skip_serializing_if = "is_zero")]
    pub floors: u64,
}

/// Reservations of one window, by the minute in which their time is over, and by tenant.
pub type HeldParts = OrderedMap<EpochMs, OrderedMap<String, HeldPart>>;

/// Reservations of one tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeldPart {
    /// Units that were reserved.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub reserved: Count,
    /// Units of those that are settled.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub released: Count,
}

/// What the root of a budget knows of a window that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedWindow {
    /// The window.
    pub label: WindowLabel,
    /// Its end.
    pub ends_at: EpochMs,
    /// Units of the whole window.
    pub limit: u64,
    /// Units that were lent, each time that they were.
    pub granted: u64,
    /// Units of those that came back to the root.
    pub returned: u64,
    /// False when the root woke in the window: it then takes everything below its durable mark for granted.
    pub exact: bool,
}

/// Asks the root of a budget for its windows from `from` on that are over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedBody {
    /// The budget.
    pub budget: String,
    /// The first label that is asked for.
    pub from: WindowLabel,
}

/// The answer, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClosedReply {
    /// The windows.
    pub windows: Vec<ClosedWindow>,
}

/// The fairness record of one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowRecord {
    /// The budget.
    pub budget: String,
    /// The region, of a budget whose windows are a region's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The window.
    pub label: WindowLabel,
    /// Its end.
    pub ends_at: EpochMs,
    /// Units of the whole window.
    pub limit: u64,
    /// Whether the window is over and all that is expected of it has arrived.
    pub complete: bool,
    /// Units that the root lent; `None` until it has said so.
    pub granted: Option<Count>,
    /// Units used: the sum over the tenants.
    pub admitted: Count,
    /// Units of reservations that are open.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub reserved: Count,
    /// Units used beyond reservations that no window had room for: in none of the other figures.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub beyond: Count,
    /// Units that came back, or lapsed with a holder that lived to say so.
    pub returned: Count,
    /// Units that isolates which died had leased, as the regions count that lent them: 0 when none died; `None` with
    /// `granted`.
    pub unaccounted: Option<Count>,
    /// Whether `granted = admitted + reserved + returned + unaccounted`, each counted by itself. Not so where a region or
    /// the root died or slept within the window, and what it lent is known as an upper bound alone.
    pub exact: bool,
    /// Units denied.
    pub denied: Count,
    /// Units that a shadow would have denied.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub would_deny: Count,
    /// Jain's index of `served / entitlement` over the tenants that asked: 1 when all were served alike.
    pub jain: Option<Decimal>,
    /// Tenants that asked.
    pub tenants_seen: u64,
    /// The sum of the weights as they count, of those that asked and stand below nobody and of those above the others that
    /// asked: what `counts_as` is a part of. Absent where nobody has a weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Decimal>,
    /// Those that used or asked for most, by name; the last entry may be `others`.
    pub tenants: Vec<WindowTenant>,
}

/// One tenant in one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowTenant {
    /// The tenant.
    pub tenant: String,
    /// Its weight; of `others` the sum.
    pub weight: Decimal,
    /// The tenant above it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its weight as it counts among all that asked: of a tenant below another its part of what that one has, and where
    /// shares are equal, 1. Absent where that is its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_as: Option<Decimal>,
    /// Units it was guaranteed: its floor, and `weight * (limit - floors) / weights of all that asked`, rounded down, at most
    /// its ceiling; of a tenant below another the same of what that one is guaranteed, with the weights beside it. Floors by
    /// name count whether their tenants asked or not, and tenants that the policy does not name weigh no more together than
    /// it allows.
    pub entitlement: u64,
    /// Units served.
    pub served: Count,
    /// Units served beyond the entitlement.
    pub borrowed: Count,
    /// Units denied.
    pub denied: Count,
    /// Units of reservations that are open.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub reserved: Count,
    /// Units used beyond reservations that no window had room for.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub beyond: Count,
    /// Units that a shadow would have denied.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub would_deny: Count,
}

impl WindowTenant {
    /// The weight with which it counts among all that asked.
    #[must_use]
    pub fn counted_weight(&self) -> f64 {
        self.counts_as.unwrap_or(self.weight).0
    }
}

/// Asks a ledger for the records of windows that end in `[from, to)`, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowsBody {
    /// Of one budget; `None` for all.
    pub budget: Option<String>,
    /// From this instant on.
    pub from: EpochMs,
    /// Before this instant.
    pub to: EpochMs,
    /// At most so many.
    pub count: u64,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowsReply {
    /// The records, newest first.
    pub windows: Vec<WindowRecord>,
    /// Whether there are more.
    pub more: bool,
}

/// What a ledger keeps of a window that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredWindow {
    v: u16,
    /// The budget.
    pub budget: String,
    /// The window.
    pub label: WindowLabel,
    /// The last entry of the journal that is in it.
    pub through: u64,
    /// What holders told.
    pub part: WindowPart,
    /// What the root told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedWindow>,
}

impl StoredWindow {
    /// A row of the present version.
    #[must_use]
    pub fn new(
        budget: &str,
        label: WindowLabel,
        through: u64,
        part: &WindowPart,
        closed: Option<ClosedWindow>,
    ) -> Self {
        Self {
            v: VERSION,
            budget: budget.to_owned(),
            label,
            through,
            part: part.clone(),
            closed,
        }
    }
}

impl Row for StoredWindow {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::read_row;

    fn part() -> WindowPart {
        let acme = TenantPart {
            weight_micros: 4_000_000,
            known: true,
            admitted: Count(9),
            refunded: Count(0),
            denied: Count(2),
            ..TenantPart::default()
        };
        WindowPart {
            limit: 100,
            ends_at: EpochMs(60_000),
            tenants: OrderedMap::from([("acme".to_owned(), acme)]),
            lapsed: Count(3),
            ..WindowPart::default()
        }
    }

    #[test]
    fn a_record_tells_the_sum_of_the_weights_where_there_are_any() {
        let text = r#"{"budget":"tokens","label":7,"ends_at":60000,"limit":100,"complete":true,"granted":null,"admitted":9,"returned":0,"unaccounted":null,"exact":true,"denied":2,"jain":1,"tenants_seen":1,"weights":7.5,"tenants":[{"tenant":"c/x","weight":3,"parent":"c","counts_as":4,"entitlement":53,"served":9,"borrowed":0,"denied":2}]}"#;
        let record: WindowRecord = serde_json::from_str(text).unwrap();
        assert_eq!(record.weights, Some(Decimal(7.5)));
        assert_eq!(record.tenants[0].counted_weight(), 4.0);
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        let earlier = text.replace(r#""weights":7.5,"#, "");
        let record: WindowRecord = serde_json::from_str(&earlier).unwrap();
        assert_eq!(record.weights, None);
        assert_eq!(serde_json::to_string(&record).unwrap(), earlier);
    }

    #[test]
    fn the_forms_between_objects_and_in_storage_stay() {
        let text = r#"{"limit":100,"ends_at":60000,"tenants":{"acme":{"weight_micros":4000000,"known":true,"admitted":9,"denied":2}},"lapsed":3}"#;
        assert_eq!(serde_json::to_string(&part()).unwrap(), text);
        let equal = WindowPart {
            equal: true,
            ..part()
        };
        let told = text.replace("\"lapsed\"", "\"equal\":true,\"lapsed\"");
        assert_eq!(serde_json::to_string(&equal).unwrap(), told);
        assert_eq!(serde_json::from_str::<WindowPart>(&told).unwrap(), equal);
        let newer = text.replace("{\"limit\"", "{\"later\":1,\"limit\"");
        assert_eq!(serde_json::from_str::<WindowPart>(&newer).unwrap(), part());
        let closed = ClosedWindow {
            label: WindowLabel(7),
            ends_at: EpochMs(60_000),
            limit: 100,
            granted: 14,
            returned: 2,
            exact: true,
        };
        let stored = StoredWindow::new("tokens", WindowLabel(7), 5, &part(), Some(closed));
        let row = format!(
            r#"{{"v":{VERSION},"budget":"tokens","label":7,"through":5,"part":{text},"closed":{{"label":7,"ends_at":60000,"limit":100,"granted":14,"returned":2,"exact":true}}}}"#
        );
        assert_eq!(serde_json::to_string(&stored).unwrap(), row);
        assert_eq!(read_row::<StoredWindow>(&row).unwrap(), stored);
    }
}
