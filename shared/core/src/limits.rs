//! Every bound of Weir, with its reason. Weir keeps, counts and waits for nothing from outside beyond these.

mod accounting;
mod agent;
mod branches;
mod gateway;
mod keys;
mod operator;
mod overload;
mod sharing;
mod trace;

pub use accounting::*;
pub use agent::*;
pub use branches::*;
pub use gateway::*;
pub use keys::*;
pub use operator::*;
pub use overload::*;
pub use sharing::*;
pub use trace::*;

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1 (RFC 8259, section 6).
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Units that one check may cost. Equal to the largest exact JSON integer, because costs travel as JSON numbers.
pub const COST_MAX: u64 = JSON_INTEGER_MAX;

/// Bytes of a tenant's or a key's name. Long enough for a URL path or a hash, short enough to keep 100,000 of them.
pub const NAME_BYTES_MAX: usize = 128;

/// Bytes of a name that the policy gives (budget, limit, tier): these become metric labels and header keys.
pub const LABEL_BYTES_MAX: usize = 64;

/// Bytes of a decision id: two names of the policy, a time of 16 digits, a hash of 16, a reason, a kind and separators
/// take 187.
pub const DECISION_ID_BYTES_MAX: usize = 192;

/// Bytes of a request to decide. A batch is bounded by the same number.
pub const CHECK_BODY_BYTES_MAX: usize = 64 * 1024;

/// Checks that one request charges, all or nothing. Each may need a call to another holder.
pub const CHECKS_MAX: usize = 16;

/// Requests of one batch: as many as fit the body at 65 bytes each.
pub const BATCH_REQUESTS_MAX: usize = 1_000;

/// Bytes of a reservation's text: its charges, for each dimension of each of its checks.
pub const RESERVATION_BYTES_MAX: usize = 4_096;

/// Bytes of a policy document: it travels whole and is one row, for which SQLite objects allow 2 MB.
pub const POLICY_BODY_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of any other operator request.
pub const OPERATOR_BODY_BYTES_MAX: usize = 16 * 1024;

/// Budgets, limits, tiers and tier rules of one policy, each. An isolate holds a machine for every budget.
pub const POLICY_ENTRIES_MAX: usize = 256;

/// Dimensions of one composite limit, each a state to read and to write.
pub const COMPOSITE_DIMENSIONS_MAX: usize = 8;

/// Tenants that one policy names; all others resolve by rule or default.
pub const POLICY_TENANTS_MAX: usize = 10_000;

/// Tenants that a deployment distinguishes (`tenants_max` may say less).
pub const TENANTS_MAX: u64 = 1_000_000;

/// Overrides of one tenant. Each starts and ends once, so there are at most 33 spans of time to check when a policy is
/// saved.
pub const OVERRIDES_MAX: usize = 16;

/// Checks of overrides that one document may take, each some microseconds: two and a half times what 10,000 tenants with
/// an override of two numbers take. A document of a megabyte could demand half a million.
pub const POLICY_CHECKS_MAX: usize = 100_000;

/// Seconds of its rate that a meter's full bucket holds, at most: a day, so that a tenant spends its savings within two.
pub const BURST_SECONDS_MAX: u64 = 24 * 3_600;

/// For how long one batch may leave a meter's bucket empty, at most: a day.
pub const DEBT_MS_MAX: u64 = 24 * 3_600_000;

/// Concurrent calls that a guard permits: each is a slot of up to 44 bytes in a row that is written with each call, 180
/// KB of the 2 MB that a row may have.
pub const GUARD_SLOTS_MAX: u64 = 4_096;

/// Calls a minute that a guard permits: a thousand times as many as an object handles.
pub const GUARD_PER_MINUTE_MAX: u64 = 12_000_000;

/// The shortest lease of a guard's slot. A shorter one lapses before its first renewal arrives from another continent.
pub const GUARD_LEASE_MS_MIN: u64 = 100;

/// The longest lease of a guard's slot: a holder that died keeps it for at most a day.
pub const GUARD_LEASE_MS_MAX: u64 = 24 * 3_600_000;

/// Rows of a preview in an answer, and names of tenants that gain or lose: those that change most, some 300 KB.
pub const PREVIEW_ROWS_MAX: usize = 1_000;

/// The shortest window of a global budget or limit. Below a second, the leases' round trips outlast the window.
pub const BUDGET_WINDOW_MS_MIN: u64 = 1_000;

/// The shortest part of a global sliding window. Each part has its own leases, and a part below a tenth of a second is
/// over before a lease from the other side of the world arrives.
pub const GLOBAL_BUCKET_MS_MIN: u64 = 100;

/// Parts of a global sliding window. For each key, a coordinator keeps and writes one number a part.
pub const GLOBAL_BUCKETS_MAX: u64 = 100;

/// After a change of a static partition, shares grow in windows that begin this much later. Until then, regions that have
/// not heard of the change spend their old shares, and units lent ahead by old shares are in use. A push takes seconds;
/// units lent ahead before it end within [`AHEAD_MS_MAX`] of it.
pub const HANDOVER_MS: u64 = 2 * AHEAD_MS_MAX;

/// Windows to come of which a region holds a slice with `outage: regional_only`. No other region can use a slice until
/// its window opens, so this is no more than an outage of some windows needs.
pub const STANDING_WINDOWS: u64 = 3;

/// The longest window or period: 400 days, a year with room.
pub const WINDOW_MS_MAX: u64 = 400 * 24 * 3_600_000;

/// The longest time in which a limit's whole burst may refill: ten years. It keeps every arrival time under 2^53 ms.
pub const REFILL_MS_MAX: u64 = 3_650 * 24 * 3_600_000;

/// Decimals of a rate, a capacity or a wait: a double keeps 15 digits of any decimal, so they are exact.
pub const DECIMALS_MAX: u32 = 15;

/// The highest rate a second, a hundred times the highest that Weir is meant to serve.
pub const RATE_PER_SEC_MAX: u64 = 1_000_000_000;

/// The longest wait in the queue of a shaper: as long as the longest window.
pub const QUEUE_MS_MAX: u64 = WINDOW_MS_MAX;

/// The longest delay of a timer: 2^31 - 1 ms, 24.8 days. A timer with a longer delay fires at once.
pub const TIMER_MS_MAX: u64 = (1 << 31) - 1;

/// Holders that one parent remembers. At the 200 calls a second that an object is meant to carry and a contact every `5
/// ms x holders`, no more can make contact at a time. The one that was silent for longest makes room: what it still held
/// counts as granted until the window ends.
pub const HOLDERS_MAX: usize = 2_048;

/// Wants, one a tenant, and returns in one exchange message: some 100 bytes each, 460 kB with the longest names of nested
/// tenants. The rest goes with the next.
pub const EXCHANGE_ENTRIES_MAX: usize = 512;

/// The time between two searches for expired rows, which read every row.
pub const PURGE_MS: u64 = 60_000;

/// How long a shard holds a charge for a question over several shards before it lapses: two calls at their deadline.
pub const HOLD_MS: u64 = 3_000;

/// Questions that one shard holds at a time. Each is over within 6 s, so it refuses some only above 500 a second, more
/// than an object is meant to carry. Anyone may have up to half of this; beyond, each owner its part as of
/// [`ISOLATE_KEYS_MAX`].
pub const HOLDS_MAX: usize = 3_000;

/// Questions that a shard remembers in case they must be undone, some 200 bytes each.
pub const RECENT_QUESTIONS_MAX: usize = 4_096;

/// How often a commit or undo is sent to a shard that does not answer, at growing intervals, within the 30 seconds that a
/// task may run.
pub const UNDO_ATTEMPTS_MAX: u32 = 4;

/// Keys of shards that one isolate distinguishes, some 600 bytes each, and queues for guards, each on an account as of
/// [`ISOLATE_KEYS_MAX`].
pub const KEY_CACHES_MAX: usize = 10_000;

/// An owner with too many entries forgets, of so many of its oldest, the one that is worth least. A search through all of
/// them, at each new key, would be the attack.
pub const FORGOTTEN_OF: usize = 16;

/// Questions for slots of one guard that one isolate has in flight for a tenant. A flood sends so many at a time to the
/// shard, which also keeps the slots of other tenants. Over a round trip of 50 ms they give 320 slots a second.
pub const SLOT_QUESTIONS_MAX: usize = 16;

/// Unreturned draws that came back to one key. Further ones stay charged.
pub const STRAYS_MAX: usize = 16;

/// Pools (budgets, and keys of global limits) of which one isolate holds leases, some 500 bytes each.
pub const HOLDERS_ISOLATE_MAX: usize = 10_000;

/// Pools that one region or coordinator object keeps, some kilobyte each. Beyond, a new key is `unavailable` until the
/// window of another has ended.
pub const POOLS_MAX: usize = 20_000;

/// Messages of one contact. The rest goes with the next.
pub const EXCHANGES_PER_CONTACT_MAX: usize = 256;

/// Bytes of a slot of a guard as text: names of a tenant, a guard and a region, two numbers and a MAC, in Base64.
pub const SLOT_BYTES_MAX: usize = 1_024;

/// Rules of limits that a shard remembers, some 300 bytes each: those of every name, and of tenants with overrides. Every
/// question brings them again.
pub const SHARD_RULES_MAX: usize = 16_384;

/// How long a reservation may be settled: longer than any answer of a language model takes.
pub const RESERVATION_MS: u64 = 15 * 60_000;

/// Policy revisions that the registry keeps.
pub const POLICY_REVISIONS_MAX: u64 = 1_000;

/// The shortest time between two contacts of one holder with its parent, when nothing is short.
pub const CONTACT_MS_MIN: u64 = 500;

/// The shortest time between two requests for what a shared budget releases as its window passes.
pub const RELEASE_MS_MIN: u64 = 100;

/// How often between two contacts a holder asks ahead of demand after it got nothing.
pub const REFILLS_PER_CONTACT: u64 = 8;

/// Added to the time between contacts for each holder, so that a parent sees at most 200 contacts a second.
pub const CONTACT_MS_PER_HOLDER: u64 = 5;

/// How long a request waits for budget before it is answered `unavailable`.
pub const DECIDE_WAIT_MS_MAX: u64 = 2_000;

/// The deadline of one call to another object.
pub const CALL_MS_MAX: u64 = 1_500;

/// The deadline of a region's call to the coordinator: shorter than the wait of the isolate behind it.
pub const COORDINATOR_CALL_MS_MAX: u64 = 1_000;

/// How long a region that has never seen a policy waits for the registry: so short that the isolate behind it still gets
/// the shipped policy.
pub const REGISTRY_WAIT_MS_MAX: u64 = 700;

/// The deadline of a call that only refreshes known data.
pub const REFRESH_MS_MAX: u64 = 250;

/// How long a region that served no request for two polls waits for the registry: within the wait of the isolate behind
/// it.
pub const IDLE_REFRESH_MS_MAX: u64 = 150;

/// The deadline of an operator's call, which may fan out to every region.
pub const OPERATOR_CALL_MS_MAX: u64 = 3_000;

/// After how long without a word a settlement under way is begun again by whoever asks for it next: longer than anything
/// that it waits for, which is a region's call to the coordinator and two of its other calls, and a second for a busy machine.
pub const SETTLEMENT_SILENT_MS_MAX: u64 = COORDINATOR_CALL_MS_MAX + 2 * CALL_MS_MAX + 1_000;

/// Settlements of one region that wait for units at a time: one more is refused, and asked for again. A burst of a thousand
/// reservations that all used more is served; what is remembered of them is below 2 MB.
pub const SETTLEMENTS_WAITING_MAX: usize = 1_000;

/// How long a region goes without asking the registry for a newer policy. If the push of a saved change was lost, the
/// change is in force after at most this time.
pub const POLICY_POLL_MS: u64 = 5_000;

/// The largest step back of a clock that counts as standing still.
pub const CLOCK_STEP_MS_MAX: u64 = 60_000;

/// How long a silent holder still counts among those that share what is left. Many contacts long, so that a slow holder
/// stays counted; much shorter than a day, in which isolates come and go.
pub const HOLDER_SILENT_MS_MAX: u64 = 30_000;

/// Regions of one policy: the location hints of the platform, with room.
pub const REGIONS_MAX: usize = 16;

/// Requests of one isolate that may wait for one budget at a time; more are answered `unavailable` at once.
pub const WAITERS_MAX: usize = 10_000;

/// How long a login lasts.
pub const SESSION_MS: u64 = 12 * 3_600_000;

/// How far the clock of the isolate that opened a session may be ahead of the one that sees it. Weir did not open a
/// session that claims to last longer than a login does.
pub const SESSION_EARLY_MS_MAX: u64 = 10_000;

/// Ended sessions that are remembered, until each would have ended by itself. They travel with the tokens in the same
/// row: 300 kB. There are more than tokens, so if there are too many, some token has two.
pub const SESSIONS_ENDED_MAX: usize = 2 * TOKENS_MAX;

/// How long a key that no longer seals opens what it sealed: as long as a slot of a guard may be held without renewal.
pub const SEAL_KEPT_MS: u64 = GUARD_LEASE_MS_MAX;

/// Keys that are kept, the sealing one among them. Ending all sessions more often within [`SEAL_KEPT_MS`] drops the
/// oldest early: their reservations stay charged, and their slots lapse.
pub const SEALS_MAX: usize = 16;

/// How many versions the key of a text may be ahead of an isolate's for the isolate to ask for it: as many as are kept. A
/// key further ahead is forged.
pub const SEALS_AHEAD_MAX: u64 = SEALS_MAX as u64;

/// Bytes of the bootstrap token, at least: even 32 bytes of poor text hold more than 128 bits.
pub const BOOTSTRAP_TOKEN_BYTES_MIN: usize = 32;

/// Different characters of the bootstrap token, at least. Of 32 random hexadecimal digits 14 are expected; of 300,000
/// such tokens none had fewer than nine.
pub const BOOTSTRAP_TOKEN_DISTINCT_MIN: usize = 9;

/// Different steps from one character to the next, at least: rows of the alphabet have a few, 32 random hexadecimal
/// digits at least twelve (of 300,000 tokens).
pub const BOOTSTRAP_TOKEN_STEPS_MIN: usize = 9;

/// Minutes by which a fixed offset may be ahead of or behind UTC: 14 hours, as in the Line Islands.
pub const OFFSET_MINUTES_MAX: i64 = 840;

/// Bytes of a time zone's name. The longest of the IANA database has 32.
pub const TIME_ZONE_BYTES_MAX: usize = 64;

/// Parts of a sliding window. With more, one state would exceed the 2 MB of a row.
pub const SLIDING_BUCKETS_MAX: u64 = 100_000;

/// The limit of a sliding log. It keeps the instant of every charge: 100,000 of them are 1.3 MB, and a row may have 2 MB.
pub const SLIDING_LOG_LIMIT_MAX: u64 = 100_000;

/// Tenants of one pool with units of their own at one holder, some 300 bytes each.
pub const TENANT_BALANCES_MAX: usize = 20_000;

/// Balances from which on a holder counts tenants that the policy does not name as one. The rest has room for all that a
/// policy can name.
pub const STRANGERS_MAX: usize = TENANT_BALANCES_MAX - POLICY_TENANTS_MAX;

/// A lease ahead of demand is for so many contacts. More contacts mean fewer messages, but more is lost with a holder
/// that dies.
pub const LEASE_CONTACTS: u64 = 3;

/// The same for tenants that share by weight. The others do not get what one holds unused, until it is returned.
pub const LEASE_CONTACTS_SHARED: u64 = 1;

/// A holder asks for the next window so many contacts before it opens: two may be lost.
pub const AHEAD_CONTACTS: u64 = 3;

/// Without slices of windows to come, units of a window are lent no sooner than this before it opens, so that an edit
/// finds few of them lent. 2,000 holders that ask [`AHEAD_CONTACTS`] contacts before are within it.
pub const AHEAD_MS_MAX: u64 = 30_000;

/// A window from which units are lent ahead serves at least so many of the largest requests. Else holders' parts of it
/// would serve none.
pub const AHEAD_REQUESTS_MIN: u64 = 8;

/// How much too early a window that was lent from ahead may open at a holder, at each depth: a round trip around the
/// world. So no request waits at a boundary, and any interval that is shorter than a window by twice this sees at most
/// two.
pub const EARLY_MS_MAX: u64 = 250;

/// Windows to come of which a holder has units at a time. Each is a number in a stored row.
pub const AHEAD_WINDOWS_MAX: usize = STANDING_WINDOWS as usize;

/// Tenants of one pool that a lender distinguishes in a window, some 200 bytes each.
pub const LENDER_ACCOUNTS_MAX: usize = 100_000;

/// Tokens of one deployment. They all travel together and are one row of a region: 1 MB at worst, of the 2 MB that a row
/// may have.
pub const TOKENS_MAX: usize = 2_000;

/// Tenants and budgets that an isolate keeps planned: more than are in use at a time, in some 2 MB.
pub const BUDGET_PLANS_MAX: usize = 4_096;

/// Questions that an isolate keeps prepared, by bearer and text: as many as a busy isolate gets repeatedly, in some 500
/// kB on both sides.
pub const PREPARED_MAX: usize = 1_024;

/// Tokens that an isolate remembers as verified: more than the clients of one isolate use, in some 300 kB.
pub const TOKENS_VERIFIED_MAX: usize = 1_024;

/// Tokens whose uses one contact reports. The rest goes with the next.
pub const TOKENS_USED_MAX: usize = 64;

/// The time between two reports of the uses of one token, and two writes of them: a row a minute and token, not one a
/// request.
pub const TOKEN_USE_MS: u64 = 60_000;

/// The time between two questions for an unknown token: for the same one in one isolate, for any in one region. So a
/// revoked token makes few calls.
pub const TOKEN_ASK_MS: u64 = 1_000;

/// Unknown tokens for which one isolate asks in a second: more than anyone makes by hand.
pub const TOKENS_WANTED_MAX: usize = 8;

/// Characters of the reason that comes with a change.
pub const REASON_CHARACTERS_MAX: usize = 500;

/// Bytes of the old and of the new value in one audit record. Of a longer value the record has the hash and the length;
/// the revisions of the policy are kept whole beside the log.
pub const AUDIT_VALUE_BYTES_MAX: usize = 16 * 1024;

/// Records of the audit log that are kept at any age: 70 MB, at some 700 bytes each.
pub const AUDIT_RECORDS_MAX: u64 = 100_000;

/// Records of the audit log that are kept while they are younger than [`AUDIT_KEPT_MS`]: of 40 KB each at worst, 8 GB of
/// the 10 that an object may have. Beyond, the oldest are dropped, and the hash of the last of them is kept to verify the
/// rest.
pub const AUDIT_YOUNG_RECORDS_MAX: u64 = 200_000;

/// How long records are kept if there are more than [`AUDIT_RECORDS_MAX`]: a quarter of a year.
pub const AUDIT_KEPT_MS: u64 = 90 * DAY_MS;

/// Records that are dropped at a time, so that a full log is not pruned with every change.
pub const AUDIT_PRUNE: u64 = 1_000;

/// Records that one answer holds, or one check verifies: of 40 KB each at worst, 20 MB of the 128 that an object has.
pub const AUDIT_PAGE_MAX: u64 = 500;

/// Records of one actor's actions of one kind that the log takes in full within a day; further ones are summed up. An
/// editor who never stops then fills [`AUDIT_YOUNG_RECORDS_MAX`] in a month, an admin with all the tokens that it can
/// make in six days.
pub const AUDIT_IN_FULL_PER_DAY_MAX: u64 = 200;

/// The log takes so many times one actor's records for all tokens that come from one root: as for a token that an admin
/// made, and those that this one made. So one of them alone does not use up their shared room.
pub const AUDIT_ROOT_ACTORS: u64 = 2;

/// The same for one actor's refused actions.
pub const AUDIT_REFUSED_IN_FULL_PER_DAY_MAX: u64 = 100;

/// The same for all actors without a name together, as before a login.
pub const AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX: u64 = 60;

/// Whole policies that one actor may save within a day, one in 86 seconds, and as many changes of single tenants, and
/// tenants removed. The log has each with what it changed.
pub const POLICIES_PER_DAY_MAX: u64 = 1_000;

/// Tokens that one actor may make within a day. The log has each.
pub const TOKENS_PER_DAY_MAX: u64 = 2_000;

/// The time from the first summed-up action to the record of all of them. Until then they are stored, but not shown in
/// the log.
pub const AUDIT_SUMMARY_MS: u64 = HOUR_MS;

/// Different targets that such a record names: 2.5 KB of its 16.
pub const AUDIT_SUMMARY_TARGETS_MAX: usize = 20;

/// Bytes of an identity provider's assertion. Those of Cloudflare Access have some 1,500; with it the other headers stay
/// under the platform's 32 KB.
pub const ASSERTION_BYTES_MAX: usize = 8 * 1024;

/// Bits of an RSA key, at least (RFC 7518, section 3.3).
pub const RSA_BITS_MIN: usize = 2_048;

/// How far the clock of an identity provider may be ahead.
pub const ASSERTION_EARLY_MS_MAX: u64 = 60_000;

/// Bytes of an identity provider's keys: two or three of 2 KB with their certificates, with room.
pub const PROVIDER_KEYS_BYTES_MAX: usize = 64 * 1024;

/// Keys of an identity provider that an isolate keeps.
pub const PROVIDER_KEYS_MAX: usize = 16;

/// Key sets that an isolate keeps: the deployment's own provider, and one or two for each route that finds its tenant in
/// a token. Others are fetched again.
pub const PROVIDERS_MAX: usize = 32;

/// The time after which an isolate fetches an identity provider's keys again; they change every few weeks.
pub const PROVIDER_KEYS_MS: u64 = 3_600_000;

/// How long an isolate continues with keys that it cannot refresh.
pub const PROVIDER_KEYS_MS_MAX: u64 = 24 * 3_600_000;

/// The shortest time between two fetches of an identity provider's keys, so that invented key names do not make every
/// request a call.
pub const PROVIDER_KEYS_MS_MIN: u64 = 10_000;

/// Logins that one address may try at once, and again in each [`LOGIN_PERIOD_MS`]. Far above what a person needs, and
/// nothing beside the 2^192 possible tokens.
pub const LOGIN_ATTEMPTS_MAX: u64 = 20;

/// See [`LOGIN_ATTEMPTS_MAX`].
pub const LOGIN_PERIOD_MS: u64 = 60_000;

/// Logins of one kind that a region examines in a second, for all addresses together: a twentieth of what one object is
/// meant to carry.
pub const LOGINS_PER_SEC_MAX: u64 = 10;

/// How long a login waits for its turn, at most: a person waits as long.
pub const LOGIN_QUEUE_MS_MAX: u64 = 5_000;

/// Logins of one kind for which an isolate asks the counting object at a time. So few that an object of a hundred
/// isolates answers each in time, and enough for as many in a second as it examines, even if each answer takes 400 ms.
pub const LOGIN_CALLS_MAX: usize = 4;

/// Logins of one kind that wait in an isolate until it asks for them: as many as then wait for their turn in the region.
pub const LOGIN_WAITERS_MAX: usize = (LOGINS_PER_SEC_MAX * LOGIN_QUEUE_MS_MAX / 1_000) as usize;

/// How long they wait there, at most: as for any other answer.
pub const LOGIN_WAIT_MS_MAX: u64 = DECIDE_WAIT_MS_MAX;

/// The client of a waiting login has left if the login has not checked its turn for so long: each checks some sixty times
/// a second.
pub const LOGIN_SEEN_MS_MAX: u64 = 1_000;

/// How long an isolate counts an answer as in flight: its line may wait for another, and two calls have their deadlines.
pub const LOGIN_ASKED_MS_MAX: u64 = DECIDE_WAIT_MS_MAX + 2 * CALL_MS_MAX;

/// Leading bytes of the bootstrap secret that distinguish attempts at it from anything else that strangers send. The
/// other 24, at least, are compared only as often as its line permits.
pub const BOOTSTRAP_ACCOUNT_BYTES: usize = 8;

/// Wrong bearer tokens from one address to an isolate within [`LOGIN_PERIOD_MS`]: ten a second, so that services with a
/// revoked token still get that answer.
pub const GUESSES_MAX: u64 = 600;

/// Lines of guesses of each kind that an isolate distinguishes, some 100 bytes each.
pub const GUESS_LINES_MAX: usize = 1_024;

/// Bytes of a token in a login or a request: above any that Weir makes and any secret worth typing.
pub const TOKEN_BYTES_MAX: usize = 1_024;
