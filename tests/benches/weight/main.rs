//! What Weir weighs: bytes to load, the time from the start to the first decision, memory.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error. Arguments name the parts to measure: `loaded`,
//! `start`, `memory`; without any, all are.

mod loaded;
mod memory;
mod start;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    let runtime = Runtime::new().context("start a runtime")?;
    // What cargo adds by itself begins with a dash.
    let named = || {
        std::env::args()
            .skip(1)
            .filter(|name| !name.starts_with('-'))
    };
    let is_wanted = |part: &str| named().next().is_none() || named().any(|name| name == part);
    if is_wanted("loaded") {
        loaded::measure()?;
    }
    if is_wanted("start") {
        start::measure(&runtime)?;
    }
    if is_wanted("memory") {
        memory::measure(&runtime)?;
    }
    Ok(())
}
