//! The pages, one file each.

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
pub mod policy;
pub mod region;
pub mod regions;
pub mod simulator;
pub mod tenant;
pub mod tenants;
