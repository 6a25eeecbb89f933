//! What is loaded: the Worker by every isolate, the console by a browser.

use anyhow::Result;
use weir_tests::bytes::{Bytes, files, without_names};
use weir_tests::paths;

pub fn measure() -> Result<()> {
    eprintln!("packing the Worker and the console");
    let edge = paths::edge_build()?;
    let wasm = std::fs::read(edge.join("index_bg.wasm"))?;
    let script = std::fs::read(edge.join("index.js"))?;
    let console = paths::console_build()?.join("console");
    let console: Bytes = files(&console)?
        .iter()
        .map(|file| Bytes::of(&std::fs::read(file)?))
        .sum::<Result<_>>()?;
    println!("Kilobytes (1,000 bytes), each file packed by itself.\n");
    println!("| what is loaded | raw | gzip -9 | brotli 11 |");
    println!("| --- | --- | --- | --- |");
    let rows = [
        ("the Worker's wasm", Bytes::of(&wasm)?),
        (
            "the same without its name section",
            Bytes::of(&without_names(&wasm)?)?,
        ),
        ("the Worker's script", Bytes::of(&script)?),
        ("the console, all files", console),
    ];
    for (name, Bytes { raw, gzip, brotli }) in rows {
        println!("| {name} | {} | {} | {} |", kb(raw), kb(gzip), kb(brotli));
    }
    Ok(())
}

fn kb(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1e3)
}
