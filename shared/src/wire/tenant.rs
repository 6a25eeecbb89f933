//! `PATCH /operator/v1/tenants/{id}`: the fields of a tenant that change, and no others.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::amount::AmountBody;
use super::decimal::Decimal;
use super::overrides::{
    BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody, OverrideBody,
};

/// A change of one tenant. What is absent stays as it is; null takes the tenant's own word away, so that what is beneath
/// counts.
///
/// ```
/// use weir_shared::invalid::read_json;
/// use weir_shared::wire::tenant::TenantPatch;
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
    pub meters: Option<Option<BTreeMap<String, MeterOverrideBody>>>,
    /// All that it says of guards; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub guards: Option<Option<BTreeMap<String, GuardOverrideBody>>>,
    /// All that it says of limits; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Option<BTreeMap<String, LimitOverrideBody>>>,
    /// All that it says of its claim to single budgets; null for nothing.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Option<BTreeMap<String, BudgetOverrideBody>>>,
    /// The whole list of its overrides; null for none.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Option<Vec<OverrideBody>>>,
    /// Why, for the audit log. No part of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A field that is there: null is a value.
fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
