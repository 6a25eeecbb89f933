//! Weir's core: pure state machines, `(state, event, now) -> (state, effects)`.
//!
//! Nothing here reads a clock, a socket, storage or a random source. The same code runs in the Worker, in the
//! Durable Objects, in the browser and in the native tests.

pub use weir_access as access;
pub use weir_accounting as accounting;
pub use weir_algorithms as algorithms;
pub use weir_audit as audit;
pub use weir_check as check;
pub use weir_contact as contact;
pub use weir_contact::agent;
pub use weir_core::{
    clock, figures, hex, invalid, json, limits, name, ordered, outlasting, percent, query, trace,
    units, visible, window,
};
pub use weir_decision as decision;
pub use weir_fairness as fairness;
pub use weir_federation as federation;
pub use weir_gateway as gateway;
pub use weir_limiting as limiting;
pub use weir_node as node;
pub use weir_operations::{export, openapi, paging, preview, replay, report};
pub use weir_overload as overload;
pub use weir_policy as policy;
pub use weir_wire as wire;
