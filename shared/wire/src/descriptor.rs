//! Descriptors of Envoy's rate limit service in the policy document: what a request charges that a proxy describes by keys
//! and values.
//!
//! Everything is optional here so that what is missing is refused with its own pointer.

use super::section::section;

section! {
/// One rule. The first of a domain's list that fits a descriptor says what it charges.
#[derive(Eq)]
pub struct DescriptorBody {
    /// The entries that a descriptor has: these, in this order, and no others.
    pub entries: Vec<DescriptorEntryBody> = "[DescriptorEntry]";
    /// The tenant that is charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String> = "string";
    /// The key of the entry whose value names the tenant, in the place of `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_from: Option<String> = "string";
    /// The budget that is charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String> = "string";
    /// Units that each hit costs; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64> = "integer";
}
}

section! {
/// One entry.
#[derive(Eq)]
pub struct DescriptorEntryBody {
    /// Its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String> = "string";
    /// Its value; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String> = "string";
}
}
