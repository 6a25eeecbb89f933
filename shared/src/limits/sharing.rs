//! Bounds of tenants that share a budget: levels, weights and claims.

/// Levels of tenants, the lowest included: a company, a team, a user, and one to spare. A charge goes to an account at
/// each level, and each want brings the claims of all of them along.
pub const TENANT_DEPTH_MAX: usize = 4;

/// The largest weight; with the six decimals below, 10^12 micro-units, under 2^40.
pub const WEIGHT_MAX: u64 = 1_000_000;

/// Decimals of a weight: weights are kept as integers of one millionth.
pub const WEIGHT_DECIMALS_MAX: u32 = 6;

/// Different weights that the tiers and tenants of one policy have. Tenants of one weight are summed up together, so a
/// change of the sum of the weights costs one step for each weight, however many tenants there are.
pub const WEIGHTS_MAX: usize = 256;

/// Different claims to one budget (weight, ceiling, floor) that have a ceiling or a floor. As with weights, tenants of one
/// claim are summed up together; four times as many, as ceilings are agreed upon with single tenants, and a step is
/// below a tenth of a microsecond.
pub const BOUNDED_CLAIMS_MAX: usize = 1_024;

/// Requests of a tenant that may use idle units before the parent has spoken of it in a window. The fewer, the more tenants
/// that ask seldom wait for a round trip; the more, the later a flood is noticed, by so many requests a holder.
pub const FIRST_REQUESTS: u64 = 4;

/// Requests that a tenant which wants more than it can have may use ahead of demand at each holder, where that much is left.
/// The more, the fewer of those that ask seldom wait; what is not used of them counts as theirs until the next contact: with
/// four, a thousand tenants leave 1.3% of a window.
pub const ALLOWED_REQUESTS_MIN: u64 = 2;

/// A tenant that asks at one holder for so many times what is left for it is denied at once until it may use more: what is
/// denied is asked for again by others of its requests, also if half of them do not come.
pub const OUTASKED_TIMES: u64 = 2;

/// Requests of a tenant after which a holder tells its part of what the tenant used: by fewer it would be told by chance.
pub const PART_REQUESTS_MIN: u64 = 16;

/// A denial counts for so many contacts more while the parent is asked again: one may be lost.
pub const MEANWHILE_CONTACTS: u64 = 2;
