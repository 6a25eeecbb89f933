//! Bounds of overloaded resources.

/// Levels of a structure that tells clients apart. With 1,000 buckets a level, 5 of them already make 100 heavy clients
/// cover one innocent client in 100,000.
pub const OVERLOAD_LEVELS_MAX: usize = 8;

/// Clients for which the levels of a resource are found: 25 times as many as any structure keeps apart (389,000 on 8 levels
/// of 1,024 buckets), so that whoever has more is told how many levels they would take.
pub const OVERLOAD_CLIENTS_MAX: u64 = 10_000_000;

/// Buckets of one level. Digits of eight such levels take 96 bits of a hash of 128.
pub const OVERLOAD_BUCKETS_MAX: usize = 4_096;

/// Cells of one structure: each isolate keeps two structures of at most 24 bytes a cell for each resource, 400 KB.
pub const OVERLOAD_CELLS_MAX: usize = 8_192;

/// The shortest rotation period: many contacts long, so that a structure is shared before it is dropped.
pub const OVERLOAD_ROTATE_MS_MIN: u64 = 10_000;

/// The longest rotation period: for at most so long does one client suffer from another's bucket.
pub const OVERLOAD_ROTATE_MS_MAX: u64 = 3_600_000;

/// The fastest decay of a probability by itself: gone within a tenth of a second.
pub const OVERLOAD_DECAY_PER_S_MAX: f64 = 100.0;

/// Levels of a structure in compatible mode, and levels that are advised at all: each request visits every one.
pub const COMPATIBLE_LEVELS_MAX: u32 = 64;

/// Cells of one structure in compatible mode: 16 MB.
pub const COMPATIBLE_CELLS_MAX: u64 = 1 << 20;

/// The largest probability with which a client is denied. At 1 it would never report again, and with it everyone who
/// shares its cells; at 0.98 one request in fifty tells how things are, while a client at fifty times its share still
/// gets no more than that.
pub const OVERLOAD_PROBABILITY_MAX: f64 = 0.98;

/// Overloaded resources of a policy: an isolate keeps up to 256 KB for each that it decides about, and one message may
/// carry the merged cells of all of them.
pub const OVERLOAD_RESOURCES_MAX: usize = 32;

/// How long a parent may keep what changed of a resource in memory alone. A row is some 20 to 100 KB; what a death
/// costs is what clients used in that time, which drains within seconds anyway.
pub const OVERLOAD_STORE_MS: u64 = 3_000;

/// What a client used of an overloaded resource is remembered for at most as long as it takes to drain in five minutes:
/// nobody is denied for longer by what it did before.
pub const OVERLOAD_DEBT_MS_MAX: u64 = 300_000;

/// For how long a share is repeated that nobody answers; a parent may have forgotten by then that it has counted it.
pub const OVERLOAD_REPEAT_MS_MAX: u64 = 60_000;

/// After how long a resource or its hub that nothing was heard of can be dropped: whatever was used has drained.
pub const OVERLOAD_IDLE_MS: u64 = 600_000;

/// Requests that an isolate may be told to have at a resource at once: as many as may wait there for their turn.
pub const OVERLOAD_SLOTS_MAX: u64 = 1_000;

/// How long a slot at a resource stays taken of which nothing is heard. Whoever has it says so each third of that.
pub const OVERLOAD_SLOT_MS: u64 = 30_000;

/// How long a request is taken to stay at a resource of which nothing is known yet.
pub const OVERLOAD_SLOT_MS_FIRST: u64 = 1_000;
