//! Bounds of tenants that share a budget: levels, weights and claims.

use super::CONTACT_MS_MIN;

/// Levels of tenants, the lowest included: a company, a team, a user, and one to spare. A charge goes to an account at
/// each level, and each want has the claims of all of them.
pub const TENANT_DEPTH_MAX: usize = 4;

/// Bytes of what a budget is said to be for: two or three sentences, which a page shows above its figures. A policy of 256
/// budgets then spends an eighth of a megabyte on them.
pub const DESCRIPTION_BYTES_MAX: usize = 512;

/// The largest weight; with the six decimals below, 10^12 micro-units, under 2^40.
pub const WEIGHT_MAX: u64 = 1_000_000;

/// Decimals of a weight: weights are kept as integers of one millionth.
pub const WEIGHT_DECIMALS_MAX: u32 = 6;

/// Different weights of the tiers and tenants of one policy. Tenants of one weight are summed up together, so a change of
/// the sum of the weights costs one step for each weight, however many tenants there are.
pub const WEIGHTS_MAX: usize = 256;

/// Different claims to one budget (weight, ceiling, floor) with a ceiling or a floor. As with weights, tenants of one
/// claim are summed up together. Four times as many, because ceilings are agreed with single tenants, and a step takes
/// below a tenth of a microsecond.
pub const BOUNDED_CLAIMS_MAX: usize = 1_024;

/// Requests of a tenant that may use idle units before its parent status in a window is known. With fewer, more tenants
/// that ask seldom wait for a round trip; with more, a flood is noticed later, by so many requests a holder.
pub const FIRST_REQUESTS: u64 = 4;

/// Requests that a tenant which wants more than it can have may use ahead of demand at each holder, if that much is left.
/// With more, fewer tenants that ask seldom wait; but what they do not use counts as theirs until the next contact: with
/// four, a thousand tenants leave 1.3% of a window.
pub const ALLOWED_REQUESTS_MIN: u64 = 2;

/// A tenant that wants more than it can have, but no more than what is left for it at a holder, may take one in so many units
/// of that in advance, before the parent speaks of it again. With all of it, tenants would exceed their shares by more in the
/// time of one contact; with less, more requests wait.
pub const ADVANCE_PART: u64 = 2;

/// The same where too little was used at the holder to compute its part ([`PART_REQUESTS_MIN`]): so many requests.
pub const ADVANCE_REQUESTS: u64 = 2;

/// A tenant may use at a holder, before its parent status in a window is known, what it used there of the last window in the
/// time of so many contacts: the status comes within one, and one may be lost.
pub const OPENING_CONTACTS: u64 = 2;

/// Up to so many idle units a holder are not divided: with 4, twelve isolates in three regions use .993 of a limit, and .2 to
/// .5% of the requests wait. If all that one holder asks for were lent to it, others would deny while it has some;
/// if half were lent after half, three times as many would wait.
pub const UNDIVIDED_UNITS: u64 = 4;

/// And no more than one in so many units of the limit: most of a small limit would be one holder's.
pub const UNDIVIDED_PART: u64 = 64;

/// A tenant that asks at one holder for so many times what is left for it is denied at once until it may use more. Others
/// of its requests ask again for what is denied, even if half of them do not come.
pub const OUTASKED_TIMES: u64 = 2;

/// Budgets in windows of at least this pool what tenants do not ask for, unless the policy says otherwise: there are twenty
/// contacts in one. In windows of 3 s, with six, floods of weights 1, 2 and 4 end up to a tenth of the limit from their shares.
pub const POOLED_WINDOW_MS_MIN: u64 = 10_000;

/// Who asks for nothing for longer begins to ask anew: four contacts. With two, of tenants that ask every other second a sixth more
/// requests wait.
pub const PAUSE_MS: u64 = 4 * CONTACT_MS_MIN;

/// Requests of a tenant after which a holder computes its part of what the tenant used. With fewer, the part would be
/// chance.
pub const PART_REQUESTS_MIN: u64 = 16;

/// A denial stands for so many more contacts while the holder asks its parent again: one may be lost.
pub const MEANWHILE_CONTACTS: u64 = 2;
