//! Bounds of traces.

/// Spans that an instance of the Worker keeps until they are sent: those of some 60 requests that call objects, at less
/// than 1 KB each. Further spans are counted and dropped, because nobody waits for a trace.
pub const SPANS_QUEUED_MAX: usize = 512;

/// Spans of one message to the collector: some 64 KB, well below what collectors take (4 MB by default).
pub const SPANS_BATCH_MAX: usize = 128;

/// Milliseconds that spans wait for others to be sent with them.
pub const SPANS_DELAY_MS: u64 = 200;

/// Milliseconds that a message to the collector may take: a tenth of what the platform lets run after an answer.
pub const SPANS_SEND_MS_MAX: u64 = 3_000;

/// Bytes of a `tracestate` that is passed on: as many as the recommendation asks for (section 3.3.1.5).
pub const TRACE_STATE_BYTES_MAX: usize = 512;

/// Bytes of a text in a span: a client chooses the length of its path.
pub const SPAN_TEXT_BYTES_MAX: usize = 256;

/// Header fields of a message to the collector: a credential, and the name of its owner.
pub const COLLECTOR_HEADERS_MAX: usize = 8;
