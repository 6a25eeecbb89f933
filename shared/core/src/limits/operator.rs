//! Bounds of what operators read and put back.

use super::LEDGER_TENANTS_MAX;

/// Entries of one page of a list by default: what a screen shows.
pub const PAGE_SIZE_DEFAULT: u64 = 100;

/// Entries of one page of a list, at most: some 2 MB of tenants with their effective policies.
pub const PAGE_SIZE_MAX: u64 = 1_000;

/// The highest number of a page: more pages than any list has at one entry a page.
pub const PAGES_MAX: u64 = 1_000_000;

/// Parameters of one query: more than any route has.
pub const QUERY_PARAMETERS_MAX: usize = 16;

/// Intervals of one answer of counters over time: a day of minutes, or 60 days of hours.
pub const SERIES_POINTS_MAX: usize = 1_440;

/// Tenants of one fairness report: as many as a deployment's ledgers keep by name in all, so that by default it holds
/// every tenant seen.
pub const FAIRNESS_PAGE_SIZE_MAX: u64 = 2 * LEDGER_TENANTS_MAX as u64;

/// Windows of one answer by default.
pub const WINDOWS_PAGE_SIZE_DEFAULT: u64 = 20;

/// Windows that one ledger reports at a time, newest first: some 3 KB each. A caller that wants older ones names an
/// earlier end.
pub const WINDOWS_READ_MAX: u64 = 1_001;

/// Intervals of tenants that a ledger reports, and that one preview reads: 333 tenants by minute, all 10,000 of a ledger
/// by the hour. With two names each some 4 MB, and a second of a ledger's time.
pub const DEMAND_CELLS_MAX: usize = 20_000;

/// Requests as which one preview plays the recorded demand of limits, a dozen times each: as long as a replay.
pub const PREVIEW_PLAYS_MAX: u64 = 20_000;

/// Windows of budgets that one preview reads, of all regions together, newest first: with the 64 tenants of a record
/// under each of two policies, 25,600 questions. A ledger reports as many: some 600 KB.
pub const PREVIEW_WINDOWS_MAX: u64 = 200;

/// Requests that one replay plays, each decided by two policies within some microseconds: the Worker takes half a second.
/// The command plays longer traces by itself.
pub const REPLAY_ENTRIES_MAX: usize = 20_000;

/// Bytes of the body of a replay: the largest policy, and the largest number of entries at some 150 bytes.
pub const REPLAY_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Rows of a replay in an answer, those that change most; the others are summed up: some 400 KB.
pub const REPLAY_ROWS_MAX: usize = 1_000;

/// The last instant of a trace: the end of the year 9999, where calendars end. Time without requests costs nothing.
pub const REPLAY_AT_MAX: u64 = 253_402_300_799_999;

/// How much recorded time one replay plays: 360 minutes of each tenant are read from the ledger of every region.
pub const REPLAY_SPAN_MS_MAX: u64 = 6 * 3_600_000;

/// Tenants whose recorded counters one replay plays by name, each a question to the ledger of every region.
pub const REPLAY_TENANTS_MAX: usize = 8;

/// Requests as which one recorded minute of a tenant at a budget or meter is played, at most: one in 100 ms.
pub const REPLAY_STEPS_MAX: u64 = 600;

/// How long after a key's reset all units that come back count as older than it: longer than drawn units, and questions
/// that were not committed, are in flight.
pub const RESET_DRAWS_MS: u64 = 5_000;

/// Reset keys that one shard remembers, for as long as a reservation may be settled.
pub const RESETS_MAX: usize = 4_096;

/// Keys of one shard that one request resets.
pub const RESET_KEYS_MAX: usize = 2_000;

/// Messages that a ledger keeps for live sockets which lost their connection: some twenty seconds at a frame a second.
pub const LIVE_KEPT_MAX: usize = 64;

/// Decisions that a ledger keeps for lists, some 200 bytes each.
pub const DECISIONS_KEPT_MAX: usize = 1_000;

/// Entries of a list that are written to a file at a time: some 200 KB of tenants with their effective policies.
pub const EXPORT_BATCH: usize = 100;

/// Tenants that one live message counts by name, some 300 bytes each.
pub const LIVE_TENANTS_MAX: usize = 50;

/// Live sockets of one ledger.
pub const LIVE_SOCKETS_MAX: usize = 100;

/// Live sockets of one ledger that one token holds, or one user of an identity provider: a person's open pages. So one
/// viewer does not take all places.
pub const LIVE_SOCKETS_A_HOLDER_MAX: usize = 16;

/// The time between two live messages about which regions made contact.
pub const LIVE_HEALTH_MS: u64 = 5_000;

/// Bytes of a client's message on a live socket: it only says that the client is there.
pub const LIVE_MESSAGE_BYTES_MAX: usize = 64;

/// Bytes of an order over a live socket of lines: the name of a region, and numbers.
pub const LINE_ORDER_BYTES_MAX: usize = 256;

/// The time between two openings of a region's line over one socket, each of which is a call of its ledger. A client that
/// lost a line waits longer.
pub const LINE_OPEN_MS_MIN: u64 = 250;

/// Budgets whose coordinators one question about regions asks, with a call each, beside two calls a region.
pub const COORDINATORS_ASKED_MAX: usize = 64;
