//! What an application does with the Rust client, and what it saw: the scripts of the other clients, by their names.
//!
//! `BASE=http://127.0.0.1:8787 TOKEN=... rust_client check`

mod scripts {
    pub mod acquire;
    pub mod batch;
    pub mod check;
    pub mod interface;
    pub mod layer;
    pub mod outage;
    pub mod reserve;
    pub mod retry;
    pub mod shared;
    pub mod shown;
}

use anyhow::{Context, Result, bail};
use scripts::{acquire, batch, check, interface, layer, outage, reserve, retry, shared, shown};
use weir_client::{Fail, Item, Options, Weir};

#[tokio::main]
async fn main() -> Result<()> {
    let name = std::env::args().nth(1).context("the name of a script")?;
    match name.as_str() {
        "acquire" => acquire::run().await,
        "batch" => batch::run().await,
        "check" => check::run().await,
        "interface" => interface::run(),
        "layer" => layer::run().await,
        "layer-killed" => layer::killed().await,
        "outage" => outage::run().await,
        "readme" => readme(&shared::origin(), &shared::token()).await,
        "reserve" => reserve::run().await,
        "retry" => retry::run().await,
        "shown" => shown::run().await,
        "settle-again" => reserve::settle_again().await,
        other => bail!("there is no script {other}"),
    }
}

/// The example of the README: a test compares the lines.
async fn readme(url: &str, token: &str) -> Result<()> {
    // README
    let weir = Weir::new(Options::new(url, token, Fail::Open))?;
    let decision = weir
        .check(Item::budget("tokens").cost(3).tenant("acme"))
        .await?;
    let told = format!(
        "wait {:?} ms: {:?}",
        decision.retry_after_ms, decision.reason
    );
    println!(
        "{}",
        if decision.allowed {
            format!("{} left", decision.remaining)
        } else {
            told
        }
    );
    // README
    Ok(())
}
