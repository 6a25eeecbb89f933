//! The harness: the real workerd on the built Worker, a real browser, a typed client, and
//! checkers that judge what a client saw.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`paths`], [`ports`], [`clock`], [`process`] | where the programs are, a free port, the time, a process tree that ends with its owner |
//! | [`workerd`], [`wrangler`], [`browser`] | the real programs, started and stopped |
//! | [`cluster`] | several workerds that share their objects: an experiment |
//! | [`witness`] | what the objects of a deployment are called, and calls that fail |
//! | [`client`], [`calls`], [`reply`], [`ratelimit`] | typed calls, raw calls, the answer and its headers |
//! | [`again`] | what a busy machine had no time to answer |
//! | [`fixtures`] | policies and names |
//! | [`collector`] | a server that takes traces |
//! | [`origin`] | a server to stand behind the gateway, which can be overloaded, slow and broken |
//! | [`accessibility`] | what a page in the browser does wrong for people who see, hear or move otherwise |
//! | [`beside`], [`recipe`] | the program `weir-agent`, and the proxies of `examples/` |
//! | [`proxy`] | what stands between a client and a server on bad days |
//! | [`socket`] | a WebSocket |
//! | [`within`], [`watch`] | how soon something has changed, how long the machine stood still meanwhile |
//! | [`schema`] | answers against the OpenAPI document |
//! | [`load`], [`plain`], [`spread`], [`bytes`] | what benchmarks need: a cheap load generator, Workers to stand beside, medians, sizes |
//! | [`workload`], [`history`], [`checker`], [`shares`] | concurrent checks, what they saw, whether the promises held, who got what |
//! | [`storage`] | the SQLite files of a stopped workerd |

pub mod accessibility;
pub mod again;
pub mod beside;
pub mod browser;
pub mod bytes;
pub mod calls;
pub mod checker;
pub mod client;
pub mod clock;
pub mod cluster;
pub mod collector;
pub mod dice;
pub mod fixtures;
pub mod folders;
pub mod history;
pub mod load;
pub mod nginx;
pub mod origin;
pub mod pages;
pub mod paths;
pub mod plain;
pub mod ports;
pub mod process;
pub mod prometheus;
pub mod proxy;
pub mod ratelimit;
pub mod recipe;
pub mod reply;
pub mod schema;
pub mod shares;
pub mod socket;
pub mod spread;
pub mod stage;
pub mod storage;
pub mod tempo;
pub mod watch;
pub mod within;
pub mod witness;
pub mod workerd;
pub mod workload;
pub mod wrangler;
