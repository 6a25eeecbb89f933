//! Who of the tenants that share a budget may have how much of it. Decides nothing about the cap: what can safely be
//! lent is given to it as a number, and a fault here cannot lend more.

pub mod accounts;
mod allowance;
pub mod ask;
mod books;
mod classes;
mod costs;
pub mod fair_share;
mod floored;
pub mod floors;
mod hungry;
mod id_set;
pub mod local;
mod machine;
pub mod max_min;
pub mod member;
mod name_index;
mod pace;
pub mod paced;
mod paced_accounts;
pub mod pinned;
mod pooled;
mod prefix_sums;
pub mod rank;
mod rate;
mod reserve;
pub mod share;
mod turn_queue;
pub mod weight;
mod weight_sum;
pub mod weighted_fair_share;
