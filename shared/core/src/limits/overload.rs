//! Bounds of overloaded resources.

/// Levels of a structure that distinguishes clients. With 1,000 buckets a level, 100 heavy clients cover one innocent
/// client in 100,000 already with 5 levels.
pub const OVERLOAD_LEVELS_MAX: usize = 8;

/// Clients for which the levels of a resource are computed: 25 times as many as any structure distinguishes (389,000 on 8
/// levels of 1,024 buckets), so that a refusal of more can say how many levels they would take.
pub const OVERLOAD_CLIENTS_MAX: u64 = 10_000_000;

/// Buckets of one level. Digits of eight such levels take 96 of a hash's 128 bits.
pub const OVERLOAD_BUCKETS_MAX: usize = 4_096;

/// Cells of one structure: each isolate keeps two structures of at most 24 bytes a cell for each resource, 400 KB.
pub const OVERLOAD_CELLS_MAX: usize = 8_192;

/// The shortest rotation period: many contacts long, so that a structure is shared before it is dropped.
pub const OVERLOAD_ROTATE_MS_MIN: u64 = 10_000;

/// The longest rotation period: a client suffers for at most so long from another's bucket.
pub const OVERLOAD_ROTATE_MS_MAX: u64 = 3_600_000;

/// The fastest decay of a probability by itself: it is gone within a tenth of a second.
pub const OVERLOAD_DECAY_PER_S_MAX: f64 = 100.0;

/// Levels that any advice names: each request visits every level.
pub const ADVISED_LEVELS_MAX: u32 = 64;

/// The largest probability with which a client is denied. At 1 it would never report again, nor would any client that
/// shares its cells. At 0.98 one request in fifty reports its outcome, while a client at fifty times its share still gets
/// no more than its share.
pub const OVERLOAD_PROBABILITY_MAX: f64 = 0.98;

/// Overload resources of a policy: an isolate keeps up to 256 KB for each that it decides about, and one message may
/// carry the merged cells of all of them.
pub const OVERLOAD_RESOURCES_MAX: usize = 32;

/// How long a parent may keep changes of a resource in memory alone. A row is some 20 to 100 KB. A death costs what
/// clients used in that time, which drains within seconds anyway.
pub const OVERLOAD_STORE_MS: u64 = 3_000;

/// A client's use of an overload resource is remembered for at most as long as it takes to drain in five minutes. Nobody
/// is denied for longer because of earlier use.
pub const OVERLOAD_DEBT_MS_MAX: u64 = 300_000;

/// How long an unanswered share is repeated. A parent may have forgotten by then that it has counted it.
pub const OVERLOAD_REPEAT_MS_MAX: u64 = 60_000;

/// The time after which a silent resource or its hub can be dropped: all use has drained.
pub const OVERLOAD_IDLE_MS: u64 = 600_000;

/// Concurrent requests that a policy may permit an isolate at a resource: as many as may wait there for their turn.
pub const OVERLOAD_SLOTS_MAX: u64 = 1_000;

/// How long a slot at a resource stays taken without news. Its holder renews it each third of that time.
pub const OVERLOAD_SLOT_MS: u64 = 30_000;

/// How long a request is expected to stay at a resource that is still unknown.
pub const OVERLOAD_SLOT_MS_FIRST: u64 = 1_000;
