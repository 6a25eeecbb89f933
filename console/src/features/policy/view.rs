//! The parts of the policy page.

pub mod api_keys;
pub mod bar;
pub mod conflict;
pub mod descriptors;
pub mod draft_field;
pub mod editor;
pub mod entry_form;
pub mod entry_list;
pub mod json_part;
pub mod page;
pub mod reset_form;
pub mod review;
pub mod route_checks;
pub mod routes;
pub mod section_nav;
pub mod section_view;
pub mod shadow_answer;
pub mod tenant_tree;
pub mod tier_rules;
