//! The policy as it is edited: a draft with its faults, its forms, what it would change, and what it would meet.

pub mod api_keys;
pub mod checks;
pub mod descriptors;
pub mod dimensions;
pub mod document_fields;
pub mod draft;
pub mod entries;
pub mod fields;
pub mod known;
pub mod limit_fields;
pub mod overload_fields;
pub mod reset;
pub mod routes;
pub mod section;
pub mod tenant_tree;
pub mod tier_rules;
pub mod unrouted;
pub mod validate;
pub mod words;
