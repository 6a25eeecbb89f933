//! The bounds of keys: how many a shard and an isolate keep, and how many of them may be one owner's.

/// Keys of limits that one shard keeps for names that anyone can invent, each a row of some 250 bytes: 25 MB of an
/// object's storage.
pub const LIMIT_KEYS_MAX: usize = 100_000;

/// Shards over which a region spreads the keys of its limits, each an object of its own. Four carry 800 questions a
/// second at the 200 that each is meant to carry; drawn units and remembered denials answer most others.
pub const KEY_SHARDS: u32 = 4;

/// Bytes of all states of those keys, at worst: an object may have 10 GB, and reads a hundredth of it easily.
pub const KEY_STATE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Keys of one tenant, or of one address at a route of the gateway, that one shard keeps: a tenth of the room, so that it
/// takes ten of them to fill it. A tenant whose limits have keys of their own has all of them in one shard.
pub const TENANT_KEYS_MAX: usize = LIMIT_KEYS_MAX / 10;

/// Bytes of the states of these keys.
pub const TENANT_STATE_BYTES_MAX: u64 = KEY_STATE_BYTES_MAX / 10;

/// Keys that one shard keeps for one caller, under any tenants' names: half of the room, because one service may well
/// call for most of the tenants. Keys of tenants that the policy names are not among them.
pub const CALLER_KEYS_MAX: usize = LIMIT_KEYS_MAX / 2;

/// Bytes of the states of these keys.
pub const CALLER_STATE_BYTES_MAX: u64 = KEY_STATE_BYTES_MAX / 2;

/// Further keys that one shard keeps for tenants that the policy names, whatever keys these invent themselves: as many as
/// five of them may have.
pub const NAMED_KEYS_MAX: usize = 5 * TENANT_KEYS_MAX;

/// Bytes of the states of these keys.
pub const NAMED_STATE_BYTES_MAX: u64 = 5 * TENANT_STATE_BYTES_MAX;

/// Further keys that one shard keeps for tenants that the policy names, one for each limit, so that invented names leave
/// them room. As many as for all others, which 10,000 tenants with 40 meters, guards and limits each fill over four
/// shards.
pub const KNOWN_KEYS_MAX: usize = 100_000;

/// Bytes of the states of these keys.
pub const KNOWN_STATE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Owners of keys that one shard counts in memory, some 150 bytes each. Beyond, it starts again with those alone that
/// have at least [`OWNER_KEYS_COUNTED_MIN`] keys: of 250,000 keys, at most 2,500 tenants and as many callers.
pub const OWNERS_COUNTED_MAX: usize = 20_000;

/// Keys from which on an owner is counted when a table is read. It may exceed its part by as many.
pub const OWNER_KEYS_COUNTED_MIN: usize = TENANT_KEYS_MAX / 100;

/// Bytes from which on an owner is counted, whatever the number of its keys.
pub const OWNER_BYTES_COUNTED_MIN: u64 = TENANT_STATE_BYTES_MAX / 100;

/// Keys that one isolate keeps for limits of its own scope, some 400 bytes each.
pub const ISOLATE_KEYS_MAX: usize = 20_000;

/// One owner may have one in so many of the keys and pools that an isolate or a region keeps: a tenant, or an address at
/// a route of the gateway. The same part as of a shard ([`TENANT_KEYS_MAX`]).
pub const OWNER_PART: usize = 10;

/// One caller may have one in so many, as of a shard ([`CALLER_KEYS_MAX`]).
pub const CALLER_PART: usize = 2;

/// Beyond that, one in so many is kept for keys of tenants that the policy names, and as much again for the only key of
/// each.
pub const NAMED_PART: usize = 4;

/// Bytes of an idempotency key: as many as in a tenant's name.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;

/// How long an answer is remembered by its key: clients retry within minutes.
pub const IDEMPOTENCY_MS: u64 = 10 * 60_000;

/// The time after which a key without an answer may be claimed again. No request takes as long, because each call of an
/// object has a deadline of seconds.
pub const IDEMPOTENCY_CLAIM_MS: u64 = 30_000;

/// Keys that a region remembers: all of ten minutes at 166 a second. With an answer of 1 kB each, 100 MB of an object's
/// storage.
pub const IDEMPOTENCY_KEYS_MAX: usize = 100_000;

/// Keys of one token, so that it takes ten of them to fill the room.
pub const IDEMPOTENCY_KEYS_OF_ONE_MAX: usize = IDEMPOTENCY_KEYS_MAX / 10;

/// Bytes of a remembered answer: that of a check with as many reservations as one may have.
pub const IDEMPOTENCY_ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Returned places in the queue of a shaper that are kept for the next request. Those at its end need no keeping. So many
/// clients in the middle of one key's queue seldom leave before its turn comes round, and each is 87 bytes of the key's
/// row.
pub const FREE_PLACES_MAX: usize = 8;
