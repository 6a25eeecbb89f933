//! What a ledger promises: it counts once, in a bounded number of rows of bounded size, whatever dies.

mod alerts;
mod bounds;
mod dashboard;
mod deaths;
mod lapses;
mod records;
mod region;
pub(crate) mod scrape;
mod series;
mod settled;
mod settlements;
mod world;
