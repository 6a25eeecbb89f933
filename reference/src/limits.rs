//! Every bound of the controls, each with its reason.

/// The sum of the weights of those who share a window, in micro-units: `TENANTS_MAX` of the largest weight are 10^18,
/// under 2^60. Times a limit of up to 2^53 it stays far below 2^128.
pub const WEIGHT_SUM_MICROS_MAX: u64 = 1 << 60;

/// Rounds in which a region asks its pool for more to serve one request. Each round brings what is missing to reserve
/// the guarantees that the round before raised; with weights of a factor 100 they settle within 1,000.
pub const ESCROW_ROUNDS_MAX: u32 = 1_000;

/// Leases that one request of an engine asks for. Each but the last brings a part of what is left, so a few do.
pub const LEASING_ROUNDS_MAX: u32 = 16;

/// How long an engine that lost its coordinator serves from its region alone before it asks again.
pub const PROBE_MS: u64 = 5_000;

/// What a lease, or a unit that lies idle, may cost: with the six decimals of a weight, `2 c D` stays under 2^115 for
/// every demand.
pub const LEASE_COST_MAX: u64 = 1_000_000;

/// Cells of one structure in compatible mode: 16 MB.
pub const COMPATIBLE_CELLS_MAX: u64 = 1 << 20;
