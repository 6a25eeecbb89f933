//! Prints what is kept for each tenant of one budget: `cargo run --example memory -p weir-shared`.

#![cfg_attr(target_arch = "wasm32", allow(unused))]

#[cfg(not(target_arch = "wasm32"))]
#[path = "../tests/memory/kept.rs"]
mod kept;

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    println!(
        "| kept, in bytes a tenant and budget | where | 10,000 | 100,000 | 1,000,000 | asserted | tenants at most | then MB |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for kept in kept::KEPT {
        let each = [10_000, 100_000, 1_000_000].map(|tenants| {
            if u64::from(tenants) > kept.tenants_max {
                return "-".to_owned();
            }
            let bytes = (kept.bytes)(tenants) / u64::from(tenants);
            bytes.to_string()
        });
        let most = u32::try_from(kept.tenants_max).unwrap_or(u32::MAX);
        let mb = (kept.bytes)(most) as f64 / 1e6;
        let each = each.join(" | ");
        println!(
            "| {} | {} | {each} | {} | {most} | {mb:.1} |",
            kept.what, kept.place, kept.bytes_max
        );
    }
}

#[cfg(target_arch = "wasm32")]
fn main() {}
