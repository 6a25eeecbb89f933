//! The named forms of the gateway's part of a policy, and of resources that may be overloaded.

use weir_wire::overload::OverloadBody;
use weir_wire::route::{
    ApiKeyBody, AsBody, BodyBytesBody, CostSourceBody, ForwardBody, JwtBody, KeySourceBody,
    OriginBody, OriginHeaderBody, OriginLimitsBody, RouteBody, RouteCheckBody, TenantSourceBody,
};
use weir_wire::token_usage::{TokenWeightsBody, UsageBody, UsagePointerBody};

/// Each form, as in [`super::forms::FORMS`].
pub const GATEWAY_FORMS: &[(&str, &str, &str)] = &[
    (
        "Overload",
        "A resource that may be overloaded; what is absent has its default.",
        OverloadBody::SCHEMA,
    ),
    (
        "EffectiveResource",
        "A resource that may be overloaded, as it applies to a tenant.",
        "weight: Valued, steering: 'fair_rate' or 'blue', levels: integer, buckets: integer, enforced: boolean",
    ),
    (
        "Route",
        "A route of the gateway; the first that fits a request takes it.",
        RouteBody::SCHEMA,
    ),
    (
        "TenantSource",
        "The source of a tenant's name, one of these, and a prefix.",
        TenantSourceBody::SCHEMA,
    ),
    ("Nothing", "An object without a field.", ""),
    (
        "ApiKey",
        "The header that carries an API key.",
        ApiKeyBody::SCHEMA,
    ),
    (
        "Jwt",
        "A signed token, and what makes it valid.",
        JwtBody::SCHEMA,
    ),
    (
        "AbsentTenant",
        "The tenant of requests without one.",
        AsBody::SCHEMA,
    ),
    (
        "RouteCheck",
        "One check of a request.",
        RouteCheckBody::SCHEMA,
    ),
    (
        "RouteKey",
        "The source of a key.",
        "='tenant' or 'client_address' or KeySource",
    ),
    (
        "KeySource",
        "A key from a header, or one for all.",
        KeySourceBody::SCHEMA,
    ),
    (
        "RouteCost",
        "Units, or where they are found.",
        "=integer or CostSource",
    ),
    (
        "CostSource",
        "A cost from a request header, the bytes of the body, a header of the answer, or its usage.",
        CostSourceBody::SCHEMA,
    ),
    (
        "TokenUsage",
        "A cost by an answer's usage, in its body or in its last event.",
        UsageBody::SCHEMA,
    ),
    (
        "UsageFormat",
        "Where an answer has its usage.",
        "='openai' or 'anthropic' or 'gemini' or UsagePointer",
    ),
    (
        "UsagePointer",
        "A number of units in the answer.",
        UsagePointerBody::SCHEMA,
    ),
    (
        "TokenWeights",
        "Units of a token, by its kind.",
        TokenWeightsBody::SCHEMA,
    ),
    (
        "BodyBytes",
        "Bytes of a unit, and the reserve for a body of unknown length.",
        BodyBytesBody::SCHEMA,
    ),
    (
        "RouteOrigin",
        "Where requests are forwarded.",
        OriginBody::SCHEMA,
    ),
    (
        "OriginLimits",
        "Limits in an origin's answers, and the overload resource that follows them.",
        OriginLimitsBody::SCHEMA,
    ),
    (
        "OriginHeader",
        "The value of a header for the origin: a secret of the deployment, and a prefix.",
        OriginHeaderBody::SCHEMA,
    ),
    (
        "Forward",
        "Where requests without a route go.",
        ForwardBody::SCHEMA,
    ),
];
