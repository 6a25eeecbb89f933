//! What a ledger promises: it counts once, in a bounded number of rows of bounded size, whatever dies.

mod bounds;
mod dashboard;
mod deaths;
mod lapses;
mod records;
mod scrape;
mod series;
mod settlements;
mod world;
