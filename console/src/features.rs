//! The pages, a folder each: what it shows is worked out in `model`, and `view` puts it on the page.

pub mod access;
pub mod activity;
pub mod budget;
pub mod budgets;
pub mod decision;
pub mod decisions;
pub mod glossary;
pub mod login;
pub mod not_found;
pub mod overview;
pub mod palette;
pub mod policy;
pub mod region;
pub mod regions;
pub mod simulator;
pub mod tenant;
pub mod tenants;
