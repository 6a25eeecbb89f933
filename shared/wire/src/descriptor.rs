//! Descriptors of Envoy's rate limit service in the policy document: what a request charges that a proxy describes by keys
//! and values.
//!
//! Everything is optional here so that what is missing is refused with its own pointer.

use serde::{Deserialize, Serialize};

/// One rule. The first of a domain's list that fits a descriptor says what it charges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DescriptorBody {
    /// The entries that a descriptor has: these, in this order, and no others.
    pub entries: Vec<DescriptorEntryBody>,
    /// The tenant that is charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The key of the entry whose value names the tenant, in the place of `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_from: Option<String>,
    /// The budget that is charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Units that each hit costs; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

/// One entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DescriptorEntryBody {
    /// Its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its value; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}
