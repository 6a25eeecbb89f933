//! Bounds of what is counted, told and kept: frames, ledgers, records of windows, metrics.

/// Tenants in one accounting frame, and in one window in it. Beyond, tenants that the policy does not name are counted
/// together; those that it names go with the next frame.
pub const FRAME_TENANTS_MAX: usize = 1_000;

/// Names on which the tenants of one accounting frame are counted, all together; each that stands below or above another
/// in a window counts as one more. At 390 bytes each with the longest names, and 290 for each tenant, a frame has 1.9 MB of
/// the 2 MB of its row.
pub const FRAME_NAMES_MAX: usize = 4_000;

/// Windows that a holder counts separately until it reports them: two of each budget of a policy.
pub const FRAME_WINDOWS_MAX: usize = 512;

/// Sampled decisions in one frame.
pub const FRAME_SAMPLES_MAX: usize = 16;

/// Tenants outside the policy that one ledger counts by name; further ones are counted together. Those that the policy
/// names, at most [`POLICY_TENANTS_MAX`], come on top.
pub const LEDGER_TENANTS_MAX: usize = 10_000;

/// Budgets, limits, meters, guards and overload resources, each, on which one tenant is counted by name; further ones are
/// counted together.
pub const TENANT_NAMES_MAX: usize = 12;

/// Rows over which a ledger spreads the totals of its tenants.
pub const LEDGER_ROWS: u32 = 32;

/// Names on which the tenants of one ledger are counted, all together: 5,000 a row. At 10,000 tenants 16 each. With the
/// longest names and five numbers of 18 digits, one takes 182 bytes and each tenant 280 more: a row of 625 tenants has
/// 1.1 MB of the 2 MB that it may have, and the ledger some 40 MB in memory.
pub const LEDGER_NAMES_MAX: usize = 160_000;

/// Rows over which a ledger spreads the tenants of one interval. Another row has the sum over all of them.
pub const CELL_ROWS: u32 = 16;

/// Bytes of one row of an interval: 10,000 tenants with two names each, of usual lengths, take 75 kB a row. Beyond, those
/// with the fewest calls are counted together.
pub const CELL_BYTES_MAX: usize = 96 * 1024;

/// How long after the end of a minute a ledger stores it. By then it has the frames in flight, which a region sends twice
/// a second.
pub const LEDGER_FOLD_AFTER_MS: u64 = 1_000;

/// Entries of a ledger's journal after which it is folded without waiting for the alarm: eight minutes of two frames a
/// second.
pub const JOURNAL_ENTRIES_MAX: u64 = 1_000;

/// The shorter intervals that a ledger keeps.
pub const MINUTE_MS: u64 = 60_000;

/// The longer intervals that a ledger keeps, made from the shorter ones when these are dropped.
pub const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Milliseconds of a day without a change of offset.
pub const DAY_MS: u64 = 24 * HOUR_MS;

/// How long a ledger keeps minutes: a day, and the hour that is being made from them. 1,500 intervals of 16 rows at 96 kB
/// are 2.4 GB of the 10 GB that an object may have.
pub const MINUTES_KEPT_MS: u64 = 24 * HOUR_MS;

/// How long a ledger keeps hours: 90 days. 2,160 intervals of 16 rows at 96 kB are 3.4 GB.
pub const HOURS_KEPT_MS: u64 = 90 * 24 * HOUR_MS;

/// Points of one answer of a ledger about counters over time: the minutes of a day, or the hours of 90 days.
pub const LEDGER_POINTS_MAX: u64 = 2_200;

/// Tenants outside the policy that a ledger distinguishes in one open window.
pub const WINDOW_TENANTS_MAX: usize = 1_000;

/// Bytes that a ledger stores of one open window, of the 2 MB of its row: 10,000 tenants with names of 20 bytes take 0.8
/// MB, and 1.2 MB where each stands below another. Beyond, those that asked for least are counted together.
pub const WINDOW_BYTES_MAX: usize = 1_900_000;

/// Tenants of one window that its record names, some 120 bytes each. The record has the rest as one.
pub const RECORD_TENANTS_MAX: usize = 64;

/// Records of windows that a ledger keeps, at most: 10 kB each are 1 GB of the 10 GB that an object may have.
pub const RECORDS_MAX: u64 = 100_000;

/// How long a ledger keeps records of windows, unless there are too many.
pub const RECORDS_KEPT_MS: u64 = 24 * HOUR_MS;

/// Records of one answer.
pub const RECORDS_READ_MAX: u64 = 200;

/// Windows that a ledger keeps open in memory, for all budgets together: two of each, or for one budget with the shortest
/// windows those of a minute and a half. The one that ended first makes room.
pub const WINDOWS_OPEN_MAX: usize = 1_024;

/// How long after its end a window accepts reports of holders: longer than any task of an isolate runs.
pub const WINDOW_GRACE_MS: u64 = 35_000;

/// How long after a window's end an isolate that has not reported what it had of it counts as dead: longer than a live
/// isolate takes to report, and short enough for the window's record.
pub const LOST_MS: u64 = 20_000;

/// How long after its end an unsettled reservation counts as used in full. Settlements that were made in time have
/// reached the ledger by then, whatever the difference of the clocks.
pub const RESERVATION_GRACE_MS: u64 = 60_000;

/// Settlements that one frame reports: each names up to 16 checks, and 2,000 names are half of what a frame may have.
pub const SETTLED_ENTRIES_MAX: u64 = 128;

/// Frames of settlements that one flush sends to one ledger: 1,000 settlements a second, and counters are not kept waiting.
pub const SETTLED_FRAMES_MAX: u32 = 8;

/// Past windows that the root of a budget remembers: those of two minutes at the shortest length.
pub const CLOSED_WINDOWS_MAX: usize = 128;

/// Upper bounds of the buckets in which waits are counted, milliseconds: from the time of a nearby call to well beyond
/// the time that a decision may wait for a holder. Other bounds are another series: sums of both would be wrong.
pub const WAIT_BOUNDS_MS: [u64; 10] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/// Tenants outside the policy that `/metrics` lists by name; further ones are one series.
pub const METRICS_TENANTS_MAX: usize = 1_000;
