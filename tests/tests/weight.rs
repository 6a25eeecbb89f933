//! The Worker does not grow unseen: every isolate loads it.

use weir_tests::bytes::gzip;
use weir_tests::paths;

/// What the Worker's wasm weighs by gzip -9, in bytes, at most: a little more than what it does. Of it some 27,000 are requests
/// that wait: places in queues that are given back, lines, slots of resources, and all of it beside a decision. Some 15,000 are routes by
/// model, the list of models and what providers tell of their limits, some 6,000 allowances of tenants and the pooled reserve, some
/// 10,000 single models, limits of second origins and WebSockets, some 5,000 the order of a ledger, levels for a number of
/// clients and signatures of all kinds, some 13,000 what a scrape tells of budgets, regions and coordinators, of waits and of
/// what fails, some 3,000 questions that come again, some 14,000 the order of the registry, with its rows as plain data,
/// some 20,000 decision ids with what explains them, and traces, some 15,400 what agents say and what descriptors charge,
/// some 16,000 the lines of a live socket and the table of a tenant's numbers, and some 16,000 branches of a busy region.
const WASM_GZIP_BYTES_MAX: usize = 1_307_000;

#[test]
fn the_worker_does_not_grow_unseen() {
    let wasm = std::fs::read(paths::edge_build().unwrap().join("index_bg.wasm")).unwrap();
    let bytes = gzip(&wasm);
    println!("{bytes} bytes by gzip -9, {} raw", wasm.len());
    assert!(
        bytes <= WASM_GZIP_BYTES_MAX,
        "{bytes} bytes are above {WASM_GZIP_BYTES_MAX}"
    );
}
