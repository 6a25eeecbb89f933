//! Branches of a busy region.

/// The deadline of a branch's call to the object above it: longer than that object's call to the coordinator, shorter than
/// the wait of the isolate behind the branch.
pub const BRANCH_CALL_MS_MAX: u64 = 1_250;

/// Isolates that a branch of a region is meant to serve: some two contacts and two shortages a second each, which is half
/// of the 200 calls a second that an object is meant to carry.
pub const BRANCH_ISOLATES: u64 = 24;

/// Isolates up to which a region has no branches: two calls and two shortages a second each come to the 200 calls a second
/// that an object is meant to carry.
pub const BRANCH_AT_ISOLATES: u64 = 2 * BRANCH_ISOLATES;

/// Branches below one object: with the isolates of [`BRANCH_AT_ISOLATES`] beside them, an object has at most 80 holders.
pub const BRANCH_CHILDREN_MAX: u32 = 32;

/// Branches of one region: 24 isolates each are 25,000 isolates, more than a region of the platform is known to run.
pub const BRANCHES_MAX: u32 = 1_056;

/// How long an isolate counts among those of its region after it was heard of: ten contacts of a region without branches.
pub const BRANCH_HEARD_MS: u64 = 5_000;

/// The shortest time between two changes of the number of a region's branches: all isolates have heard of the first and
/// moved, and their old contacts count no more.
pub const BRANCH_MS: u64 = 2 * BRANCH_HEARD_MS;
