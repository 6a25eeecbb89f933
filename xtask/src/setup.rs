//! The set-up that each command needs, in one place.

use anyhow::Result;

use crate::environment::Environment;
use crate::tools::{TRUNK, WASM_BINDGEN, WASM_PACK, WORKER_BUILD};
use crate::{browser, node, rust, tools};

/// What building and running need.
pub(crate) fn for_builds() -> Result<Environment> {
    // The quick checks come first: a missing Node is told before minutes of building tools.
    node::ensure()?;
    rust::ensure()?;
    tools::ensure(&[&WASM_BINDGEN, &WORKER_BUILD, &TRUNK])?;
    Environment::new()?.with_packages()
}

/// What the tests need too.
pub(crate) fn everything() -> Result<Environment> {
    node::check_version()?;
    let browser = browser::ensure()?;
    let environment = for_builds()?;
    tools::ensure(&[&WASM_PACK])?;
    environment.with_browser(&browser)
}
