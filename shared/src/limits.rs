//! Every bound of Weir, with its reason. Nothing that comes from outside is kept, counted or waited for beyond these.

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1 (RFC 8259, section 6).
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Units that one check may cost. Equal to the largest exact JSON integer, as costs travel as JSON numbers.
pub const COST_MAX: u64 = JSON_INTEGER_MAX;

/// Bytes of a tenant's or a key's name. Long enough for a URL path or a hash, short enough to keep 100,000 of them.
pub const NAME_BYTES_MAX: usize = 128;

/// Bytes of a name that the policy gives (budget, limit, tier): these become metric labels and header keys.
pub const LABEL_BYTES_MAX: usize = 64;

/// Bytes of a request to decide. A batch is bounded by the same number.
pub const CHECK_BODY_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a policy document: it travels whole and is stored as one row, of which SQLite objects allow 2 MB.
pub const POLICY_BODY_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of any other operator request.
pub const OPERATOR_BODY_BYTES_MAX: usize = 16 * 1024;

/// Budgets, limits, tiers and tier rules of one policy, each. An isolate holds a machine for every budget.
pub const POLICY_ENTRIES_MAX: usize = 256;

/// Tenants that one policy names; all others resolve by rule or default.
pub const POLICY_TENANTS_MAX: usize = 10_000;

/// Tenants that a deployment tells apart (`tenants_max` may say less).
pub const TENANTS_MAX: u64 = 1_000_000;

/// The largest weight; with the six decimals below, 10^12 micro-units, under 2^40.
pub const WEIGHT_MAX: u64 = 1_000_000;

/// Decimals of a weight: weights are kept as integers of one millionth.
pub const WEIGHT_DECIMALS_MAX: u32 = 6;

/// The shortest window of a global budget. Below a second the leases' round trips outlast the window.
pub const BUDGET_WINDOW_MS_MIN: u64 = 1_000;

/// The longest window or period: 400 days, a year with room.
pub const WINDOW_MS_MAX: u64 = 400 * 24 * 3_600_000;

/// The longest time in which a limit's whole burst may refill: ten years. Keeps every arrival time under 2^53 ms.
pub const REFILL_MS_MAX: u64 = 3_650 * 24 * 3_600_000;

/// Holders that one parent remembers. At the 200 calls a second that an object is meant to carry and a contact every
/// `5 ms x holders`, more are not heard of at a time. The one that was silent for longest makes room: what it still
/// held counts as granted until the window ends.
pub const HOLDERS_MAX: usize = 2_048;

/// Wants and returns in one exchange message.
pub const EXCHANGE_ENTRIES_MAX: usize = 64;

/// Tenants in one accounting frame; those beyond are counted together.
pub const FRAME_TENANTS_MAX: usize = 1_000;

/// Tenants that one ledger counts by name; those beyond are counted together.
pub const LEDGER_TENANTS_MAX: usize = 10_000;

/// Budgets, and limits, that one tenant is counted for by name; those beyond are counted together.
pub const TENANT_NAMES_MAX: usize = 12;

/// Rows over which a ledger spreads its tenants. At 10,000 tenants, each with 12 budgets and 12 limits of 220 bytes,
/// a row has 1.7 MB of the 2 MB that it may have; with two names, 150 KB.
pub const LEDGER_ROWS: u32 = 32;

/// Keys of limits that one region object keeps, each a row of some 200 bytes: 20 MB of an object's storage.
pub const LIMIT_KEYS_MAX: usize = 100_000;

/// Policy revisions that the registry keeps.
pub const POLICY_REVISIONS_MAX: u64 = 1_000;

/// The shortest time between two contacts of one holder with its parent, when nothing is short.
pub const CONTACT_MS_MIN: u64 = 500;

/// Added to the time between contacts for each holder, so that a parent sees at most 200 contacts a second.
pub const CONTACT_MS_PER_HOLDER: u64 = 5;

/// How long a request waits for budget before it is answered `unavailable`.
pub const DECIDE_WAIT_MS_MAX: u64 = 2_000;

/// The deadline of one call to another object.
pub const CALL_MS_MAX: u64 = 1_500;

/// The deadline of a region's call to the coordinator: shorter than what the isolate behind it waits.
pub const COORDINATOR_CALL_MS_MAX: u64 = 1_000;

/// How long a region that has never seen a policy waits for the registry: so short that the isolate behind it still
/// gets the shipped one.
pub const REGISTRY_WAIT_MS_MAX: u64 = 700;

/// The deadline of a call that only refreshes what is already known.
pub const REFRESH_MS_MAX: u64 = 250;

/// The deadline of an operator's call, which may fan out to every region.
pub const OPERATOR_CALL_MS_MAX: u64 = 3_000;

/// How long a region goes without asking the registry for a newer policy: the upper bound of the time until a
/// saved change is in force when the push of it was lost.
pub const POLICY_POLL_MS: u64 = 5_000;

/// The largest step back of a clock that is read as standing still.
pub const CLOCK_STEP_MS_MAX: u64 = 60_000;

/// How long a holder may be silent and still count as one that shares what is left. Many contacts long, so that a
/// slow holder stays counted; short beside a day, in which isolates come and go.
pub const HOLDER_SILENT_MS_MAX: u64 = 30_000;

/// Regions of one policy: the location hints that the platform knows, with room.
pub const REGIONS_MAX: usize = 16;

/// Requests of one isolate that may wait for one budget at a time; more are answered `unavailable` at once.
pub const WAITERS_MAX: usize = 10_000;

/// How long a login lasts.
pub const SESSION_MS: u64 = 12 * 3_600_000;

/// Bytes of the bootstrap token, at least: 32 bytes of even poor text hold more than 128 bits.
pub const BOOTSTRAP_TOKEN_BYTES_MIN: usize = 32;
