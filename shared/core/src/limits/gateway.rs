//! Bounds of the gateway.

/// Routes of one policy. Each request is compared with them one after another, some 100 ns each.
pub const ROUTES_MAX: usize = 256;

/// Methods of one route: nine are registered and served by the platform, with room for WebDAV's.
pub const ROUTE_METHODS_MAX: usize = 32;

/// Bytes of a method.
pub const METHOD_BYTES_MAX: usize = 32;

/// Bytes of a host name (RFC 1035, section 2.3.4).
pub const HOST_BYTES_MAX: usize = 253;

/// Bytes of a route's path, and of the name of a header.
pub const PATTERN_BYTES_MAX: usize = 256;

/// Bytes of a request's body that are read before the decision, if it says what the request may use: some 64,000 tokens
/// of text. A hundred such requests at once take 25 MB of an isolate's 128.
pub const REQUEST_HEAD_BYTES_MAX: usize = 256 * 1024;

/// How long the head of a body may take to arrive: as long as an origin may take by default.
pub const REQUEST_HEAD_MS_MAX: u64 = 30_000;

/// Nested objects and arrays in a JSON text that passes through: providers' answers have some ten.
pub const SCAN_DEPTH_MAX: usize = 64;

/// Bytes of a name, a number or a text that are read in a JSON text that passes through: names of models have some 60.
pub const SCAN_WORD_BYTES_MAX: usize = 128;

/// Bytes of an event that is held back until it is clear whether it is usage that the client did not ask for; that event
/// has some 500.
pub const EVENT_BYTES_MAX: usize = 16 * 1024;

/// Bytes of text that count as a token if the tokens were not counted.
pub const TEXT_BYTES_PER_TOKEN: u64 = 4;

/// Patterns of models with a multiplier each: a provider has some 50 models.
pub const MODEL_PATTERNS_MAX: usize = 128;

/// Bytes of a pattern of models, and of a part of a pointer into an answer.
pub const MODEL_PATTERN_BYTES_MAX: usize = 128;

/// Parts of a pointer into an answer.
pub const USAGE_POINTER_PARTS_MAX: usize = 16;

/// Headers that the deployment adds for an origin: a credential, a version, an organisation, and some more.
pub const ORIGIN_HEADERS_MAX: usize = 16;

/// Bytes of the text before a secret in such a header: `Bearer `, `Basic `.
pub const ORIGIN_PREFIX_BYTES_MAX: usize = 64;

/// Bytes of the name of a secret.
pub const SECRET_NAME_BYTES_MAX: usize = 64;

/// Bytes of a URL that a policy names.
pub const URL_BYTES_MAX: usize = 1_024;

/// Bytes of a request's path: far above what clients send and servers accept (most refuse 8 KB).
pub const PATH_BYTES_MAX: usize = 16 * 1024;

/// The shortest time for an origin to begin its answer. In less time no connection from another continent is made.
pub const ORIGIN_TIMEOUT_MS_MIN: u64 = 50;

/// The default time for an origin to begin its answer.
pub const ORIGIN_TIMEOUT_MS: u64 = 30_000;

/// The longest time for an origin to begin its answer. The platform itself gives up after 100 seconds on most plans;
/// where it does not, slower models can be used.
pub const ORIGIN_TIMEOUT_MS_MAX: u64 = 600_000;

/// Networks of proxies that a policy trusts: the large networks have some 20 each.
pub const TRUSTED_PROXIES_MAX: usize = 256;

/// Addresses of `x-forwarded-for` that are read, from its end. Beyond, the last one read counts.
pub const FORWARDED_HOPS_MAX: usize = 32;

/// Leading bits of an IPv6 address that name a client. A network has 2^64 addresses, each of which would else be a client
/// of its own (RFC 6177 gives a site a /64 at least).
pub const CLIENT_PREFIX_BITS_IPV6: u8 = 64;

/// Leading bits of an IPv6 address that name the owner of keys. A site commonly gets 2^16 networks (RFC 6177), each of
/// which would else have its own part of the room for keys.
pub const OWNER_PREFIX_BITS_IPV6: u8 = 48;

/// API keys of one policy, some 90 bytes of the document each, so that it stays under its bound.
pub const API_KEYS_MAX: usize = 10_000;

/// Bytes of an API key.
pub const API_KEY_BYTES_MAX: usize = 1_024;

/// How often a request may pass through Weir, the first time included. A chain of gateways is short; a circle has no end.
pub const GATEWAY_PASSES_MAX: usize = 4;

/// How long an answer's body must last before its status counts as a success of the origin. A body that breaks off at
/// once is no success, and one that lasts for minutes must not be reported minutes late.
pub const OUTCOME_MS: u64 = 1_000;

/// How long the rest of the request's body may take to pass after the end of an answer. An origin that has not read it by
/// then never will.
pub const UPLOAD_AFTER_MS: u64 = 5_000;

/// How often the release of a slot, or the settlement of a reservation, is tried if no answer comes.
pub const FOLLOW_UPS_MAX: usize = 3;

/// The time between two of these tries.
pub const FOLLOW_UP_MS: u64 = 1_000;

/// How long after an origin's failure it may take to notice that the client had left.
pub const UPLOAD_NOTICED_MS: u64 = 50;

/// Origins of a route after the first: a second provider, a third, a deployment of one's own, and one more. Each try
/// takes part of the time that the client waits.
pub const FALLBACK_ORIGINS_MAX: usize = 4;

/// Bytes of a request's body that are kept to be sent again to the next origin: a long conversation, or one with two
/// photographs. A larger body is sent once.
pub const FALLBACK_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of such bodies that an isolate keeps at once, of its 128 MB. Beyond, bodies are sent once.
pub const FALLBACK_BODIES_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Failures in a row after which requests skip an origin. One may be chance; Envoy defaults to five, for many servers
/// that are alike.
pub const ORIGIN_FAILURES_MAX: u32 = 3;

/// How long they skip it at first: a restart takes some seconds.
pub const ORIGIN_AWAY_MS: u64 = 5_000;

/// How long they skip it at most: the recovery of an origin is noticed so late, and a request waits so seldom for one
/// that has not recovered.
pub const ORIGIN_AWAY_MS_MAX: u64 = 60_000;

/// Requests for each of which one more may be tried a second time: 20%, the default of Finagle's retry budget.
pub const REQUESTS_PER_RETRY: u32 = 5;

/// Second tries of a route in store, at most and at first: enough for all its origins to fail until they are skipped, and
/// for a hundred requests' share.
pub const RETRIES_STORED_MAX: u32 = 20;

/// Requests of routes that wait in an isolate for their turn, or may. Each keeps its head, its decision and a timer, some
/// 20 KB with the platform's own part, so 20 MB of an isolate's 128. Beyond, a request that would wait gets its answer at
/// once.
pub const WAITING_MAX: usize = 1_000;

/// The `Retry-After` of a request that found no room to wait.
pub const WAITING_FULL_RETRY_MS: u64 = 1_000;

/// How long after its turn a seat stays taken by a request that did not say that it left: as long as the platform lets
/// its remaining work run.
pub const WAITING_LEFT_MS: u64 = 30_000;

/// How long a request of a route may wait for a budget or a resource: the default time of an origin, and the time that
/// the platform lets remaining work run. Most clients give up after a minute.
pub const WAIT_MS_MAX: u64 = 30_000;

/// Waiting requests that wake together are decided in turn, so many a millisecond: as many as an isolate decides in one.
pub const WAITERS_PER_MS: u64 = 8;

/// How late a waiting request may check its turn before others pass it. Its client may have left, and timers are late by
/// some milliseconds.
pub const WAITER_LATE_MS: u64 = 50;

/// How long the decision on a waiting request may take before it counts as gone: as long as calls to two holders.
pub const WAITER_ASKED_MS_MAX: u64 = 2 * super::DECIDE_WAIT_MS_MAX;

/// The shortest time between two decisions on a waiting request, because each may need a call.
pub const WAITER_ASKS_MS_MIN: u64 = 25;

/// The time after which the first request that waits for a slot of a resource checks again. So a slot that serves in half
/// a second stays unused for less than 1%.
pub const SLOT_LOOK_MS: u64 = 4;

/// How much later each of those behind it checks: fifty check some 700 times a second together, a hundredth of a core.
pub const SLOT_LOOK_BEHIND_MS: u64 = 8;

/// The time after which the last of them checks.
pub const SLOT_LOOK_MS_MAX: u64 = 100;

/// The shortest time that a WebSocket may be open. For less, a request does as well.
pub const WEBSOCKET_MS_MIN: u64 = 1_000;

/// The longest time that a WebSocket may be open: providers of models end realtime sessions after half an hour or an
/// hour. Each open one is a request of its isolate, and holds its slot of a guard.
pub const WEBSOCKET_MS_MAX: u64 = 60 * 60_000;

/// The longest time if the cost is settled at the end: a minute before reservations can no longer be settled.
pub const WEBSOCKET_SETTLED_MS_MAX: u64 = super::RESERVATION_MS - 60_000;

/// How long two sides may take to close a WebSocket after one has begun to: more than a round trip around the world.
pub const WEBSOCKET_CLOSING_MS: u64 = 1_000;

/// The longest time until a provider's limit is whole again that counts: some limits are for a day.
pub const PROVIDER_RESET_MS_MAX: u64 = 24 * 3_600_000;

/// How long an isolate keeps the slot of a guard for the next request once a request has ended. It pays from a few requests a
/// second of a tenant on; nobody else has the slot meanwhile.
pub const SPARE_SLOT_MS: u64 = 500;

/// A guard's slots are kept spare only while at most one in so many of them is taken.
pub const SPARE_SLOTS_PART: u64 = 4;

/// Slots that an isolate keeps spare in a region, of all guards: some 300 bytes each.
pub const SPARE_SLOTS_MAX: usize = 1_000;
