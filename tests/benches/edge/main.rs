//! What a check costs at the edge, beside what somebody would write by hand: real workerd, raw HTTP on kept
//! connections, all contenders in turns.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error. `WEIR_ROUNDS` is how often each has its turn. A version
//! of the Worker before it takes part where `WEIR_PREVIOUS_BUILD` names its folder.

mod contenders;
mod scripts;
mod table;
mod turns;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::contenders::Field;

/// Turns of each contender unless `WEIR_ROUNDS` says otherwise.
const ROUNDS: usize = 8;

fn main() -> Result<()> {
    let rounds = match std::env::var("WEIR_ROUNDS") {
        Ok(text) => text.parse().context("WEIR_ROUNDS is a number")?,
        Err(_) => ROUNDS,
    };
    let runtime = Runtime::new().context("start a runtime")?;
    let field = Field::start(&runtime)?;
    let turns = turns::run(&field, rounds)?;
    table::print(&turns[..field.now()]);
    table::print_pairs(&turns, &field.pairs());
    // Dropped while they run, they would print what they logged, among the figures.
    field.stop();
    Ok(())
}
