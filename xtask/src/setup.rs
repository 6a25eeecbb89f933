//! The set-up that each command needs, in one place.
//!
//! Each part returns at once when there is nothing to do, and waits where another thread or process is at it.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::environment::Environment;
use crate::tools::{NEXTEST, WASM_BINDGEN, WASM_PACK, WASM_SPLIT, WORKER_BUILD};
use crate::{browser, build_cache, bun, go, node, python, rust, servers, tools, wrangler};

/// What no set-up can mend: a missing Node is told before minutes of building tools.
pub(crate) fn check() -> Result<()> {
    node::check_version()
}

/// What formatting and linting need.
pub(crate) fn for_lints() -> Result<Environment> {
    alone(compiler)?;
    Ok(Environment::new())
}

/// What the native tests need.
pub(crate) fn for_native() -> Result<Environment> {
    alone(compiler)?;
    tools::ensure(&[&NEXTEST])?;
    Environment::new().with_tools(&[&NEXTEST])
}

/// What building and running need, but for the tools: each build installs its own, so that the Worker's need not wait for the
/// console's.
pub(crate) fn for_builds() -> Result<Environment> {
    alone(node::ensure)?;
    alone(compiler)?;
    Environment::new()
        .with_tools(&[&WASM_BINDGEN, &WORKER_BUILD, &WASM_SPLIT])?
        .with_packages()
}

/// What wrangler needs to run what is built.
pub(crate) fn for_wrangler() -> Result<Environment> {
    Ok(for_builds()?.with_programs(alone(wrangler::ensure)?))
}

/// What the tests of the Worker alone need.
pub(crate) fn for_worker_tests() -> Result<Environment> {
    let environment = for_builds()?;
    tools::ensure(&[&NEXTEST])?;
    environment.with_tools(&[&NEXTEST])
}

/// What the tests of pages alone need that no Worker serves.
pub(crate) fn for_pages() -> Result<Environment> {
    let browser = alone(browser::ensure)?;
    for_worker_tests()?.with_browser(&browser)
}

/// What the tests need too.
pub(crate) fn for_tests() -> Result<Environment> {
    node::check_version()?;
    let browser = alone(browser::ensure)?;
    let environment = for_wrangler()?;
    tools::ensure(&[&WASM_BINDGEN, &NEXTEST])?;
    let servers = alone(servers::ensure)?;
    let python = alone(python::ensure)?;
    let go = alone(go::ensure)?;
    let bun = alone(bun::ensure)?;
    let environment = environment
        .with_tools(&[&NEXTEST])?
        .with_browser(&browser)?;
    Ok(environment.with_programs([servers, python, go, bun].concat()))
}

/// What a person needs who tests one part by hand.
pub(crate) fn everything() -> Result<Environment> {
    let environment = for_tests()?;
    tools::ensure(&[&WORKER_BUILD, &WASM_SPLIT, &WASM_PACK])?;
    environment.with_tools(&[&WASM_PACK])
}

/// The toolchain, and what is kept of what it compiled in other clones.
fn compiler() -> Result<()> {
    rust::ensure()?;
    build_cache::restore()
}

/// Installs one thing at a time: two threads would install the same.
fn alone<T>(install: impl FnOnce() -> Result<T>) -> Result<T> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    install()
}
