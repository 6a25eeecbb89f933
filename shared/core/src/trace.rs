//! Traces: where a request spent its time, on its way through isolates, objects and origins. Whose trace it is a part of,
//! whether it is sampled, and the form in which spans leave for a collector.
//!
//! Sources: W3C Trace Context, level 1 (<https://www.w3.org/TR/trace-context-1/>); OTLP 1.x over HTTP with JSON
//! (<https://opentelemetry.io/docs/specs/otlp/>).

pub mod parent;
pub mod queue;
pub mod sampling;
pub mod settings;
pub mod span;
pub mod state;
