//! Bounds of the gateway.

/// Routes of one policy. Each request is compared with them in turn, some 100 ns each.
pub const ROUTES_MAX: usize = 256;

/// Methods of one route: there are nine that are registered and served by the platform, with room for WebDAV's.
pub const ROUTE_METHODS_MAX: usize = 32;

/// Bytes of a method.
pub const METHOD_BYTES_MAX: usize = 32;

/// Bytes of a host name (RFC 1035, section 2.3.4).
pub const HOST_BYTES_MAX: usize = 253;

/// Bytes of a route's path, and of the name of a header.
pub const PATTERN_BYTES_MAX: usize = 256;

/// Bytes of a request's body that are read before it is decided, where what it may use stands there: some 64,000 tokens of
/// text, and a hundred such requests at once take 25 MB of an isolate's 128.
pub const REQUEST_HEAD_BYTES_MAX: usize = 256 * 1024;

/// How long the head of a body may take to come: as long as an origin may by default.
pub const REQUEST_HEAD_MS_MAX: u64 = 30_000;

/// Objects and arrays within one another in a JSON text that passes by: providers' answers have some ten.
pub const SCAN_DEPTH_MAX: usize = 64;

/// Bytes of a name, a number or a text that is looked at in a JSON text that passes by: names of models have some 60.
pub const SCAN_WORD_BYTES_MAX: usize = 128;

/// Bytes of an event that is held back until it is known whether it is the usage that the client did not ask for, which
/// has some 500.
pub const EVENT_BYTES_MAX: usize = 16 * 1024;

/// Bytes of text that are taken for a token where nobody has counted it.
pub const TEXT_BYTES_PER_TOKEN: u64 = 4;

/// Patterns of models with a multiplier each: a provider has some 50 models.
pub const MODEL_PATTERNS_MAX: usize = 128;

/// Bytes of a pattern of models, and of a part of a pointer into an answer.
pub const MODEL_PATTERN_BYTES_MAX: usize = 128;

/// Parts of a pointer into an answer.
pub const USAGE_POINTER_PARTS_MAX: usize = 16;

/// Headers that an origin gets from the deployment: a credential, a version, an organisation, and some more.
pub const ORIGIN_HEADERS_MAX: usize = 16;

/// Bytes of what stands before a secret in such a header: `Bearer `, `Basic `.
pub const ORIGIN_PREFIX_BYTES_MAX: usize = 64;

/// Bytes of the name of a secret.
pub const SECRET_NAME_BYTES_MAX: usize = 64;

/// Bytes of a URL that a policy names.
pub const URL_BYTES_MAX: usize = 1_024;

/// Bytes of a request's path: far above what clients send and servers take (most refuse 8 KB).
pub const PATH_BYTES_MAX: usize = 16 * 1024;

/// The shortest time that an origin is given to begin its answer: below, a connection from another continent is not made.
pub const ORIGIN_TIMEOUT_MS_MIN: u64 = 50;

/// The time that an origin is given to begin its answer where the policy does not say.
pub const ORIGIN_TIMEOUT_MS: u64 = 30_000;

/// The longest time that an origin is given: the platform itself gives up after 100 seconds on most plans; models that
/// think longer are reached where it does not.
pub const ORIGIN_TIMEOUT_MS_MAX: u64 = 600_000;

/// Networks of proxies that a policy trusts: those of the large networks are some 20 each.
pub const TRUSTED_PROXIES_MAX: usize = 256;

/// Addresses of `x-forwarded-for` that are looked at, from its end. Beyond, whoever is last looked at counts.
pub const FORWARDED_HOPS_MAX: usize = 32;

/// Leading bits of an IPv6 address that name a client. Whoever has a network has 2^64 addresses of it, each of which would
/// else be a client of its own (RFC 6177 gives a site a /64 at least).
pub const CLIENT_PREFIX_BITS_IPV6: u8 = 64;

/// Leading bits of an IPv6 address that name whose keys they are: a site is commonly given 2^16 networks (RFC 6177), each
/// of which would else have a part of the room for keys of its own.
pub const OWNER_PREFIX_BITS_IPV6: u8 = 48;

/// API keys of one policy, some 90 bytes of the document each: with them it stays under its bound.
pub const API_KEYS_MAX: usize = 10_000;

/// Bytes of an API key.
pub const API_KEY_BYTES_MAX: usize = 1_024;

/// How often a request may pass through Weir, its first time included: a chain of gateways is short, a circle has no end.
pub const GATEWAY_PASSES_MAX: usize = 4;

/// How long an answer's body has to last before its status counts as a success of the origin: one that breaks off at once
/// is none, and one that lasts for minutes must not be heard of minutes late.
pub const OUTCOME_MS: u64 = 1_000;

/// How long after the end of an answer the rest of the request's body may take to pass. What the origin has not read by
/// then, it does not read.
pub const UPLOAD_AFTER_MS: u64 = 5_000;

/// How often a slot is given back, or a reservation settled, when no answer comes.
pub const FOLLOW_UPS_MAX: usize = 3;

/// The time between two of these.
pub const FOLLOW_UP_MS: u64 = 1_000;

/// How long after an origin has failed it may take to notice that it was the client who went away.
pub const UPLOAD_NOTICED_MS: u64 = 50;

/// Origins of a route after the first: a second provider, a third, a deployment of one's own, and one more. Each that is
/// tried takes a part of the time that the client waits.
pub const FALLBACK_ORIGINS_MAX: usize = 4;

/// Bytes of a request's body that are kept, so that it can be sent again to the next origin: a long conversation, or one
/// with two photographs. A larger body is sent once.
pub const FALLBACK_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of such bodies that an isolate keeps at once, of its 128 MB: beyond, bodies are sent once.
pub const FALLBACK_BODIES_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Failures in a row after which requests pass an origin by: one may be chance, and Envoy takes five by default, of many
/// servers that are alike.
pub const ORIGIN_FAILURES_MAX: u32 = 3;

/// For how long they do at first: a restart takes some seconds.
pub const ORIGIN_AWAY_MS: u64 = 5_000;

/// For how long at most: so late it may be noticed that an origin is well again, and so seldom a request waits for one
/// that is not.
pub const ORIGIN_AWAY_MS_MAX: u64 = 60_000;

/// Requests for each of which one more may be tried a second time: 20%, as Finagle's retry budget has it by default.
pub const REQUESTS_PER_RETRY: u32 = 5;

/// Second tries of a route that are in store at most, and at first: enough for all its origins to fail until they are
/// passed by, and for a hundred requests' share.
pub const RETRIES_STORED_MAX: u32 = 20;

/// Requests of routes that wait in an isolate for their turn, or may: each keeps its head, its decision and a timer, some
/// 20 KB with what the platform keeps of it, so 20 MB of an isolate's 128. Beyond, whoever would have to wait is answered at
/// once.
pub const WAITING_MAX: usize = 1_000;

/// When who found no room to wait is told to come again.
pub const WAITING_FULL_RETRY_MS: u64 = 1_000;

/// How long after its turn a seat stays that of a request which did not say that it goes: as long as what it leaves running
/// may run.
pub const WAITING_LEFT_MS: u64 = 30_000;

/// For how long a request of a route may wait for a budget or a resource: as long as an origin may take by default, and as
/// what a request leaves running may run. Most clients give up after a minute.
pub const WAIT_MS_MAX: u64 = 30_000;

/// Requests that wait and wake together are asked in turn, so many a millisecond: as many as an isolate decides in one.
pub const WAITERS_PER_MS: u64 = 8;

/// How late a request may look that waits before others pass it: its client may be gone, and timers are late by some
/// milliseconds.
pub const WAITER_LATE_MS: u64 = 50;

/// For how long a request that waits may be decided before it counts as gone: as long as two holders may be asked.
pub const WAITER_ASKED_MS_MAX: u64 = 2 * super::DECIDE_WAIT_MS_MAX;

/// The shortest time between two decisions on a request that waits: so often it may ask somebody else.
pub const WAITER_ASKS_MS_MIN: u64 = 25;

/// After how long the first of those that wait for a slot of a resource looks again: of a slot that serves in half a second
/// so less than 1% stays unused.
pub const SLOT_LOOK_MS: u64 = 4;

/// And how much later each of those behind it: fifty look some 700 times a second together, a hundredth of a core.
pub const SLOT_LOOK_BEHIND_MS: u64 = 8;

/// And after how long the last does.
pub const SLOT_LOOK_MS_MAX: u64 = 100;

/// The shortest time that a WebSocket may be open: below, a request does as well.
pub const WEBSOCKET_MS_MIN: u64 = 1_000;

/// The longest: providers of models end realtime sessions after half an hour or an hour. Each that is open is a request of its
/// isolate, and holds its slot of a guard.
pub const WEBSOCKET_MS_MAX: u64 = 60 * 60_000;

/// The longest where what was used is settled at the end: a minute before reservations can be settled no more.
pub const WEBSOCKET_SETTLED_MS_MAX: u64 = super::RESERVATION_MS - 60_000;

/// How long two sides may take to close a WebSocket once one has begun to: a round trip around the world and some.
pub const WEBSOCKET_CLOSING_MS: u64 = 1_000;

/// The longest time until a provider's limit is whole again that counts: some are of a day.
pub const PROVIDER_RESET_MS_MAX: u64 = 24 * 3_600_000;
