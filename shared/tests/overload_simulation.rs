//! The simulation behind the figures of overload, as the program of the same name plays it.

#![allow(dead_code, reason = "the program measures more than the tests assert")]

#[path = "../examples/overload/limiter.rs"]
pub(crate) mod limiter;
#[path = "../examples/overload/random.rs"]
pub(crate) mod random;
#[path = "../examples/overload/run.rs"]
pub(crate) mod run;
#[path = "../examples/overload/scenario.rs"]
pub(crate) mod scenario;
#[path = "../examples/overload/world.rs"]
pub(crate) mod world;
