//! Counters as ledgers store them: the same as on the wire, with a list of numbers for each name instead of an object.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Sequence};

use super::accounting::{
    Counters, FrameBody, GuardTally, InFlight, MeterTally, Tally, TenantCounters,
};
use super::by_name::ByName;
use super::count::Count;
use super::exchange::VERSION;
use super::stored::{Damaged, Row};
use super::telemetry::Telemetry;
use super::usage::Usage;

/// Counters of some tenants: a row of the totals, or of one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCell {
    v: u16,
    /// The last entry of the journal that is in it.
    pub through: u64,
    /// By tenant.
    pub tenants: OrderedMap<String, StoredTenant>,
}

/// Counters of one tenant. Lists may grow at their end; what is missing is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredTenant {
    /// Budgets: calls and units admitted, calls and units denied, units borrowed, calls and units that a shadow would have
    /// denied, units reserved, units released.
    #[serde(rename = "b", skip_serializing_if = "OrderedMap::is_empty")]
    budgets: OrderedMap<String, Vec<Count>>,
    /// Limits: the same.
    #[serde(rename = "l", skip_serializing_if = "OrderedMap::is_empty")]
    limits: OrderedMap<String, Vec<Count>>,
    /// Meters: calls and units admitted, calls and units shed, then as budgets from what a shadow would have denied on.
    #[serde(rename = "m", skip_serializing_if = "OrderedMap::is_empty")]
    meters: OrderedMap<String, Vec<Count>>,
    /// Guards: allowed, rejected for slots, for the minute's budget, for anything else; slots taken, when, until when; what
    /// a shadow would have rejected.
    #[serde(rename = "g", skip_serializing_if = "OrderedMap::is_empty")]
    guards: OrderedMap<String, Vec<Count>>,
    /// Overload resources: as budgets.
    #[serde(rename = "o", skip_serializing_if = "OrderedMap::is_empty")]
    overload: OrderedMap<String, Vec<Count>>,
    /// Whether the policy names it.
    #[serde(rename = "k", skip_serializing_if = "std::ops::Not::not")]
    known: bool,
    /// Whether `/metrics` lists it.
    #[serde(rename = "s", skip_serializing_if = "std::ops::Not::not")]
    listed: bool,
}

impl StoredCell {
    /// A row of the present version.
    #[must_use]
    pub fn new(through: u64, counters: &Counters) -> Self {
        let tenants = counters.iter();
        Self {
            v: VERSION,
            through,
            tenants: tenants
                .map(|(name, tenant)| (name.clone(), tenant.into()))
                .collect(),
        }
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let tenants = self.tenants.iter();
        tenants
            .map(|(name, tenant)| (name.clone(), tenant.into()))
            .collect()
    }
}

impl Row for StoredCell {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}

/// A frame that was counted, as a ledger keeps it until it is in the rows of the totals and of its minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEntry {
    v: u16,
    /// When it was counted.
    pub at: EpochMs,
    /// The frame.
    pub frame: FrameBody,
}

impl StoredEntry {
    /// An entry of the present version.
    #[must_use]
    pub fn new(at: EpochMs, frame: &FrameBody) -> Self {
        Self {
            v: VERSION,
            at,
            frame: FrameBody {
                // What is only shown is not kept.
                samples: Vec::new(),
                ..frame.clone()
            },
        }
    }
}

impl Row for StoredEntry {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}

/// What a ledger remembers besides counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMarks {
    v: u16,
    /// The last entry of the journal that is in this.
    pub through: u64,
    /// When counting began.
    pub since: EpochMs,
    /// The last frame that was counted of each sender.
    pub counted: Vec<(HolderId, (Incarnation, Sequence))>,
    /// What running the deployment used of the platform.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// What running it told of itself.
    #[serde(default, skip_serializing_if = "Telemetry::is_empty")]
    pub telemetry: Telemetry,
}

impl StoredMarks {
    /// A row of the present version.
    #[must_use]
    pub fn new(through: u64, since: EpochMs, usage: Usage) -> Self {
        Self {
            v: VERSION,
            through,
            since,
            counted: Vec::new(),
            usage,
            telemetry: Telemetry::default(),
        }
    }

    /// The row with what running the deployment told of itself.
    #[must_use]
    pub fn with_telemetry(mut self, telemetry: &Telemetry) -> Self {
        self.telemetry = telemetry.clone();
        self
    }

    /// The row with what was counted.
    #[must_use]
    pub fn with_counted(
        mut self,
        counted: impl IntoIterator<Item = (HolderId, (Incarnation, Sequence))>,
    ) -> Self {
        self.counted = counted.into_iter().collect();
        self
    }
}

impl Row for StoredMarks {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}

fn lists<T>(
    tallies: &ByName<T>,
    list: impl Fn(&T) -> Vec<Count>,
) -> OrderedMap<String, Vec<Count>> {
    let entries = tallies.iter();
    OrderedMap::from_iter(entries.map(|(name, tally)| (name.clone(), list(tally))))
}

fn tallies<T>(
    lists: &OrderedMap<String, Vec<Count>>,
    tally: impl Fn(&dyn Fn(usize) -> Count) -> T,
) -> ByName<T> {
    let entries = lists.iter();
    let tallies = entries.map(|(name, list)| {
        let at = |index: usize| list.get(index).copied().unwrap_or_default();
        (name.clone(), tally(&at))
    });
    tallies.collect()
}

/// Without the zeroes at the end, which are read as such.
fn trimmed(mut list: Vec<Count>) -> Vec<Count> {
    while list.last().is_some_and(Count::is_zero) {
        list.pop();
    }
    list
}

fn tally_list(tally: &Tally) -> Vec<Count> {
    trimmed(vec![
        tally.admitted_calls,
        tally.admitted_units,
        tally.denied_calls,
        tally.denied_units,
        tally.borrowed_units,
        tally.would_deny_calls,
        tally.would_deny_units,
        tally.reserved_units,
        tally.released_units,
    ])
}

fn tally_of(at: &dyn Fn(usize) -> Count) -> Tally {
    Tally {
        admitted_calls: at(0),
        admitted_units: at(1),
        denied_calls: at(2),
        denied_units: at(3),
        borrowed_units: at(4),
        would_deny_calls: at(5),
        would_deny_units: at(6),
        reserved_units: at(7),
        released_units: at(8),
    }
}

impl From<&TenantCounters> for StoredTenant {
    fn from(tenant: &TenantCounters) -> Self {
        Self {
            budgets: lists(&tenant.budgets, tally_list),
            limits: lists(&tenant.limits, tally_list),
            meters: lists(&tenant.meters, |tally| {
                trimmed(vec![
                    tally.admitted_calls,
                    tally.admitted_units,
                    tally.shed_calls,
                    tally.shed_units,
                    tally.would_deny_calls,
                    tally.would_deny_units,
                    tally.reserved_units,
                    tally.released_units,
                ])
            }),
            guards: lists(&tenant.guards, |tally| {
                let word = tally.in_flight;
                trimmed(vec![
                    tally.allowed,
                    tally.rejected_concurrency,
                    tally.rejected_budget,
                    tally.rejected_other,
                    Count(word.slots.into()),
                    Count(word.at.0.into()),
                    Count(word.until.0.into()),
                    tally.would_deny,
                ])
            }),
            overload: lists(&tenant.overload, tally_list),
            known: tenant.known,
            listed: tenant.listed,
        }
    }
}

impl From<&StoredTenant> for TenantCounters {
    fn from(stored: &StoredTenant) -> Self {
        let whole = |count: Count| u64::try_from(count.0).unwrap_or(u64::MAX);
        Self {
            budgets: tallies(&stored.budgets, tally_of),
            limits: tallies(&stored.limits, tally_of),
            meters: tallies(&stored.meters, |at| MeterTally {
                admitted_calls: at(0),
                admitted_units: at(1),
                shed_calls: at(2),
                shed_units: at(3),
                would_deny_calls: at(4),
                would_deny_units: at(5),
                reserved_units: at(6),
                released_units: at(7),
            }),
            guards: tallies(&stored.guards, |at| GuardTally {
                allowed: at(0),
                rejected_concurrency: at(1),
                rejected_budget: at(2),
                rejected_other: at(3),
                in_flight: InFlight {
                    slots: whole(at(4)),
                    at: EpochMs(whole(at(5))),
                    until: EpochMs(whole(at(6))),
                },
                would_deny: at(7),
            }),
            overload: tallies(&stored.overload, tally_of),
            known: stored.known,
            listed: stored.listed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::read_row;

    fn counters() -> Counters {
        let acme = TenantCounters {
            budgets: ByName::from([(
                "tokens".to_owned(),
                Tally {
                    admitted_calls: Count(1),
                    admitted_units: Count(1 << 70),
                    borrowed_units: Count(9),
                    ..Tally::default()
                },
            )]),
            limits: ByName::from([("ip".to_owned(), Tally::default())]),
            meters: ByName::from([(
                "bytes".to_owned(),
                MeterTally {
                    shed_calls: Count(2),
                    shed_units: Count(3),
                    ..MeterTally::default()
                },
            )]),
            guards: ByName::from([(
                "queries".to_owned(),
                GuardTally {
                    allowed: Count(4),
                    rejected_other: Count(1),
                    in_flight: InFlight {
                        slots: 2,
                        at: EpochMs(1_000),
                        until: EpochMs(31_000),
                    },
                    ..GuardTally::default()
                },
            )]),
            overload: ByName::from([(
                "origin".to_owned(),
                Tally {
                    admitted_calls: Count(5),
                    admitted_units: Count(6),
                    ..Tally::default()
                },
            )]),
            known: true,
            listed: true,
        };
        Counters::from([("acme".to_owned(), acme)])
    }

    #[test]
    fn the_stored_form_stays() {
        let text = serde_json::to_string(&StoredCell::new(7, &counters())).unwrap();
        let expected = format!(
            r#"{{"v":{VERSION},"through":7,"tenants":{{"acme":{{"b":{{"tokens":[1,"1180591620717411303424",0,0,9]}},"l":{{"ip":[]}},"m":{{"bytes":[0,0,2,3]}},"g":{{"queries":[4,0,0,1,2,1000,31000]}},"o":{{"origin":[5,6]}},"k":true,"s":true}}}}}}"#
        );
        assert_eq!(text, expected);
        let read: StoredCell = read_row(&text).unwrap();
        assert_eq!((read.through, read.counters()), (7, counters()));
    }

    #[test]
    fn a_list_that_a_later_version_made_longer_is_read() {
        let text = format!(
            r#"{{"v":{VERSION},"through":7,"tenants":{{"acme":{{"m":{{"bytes":[1,2,3,4,5,6]}},"new":1}}}}}}"#
        );
        let read: StoredCell = read_row(&text).unwrap();
        assert_eq!(read.counters()["acme"].meters["bytes"].shed_units, Count(4));
    }
}
