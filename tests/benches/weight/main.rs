//! What Weir weighs: bytes to load, the time from the start to the first decision, memory.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error.

mod loaded;
mod memory;
mod start;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    let runtime = Runtime::new().context("start a runtime")?;
    loaded::measure()?;
    start::measure(&runtime)?;
    memory::measure(&runtime)
}
