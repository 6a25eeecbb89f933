//! Bounds of what is counted, told and kept: frames, ledgers, records of windows, metrics.

/// Tenants in one accounting frame, and in one window in it. Tenants that the policy does not name are counted together
/// beyond it; those that it names go with the next frame.
pub const FRAME_TENANTS_MAX: usize = 1_000;

/// Names that the tenants of one accounting frame are counted for, all together. At 390 bytes each with the longest
/// names, and 290 for each tenant, a frame has 1.9 MB of the 2 MB of the row that it becomes.
pub const FRAME_NAMES_MAX: usize = 4_000;

/// Windows that a holder counts apart in what it has not told yet: two of each budget of a policy.
pub const FRAME_WINDOWS_MAX: usize = 512;

/// Decisions that one frame shows.
pub const FRAME_SAMPLES_MAX: usize = 16;

/// Tenants that the policy does not name and that one ledger counts by name; those beyond are counted together. Those that
/// it names, at most [`POLICY_TENANTS_MAX`], come on top.
pub const LEDGER_TENANTS_MAX: usize = 10_000;

/// Budgets, limits, meters, guards and overload resources, each, that one tenant is counted for by name; those beyond are counted together.
pub const TENANT_NAMES_MAX: usize = 12;

/// Rows over which a ledger spreads the totals of its tenants.
pub const LEDGER_ROWS: u32 = 32;

/// Names that the tenants of one ledger are counted for, all together: 5,000 a row. At 10,000 tenants 16 each. With the
/// longest names and five numbers of 18 digits, one takes 182 bytes and each tenant 280 more: a row of 625 tenants has
/// 1.1 MB of the 2 MB that it may have, and the ledger some 40 MB in memory.
pub const LEDGER_NAMES_MAX: usize = 160_000;

/// Rows over which a ledger spreads the tenants of one interval; another holds the sum over all of them.
pub const CELL_ROWS: u32 = 16;

/// Bytes of one row of an interval: 10,000 tenants with two names each, of usual lengths, take 75 kB a row. Beyond, those
/// with the fewest calls are counted together.
pub const CELL_BYTES_MAX: usize = 96 * 1024;

/// How long after the end of a minute a ledger stores it: frames that were under way, which a region sends twice a second, are
/// in it then.
pub const LEDGER_FOLD_AFTER_MS: u64 = 1_000;

/// Entries of a ledger's journal after which it is folded without waiting for the alarm: eight minutes of two frames a
/// second.
pub const JOURNAL_ENTRIES_MAX: u64 = 1_000;

/// The shorter intervals that a ledger keeps.
pub const MINUTE_MS: u64 = 60_000;

/// The longer intervals that a ledger keeps, made of the shorter ones when these are dropped.
pub const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Milliseconds of a day without a change of offset.
pub const DAY_MS: u64 = 24 * HOUR_MS;

/// How long a ledger keeps minutes: a day, and the hour that is being made of them. 1,500 intervals of 16 rows at 96 kB
/// are 2.4 GB of the 10 GB that an object may have.
pub const MINUTES_KEPT_MS: u64 = 24 * HOUR_MS;

/// How long a ledger keeps hours: 90 days. 2,160 intervals of 16 rows at 96 kB are 3.4 GB.
pub const HOURS_KEPT_MS: u64 = 90 * 24 * HOUR_MS;

/// Points of one answer of a ledger about counters over time: the minutes of a day, or the hours of 90 days.
pub const LEDGER_POINTS_MAX: u64 = 2_200;

/// Tenants of one window that its ledger tells apart while it is open, besides those that the policy names.
pub const WINDOW_TENANTS_MAX: usize = 1_000;

/// Tenants of one window that its record names, some 120 bytes each; the rest is in it as one.
pub const RECORD_TENANTS_MAX: usize = 64;

/// Records of windows that a ledger keeps at most: 10 kB each are 1 GB of the 10 GB that an object may have.
pub const RECORDS_MAX: u64 = 100_000;

/// How long a ledger keeps records of windows, if they are not too many.
pub const RECORDS_KEPT_MS: u64 = 24 * HOUR_MS;

/// Records of one answer.
pub const RECORDS_READ_MAX: u64 = 200;

/// Windows that a ledger keeps open in memory, all budgets together: two of each, or of one budget those of a minute and
/// a half with the shortest windows. The one that ended first makes room.
pub const WINDOWS_OPEN_MAX: usize = 1_024;

/// How long after its end a window takes in what holders still tell of it: longer than any task of an isolate runs.
pub const WINDOW_GRACE_MS: u64 = 35_000;

/// How long after its end an isolate that has not told what it had of a window counts as dead: longer than one that lives
/// takes to tell, and so short that the record of the window still hears of it.
pub const LOST_MS: u64 = 20_000;

/// How long after its time a reservation that nobody settled counts as used in full: settlements that were made in time
/// have reached the ledger by then, however far the clocks are apart.
pub const RESERVATION_GRACE_MS: u64 = 60_000;

/// Settlements that one frame tells of: each names up to 16 things, and 2,000 names are half of what a frame may have.
pub const SETTLED_ENTRIES_MAX: u64 = 128;

/// Windows that are over and that the root of a budget still knows: those of two minutes at the shortest length.
pub const CLOSED_WINDOWS_MAX: usize = 128;

/// Upper bounds of the buckets in which waits are counted, milliseconds: from the next room to well beyond what a
/// decision may wait for one of its holders. Other bounds are another series: sums of both would be wrong.
pub const WAIT_BOUNDS_MS: [u64; 10] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/// Tenants that the policy does not name and that `/metrics` lists by name; those beyond are one series.
pub const METRICS_TENANTS_MAX: usize = 1_000;
