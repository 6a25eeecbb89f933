//! The policy document: `PUT /operator/v1/policy` and the policy file that a deployment ships.
//!
//! Everything is optional here so that what is missing is refused with its own pointer when a domain policy is built
//! (`Policy::try_from`). Every top-level key is answered, empty maps included.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use weir_core::ordered::OrderedMap;

use super::decimal::Decimal;
use super::descriptor::DescriptorBody;
use super::lease_sizes::LeaseSizesBody;
use super::metering::{GuardBody, MeterBody};
use super::numbers::{BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody};
use super::overload::OverloadBody;
use super::route::{RouteBody, UnroutedBody};
use super::section::section;
pub use super::tenant::TenantBody;
use super::unique_map;

section! {
/// The whole document.
pub struct PolicyDocument {
    /// Whether decisions are enforced; false decides and counts, and admits everything.
    pub enforcing: bool = "boolean", true;
    /// The regions that decide.
    pub regions: Vec<String> = required "[string]";
    /// Where coordinators, registry and ledgers are first placed; the first of `regions` when absent.
    pub home: Option<String> = "string?";
    /// Tiers by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub tiers: OrderedMap<String, TierBody> = "{Tier}";
    /// A tenant's tier by the prefix of its name; the first match counts.
    pub tier_rules: Vec<TierRuleBody> = "[TierRule]";
    /// The tier of all others; null refuses them.
    pub default_tier: Option<String> = "string?";
    /// Tenants that Weir distinguishes; those beyond share one.
    pub tenants_max: u64 = "integer", 100_000;
    /// The most that unnamed tenants weigh together.
    pub unknown_weight_max: Decimal = "number", Decimal(8.0);
    /// Named tenants.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub tenants: OrderedMap<String, TenantBody> = "{Tenant}";
    /// Budgets by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub budgets: OrderedMap<String, BudgetBody> = "{Budget}";
    /// Limits by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub limits: OrderedMap<String, LimitBody> = "{Limit}";
    /// Meters by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub meters: OrderedMap<String, MeterBody> = "{Meter}";
    /// Guards by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub guards: OrderedMap<String, GuardBody> = "{Guard}";
    /// Overload resources by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub overload: OrderedMap<String, OverloadBody> = "{Overload}";
    /// Gateway routes; the first that fits takes a request.
    pub routes: Vec<RouteBody> = "[Route]";
    /// What happens to requests that no route takes.
    pub unrouted: UnroutedBody = "'refuse' or Forward";
    /// Networks of proxies in front of Weir that are trusted to say where a request comes from: `10.0.0.0/8`.
    pub trusted_proxies: Vec<String> = "[string]";
    /// Whether origins may have private, link-local and loopback addresses.
    pub allow_private_origins: bool = "boolean";
    /// Tenants by the SHA-256 of their API key, in hexadecimal.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub api_keys: OrderedMap<String, String> = "{string}";
    /// What descriptors of Envoy's rate limit service charge, by domain; of a list, the first that fits. Absent where there
    /// are none, so that a version which does not have them reads the rest.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub descriptors: OrderedMap<String, Vec<DescriptorBody>> = "{[Descriptor]}";
    /// The rate-limit headers of a decision.
    pub rate_limit_headers: HeaderDialect = "'ietf' or 'x_ratelimit' or 'none'";
}
}

section! {
/// One tier.
pub struct TierBody {
    /// The weight of each of its tenants; at most six decimals.
    pub weight: Option<Decimal> = "number?";
    ...Changes;
}
}

section! {
/// One rule that gives a tier by prefix.
pub struct TierRuleBody {
    /// What the tenant's name begins with.
    pub prefix: Option<String> = required "string?";
    /// The tier it then has.
    pub tier: Option<String> = required "string?";
}
}

/// How a budget is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// By weight, at any scope; `reserve` says what happens to units that a tenant does not ask for.
    WeightedFairEscrow,
    /// Equal shares, where one holder decides.
    FairShare,
    /// Shares by weight, where one holder decides.
    WeightedFairShare,
    /// First come, first served.
    FirstCome,
    /// A fixed slice of the limit for each region.
    StaticPartition,
}

/// Where the state of a budget or limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In each isolate.
    Isolate,
    /// In each region.
    Region,
    /// Over the whole deployment.
    Global,
}

/// What happens to the unused part of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserve {
    /// It stays reserved until the window ends.
    Pinned,
    /// It is released at an even pace.
    Paced,
    /// The part that all tenants are expected to need stays reserved for them together.
    Pooled,
    /// Nothing is reserved: tenants that ask share by weight.
    None,
}

/// What a region does while the coordinator is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outage {
    /// Spends what it holds, then denies.
    FailClosed,
    /// Spends slices lent in advance, too.
    RegionalOnly,
}

/// The answer when a holder of the state is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// Not admitted.
    Deny,
    /// Admitted, and counted as such.
    Allow,
}

section! {
/// One budget.
pub struct BudgetBody {
    /// What it is for, in a sentence for people: the console shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String> = "string";
    /// Units per window.
    pub limit: Option<u64> = "integer?";
    /// Length of a window.
    pub window_ms: Option<u64> = "integer?";
    /// How it is shared.
    pub sharing: Option<Sharing> = "Sharing?";
    /// Where it is kept.
    pub scope: Option<Scope> = "Scope?";
    /// What happens to unused guarantees. When absent: `pooled` in windows of 10 s and more, `pinned` in shorter ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve> = "'pinned' or 'paced' or 'pooled' or 'none'";
    /// What happens when the coordinator is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage> = "'fail_closed' or 'regional_only'";
    /// Lease sizes; `"auto"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseSizesBody> = "any";
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool> = "boolean";
    /// The answer when a holder is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable> = "OnUnavailable";
}
}

/// The algorithm of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// A rate with some burst; the default.
    Gcra,
    /// The same in terms of tokens.
    TokenBucket,
    /// A token bucket whose tokens may not be taken faster than at a peak rate.
    DualTokenBucket,
    /// A count that starts anew with each window.
    FixedWindow,
    /// A rolling window of bounded size.
    SlidingWindow,
    /// A rolling window, exact for each charge.
    SlidingLog,
    /// A count for a day, a week, a month or another period.
    Quota,
    /// A queue: requests that come too fast leave later.
    LeakyBucket,
}

impl Algorithm {
    /// All of them, in the order of a form.
    pub const ALL: [Self; 8] = [
        Self::Gcra,
        Self::TokenBucket,
        Self::DualTokenBucket,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingLog,
        Self::Quota,
        Self::LeakyBucket,
    ];
}

/// When the budget of a `quota` starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cadence {
    /// On the first day of each month.
    CalendarMonth,
    /// On one day of each week.
    CalendarWeek,
    /// At each midnight.
    CalendarDay,
    /// Every `period_ms`, counted from `anchor`.
    Fixed,
    /// Never at once: the units of the last `period_ms` count.
    Rolling,
}

section! {
/// One limit: an `algorithm` with its numbers, or `all` or `any` of other limits.
pub struct LimitBody {
    /// The algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm> = "string";
    /// Units per period, window or cadence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64> = "integer";
    /// The period (gcra; quota with the cadence `fixed` or `rolling`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ms: Option<u64> = "integer";
    /// Units at once (gcra); `limit` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64> = "integer";
    /// Tokens in a full bucket (token_bucket, dual_token_bucket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Decimal> = "number";
    /// Tokens that flow in (token_bucket, dual_token_bucket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill_per_sec: Option<Decimal> = "number";
    /// Tokens that may be taken at once (dual_token_bucket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_capacity: Option<Decimal> = "number";
    /// Tokens that may be taken in a second after that (dual_token_bucket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_per_sec: Option<Decimal> = "number";
    /// Length of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64> = "integer";
    /// Parts of the window (sliding_window, quota with the cadence `rolling`); 10 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64> = "integer";
    /// When a quota starts anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cadence: Option<Cadence> = "Cadence";
    /// Minutes that the calendar of a quota is ahead of UTC: -840 to 840; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_minutes: Option<i64> = "integer";
    /// The IANA time zone of a quota's calendar, in the place of `offset_minutes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String> = "string";
    /// The day on which a quota's week starts: 0 is Sunday; 1, Monday, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week_starts_on: Option<u64> = "integer";
    /// An instant at which a period of the cadence `fixed` starts, in epoch milliseconds; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<i64> = "integer";
    /// Units that leave (leaky_bucket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_sec: Option<Decimal> = "number";
    /// The longest wait (leaky_bucket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queue_ms: Option<u64> = "integer";
    /// Limits that all have to admit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<DimensionBody>> = "[Dimension]";
    /// Limits of which one has to admit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<Vec<DimensionBody>> = "[Dimension]";
    /// Where it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope> = "Scope";
    /// Whether each tenant has its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_tenant: Option<bool> = "boolean";
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool> = "boolean";
    /// The answer when the holder is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable> = "OnUnavailable";
}
}

/// One dimension of a composite limit: the limit's name, or an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DimensionBody {
    /// A limit by its own name, with the weight 1.
    Plain(String),
    /// A limit by another name, or with a weight.
    Named(NamedDimensionBody),
}

impl<'de> Deserialize<'de> for DimensionBody {
    /// By what it is, and not by trial, so that a fault within is found where it stands.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Dimension;

        impl<'de> Visitor<'de> for Dimension {
            type Value = DimensionBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a limit or an object")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<DimensionBody, E> {
                Ok(DimensionBody::Plain(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DimensionBody, A::Error> {
                let body = NamedDimensionBody::deserialize(MapAccessDeserializer::new(map))?;
                Ok(DimensionBody::Named(body))
            }
        }

        deserializer.deserialize_any(Dimension)
    }
}

section! {
/// A dimension that is spelled out.
pub struct NamedDimensionBody {
    /// The dimension's name; the limit's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String> = "string";
    /// The limit.
    pub limit: Option<String> = required "string?";
    /// What a unit of the check costs here; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Decimal> = "number";
}
}

/// The rate-limit headers of a decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderDialect {
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers.
    #[default]
    Ietf,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    XRatelimit,
    /// None; `Retry-After` alone.
    None,
}
