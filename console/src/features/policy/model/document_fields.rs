//! The fields of the document that belong to none of its entries.

use super::fields::{Field, Kind, field};
use super::known::Known;

/// Fields of the document as a whole.
pub const GENERAL: &[Field] = &[
    field(
        "regions",
        "Regions",
        Kind::Names,
        "The regions that decide, with commas between them, such as weur, enam.",
    ),
    field(
        "enforcing",
        "Enforcing",
        Kind::Flag(true),
        "Off: everything is decided and counted, and admitted.",
    ),
    field(
        "home",
        "Home region",
        Kind::OneOf(Known::Regions),
        "Where coordinators, registry and ledgers are first placed.",
    ),
    field(
        "tenants_max",
        "Tenants counted separately",
        Kind::Whole("tenants"),
        "Tenants beyond that share one account: 1 to 1,000,000.",
    ),
    field(
        "unknown_weight_max",
        "Weight of unnamed tenants",
        Kind::Number("shares"),
        "The most that all tenants not named in the policy weigh together.",
    ),
    field(
        "rate_limit_headers",
        "Rate-limit headers",
        Kind::Choice(&[
            ("ietf", "RateLimit and RateLimit-Policy"),
            ("x_ratelimit", "X-RateLimit-Limit, -Remaining, -Reset"),
            ("none", "none but Retry-After"),
        ]),
        "What decisions carry.",
    ),
];

/// Fields of the section of routes beside them.
pub const ROUTES: &[Field] = &[
    field(
        "trusted_proxies",
        "Trusted proxies",
        Kind::Names,
        "Networks that are trusted to name a client's address, with commas between them, such as 10.0.0.0/8.",
    ),
    field(
        "allow_private_origins",
        "Private origins",
        Kind::Flag(false),
        "Whether origins may be inside of a network.",
    ),
];

/// Fields of the section of tiers beside its entries.
pub const TIERS: &[Field] = &[field(
    "default_tier",
    "Default tier",
    Kind::OneOf(Known::Tiers),
    "The tier of tenants that have none of their own and fit no rule.",
)];
