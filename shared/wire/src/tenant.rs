//! What the policy says of a tenant by its name, and `PATCH /operator/v1/tenants/{id}`: the fields of it that change, and
//! no others.

use serde::{Deserialize, Deserializer, Serialize};
use weir_core::ordered::OrderedMap;

use super::amount::AmountBody;
use super::decimal::Decimal;
use super::numbers::{BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody};
use super::overrides::OverrideBody;
use super::section::section;
use super::unique_map;

/// A number of a claim that a tenant says of all budgets at once, as the console asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimToAll {
    /// Its field.
    pub name: &'static str,
    /// Its field of the console's form.
    pub input: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// What it means, and what counts where it is empty.
    pub hint: &'static str,
}

section! {
/// One named tenant.
pub struct TenantBody {
    /// Its tier; by rule when absent.
    pub tier: Option<String> = "string?";
    /// Its weight; the tier's when absent.
    pub weight: Option<Decimal> = "number?";
    /// The tenant above it.
    pub parent: Option<String> = "string?";
    /// Units above its guarantee that it may use in a window of each budget; any number when absent.
    pub borrow_max: Option<AmountBody> = "Amount?";
    /// Units of its guarantee that others may use while it does not; all of it when absent.
    pub lend_max: Option<AmountBody> = "Amount?";
    ...Changes;
    /// Changes with a start and an end.
    pub overrides: Vec<OverrideBody> = "[Override]";
}
}

/// A change of one tenant. What is absent stays as it is; null takes the tenant's own word away, so that what is
/// beneath counts.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::tenant::TenantPatch;
/// let patch: TenantPatch = read_json(br#"{"tier":"pro","weight":null}"#).unwrap();
/// assert_eq!(patch.tier, Some(Some("pro".to_owned())));
/// assert_eq!(patch.weight, Some(None));
/// assert_eq!(patch.parent, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantPatch {
    /// Its tier.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub tier: Option<Option<String>>,
    /// Its weight.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub weight: Option<Option<Decimal>>,
    /// The tenant above it.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub parent: Option<Option<String>>,
    /// Units above its guarantee that it may use.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub borrow_max: Option<Option<AmountBody>>,
    /// Units of its guarantee that others may use.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub lend_max: Option<Option<AmountBody>>,
    /// All that it says of meters; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub meters: Option<Option<OrderedMap<String, MeterOverrideBody>>>,
    /// All that it says of guards; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub guards: Option<Option<OrderedMap<String, GuardOverrideBody>>>,
    /// All that it says of limits; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Option<OrderedMap<String, LimitOverrideBody>>>,
    /// All that it says of its claim to single budgets; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Option<OrderedMap<String, BudgetOverrideBody>>>,
    /// The whole list of its overrides; null for none.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Option<Vec<OverrideBody>>>,
    /// Why, for the audit log. No part of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl TenantBody {
    /// The numbers that it says of all budgets at once, but its weight.
    pub const CLAIMS: [ClaimToAll; 2] = [
        ClaimToAll {
            name: "borrow_max",
            input: "borrow-max",
            label: "May borrow",
            hint: "Above its guarantee, of each budget. Empty or unlimited: any number.",
        },
        ClaimToAll {
            name: "lend_max",
            input: "lend-max",
            label: "May lend",
            hint: "Of its guarantee, to others. Empty or unlimited: all of it.",
        },
    ];

    /// What it claims of every budget, where it says nothing else of one.
    #[must_use]
    pub fn claim(&self) -> BudgetOverrideBody {
        BudgetOverrideBody {
            weight: self.weight,
            borrow_max: self.borrow_max,
            lend_max: self.lend_max,
            ..BudgetOverrideBody::default()
        }
    }
}

impl TenantPatch {
    /// Its fields, as the OpenAPI document has them.
    pub const SCHEMA: &str = "tier?: string?, weight?: number?, parent?: string?, borrow_max?: Amount?, \
        lend_max?: Amount?, meters?: any, guards?: any, limits?: any, budgets?: any, overrides?: [any]?";

    /// The change from one word about a tenant to another: the fields in which they differ.
    #[must_use]
    pub fn between(from: &TenantBody, to: &TenantBody) -> Self {
        Self {
            tier: changed(&from.tier, &to.tier),
            weight: changed(&from.weight, &to.weight),
            parent: changed(&from.parent, &to.parent),
            borrow_max: changed(&from.borrow_max, &to.borrow_max),
            lend_max: changed(&from.lend_max, &to.lend_max),
            meters: changed(&from.meters, &to.meters).map(Some),
            guards: changed(&from.guards, &to.guards).map(Some),
            limits: changed(&from.limits, &to.limits).map(Some),
            budgets: changed(&from.budgets, &to.budgets).map(Some),
            overrides: changed(&from.overrides, &to.overrides).map(Some),
            why: None,
        }
    }

    /// Changes a tenant: fields that are not named stay, and those that are named as null go.
    pub fn apply(self, body: &mut TenantBody) {
        put(&mut body.tier, self.tier.map(Some));
        put(&mut body.weight, self.weight.map(Some));
        put(&mut body.parent, self.parent.map(Some));
        put(&mut body.borrow_max, self.borrow_max.map(Some));
        put(&mut body.lend_max, self.lend_max.map(Some));
        put(&mut body.meters, self.meters);
        put(&mut body.guards, self.guards);
        put(&mut body.limits, self.limits);
        put(&mut body.budgets, self.budgets);
        put(&mut body.overrides, self.overrides);
    }
}

fn changed<T: PartialEq + Clone>(from: &T, to: &T) -> Option<T> {
    (from != to).then(|| to.clone())
}

fn put<T: Default>(field: &mut T, change: Option<Option<T>>) {
    if let Some(value) = change {
        *field = value.unwrap_or_default();
    }
}

/// A field that is there: null is a value.
fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
