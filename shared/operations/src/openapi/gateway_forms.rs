//! The named forms of the gateway's part of a policy, and of resources that may be overloaded.

/// Each form, as in [`super::forms::FORMS`].
pub const GATEWAY_FORMS: &[(&str, &str, &str)] = &[
    (
        "Overload",
        "A resource that may be overloaded; what is absent has its default.",
        "buckets?: integer, levels?: integer, clients?: integer, rotate_ms?: integer, final?: 'min' or 'mean', \
         increase?: number, decrease?: number, decay_per_s?: number, \
         steering?: 'fair_rate' or 'blue', slots?: integer, shadow?: boolean",
    ),
    (
        "EffectiveResource",
        "A resource that may be overloaded, as it applies to a tenant.",
        "weight: Valued, steering: 'fair_rate' or 'blue', levels: integer, buckets: integer, enforced: boolean",
    ),
    (
        "Route",
        "A route of the gateway; the first that fits a request takes it.",
        "name?: string?, host?: string, path?: string, case_insensitive?: boolean, methods?: [string], models?: [string], tenant?: TenantSource, \
         absent_tenant?: 'refuse' or AbsentTenant, forward_credential?: boolean, inject_usage?: boolean, \
         errors?: 'problem' or 'openai' or 'anthropic', checks?: [RouteCheck], origin?: RouteOrigin?, answer?: 'models', \
         fallback?: [RouteOrigin], retry_unsafe?: boolean, websocket_ms?: integer, shadow?: boolean",
    ),
    (
        "TenantSource",
        "The source of a tenant's name, one of these, and a prefix.",
        "header?: string, api_key?: ApiKey, jwt?: Jwt, client_address?: Nothing, \
         country?: Nothing, asn?: Nothing, fixed?: string, prefix?: string",
    ),
    ("Nothing", "An object without a field.", ""),
    (
        "ApiKey",
        "The header that carries an API key.",
        "header: string?",
    ),
    (
        "Jwt",
        "A signed token, and what makes it valid.",
        "header?: string, claim?: string, issuer: string?, audience: string?, jwks_url: string?",
    ),
    (
        "AbsentTenant",
        "The tenant of requests without one.",
        "as: string?",
    ),
    (
        "RouteCheck",
        "One check of a request.",
        "budget?: string, limit?: string, key?: RouteKey, keys?: {RouteKey}, meter?: string, \
         guard?: string, overload?: string, cost?: RouteCost, wait_ms?: integer",
    ),
    (
        "RouteKey",
        "The source of a key.",
        "='tenant' or 'client_address' or KeySource",
    ),
    (
        "KeySource",
        "A key from a header, or one for all.",
        "header?: string, fixed?: string",
    ),
    (
        "RouteCost",
        "Units, or where they are found.",
        "=integer or CostSource",
    ),
    (
        "CostSource",
        "A cost from a request header, the bytes of the body, a header of the answer, or its usage.",
        "header?: string, max?: integer, body_bytes?: BodyBytes, response_header?: string, \
         reserve?: integer, usage?: TokenUsage",
    ),
    (
        "TokenUsage",
        "A cost by an answer's usage, in its body or in its last event.",
        "format: UsageFormat?, reserve: integer?, reserve_max?: integer, weights?: TokenWeights, models?: {number}",
    ),
    (
        "UsageFormat",
        "Where an answer has its usage.",
        "='openai' or 'anthropic' or 'gemini' or UsagePointer",
    ),
    (
        "UsagePointer",
        "A number of units in the answer.",
        "pointer: string?",
    ),
    (
        "TokenWeights",
        "Units of a token, by its kind.",
        "input?: number, cached_input?: number, output?: number, reasoning?: number",
    ),
    (
        "BodyBytes",
        "Bytes of a unit, and the reserve for a body of unknown length.",
        "per?: integer, reserve: integer?",
    ),
    (
        "RouteOrigin",
        "Where requests are forwarded.",
        "url: string?, strip_prefix?: string, timeout_ms?: integer, headers?: {OriginHeader}, limits?: OriginLimits",
    ),
    (
        "OriginLimits",
        "Limits in an origin's answers, and the overload resource that follows them.",
        "overload: string?, format: 'openai' or 'anthropic'?",
    ),
    (
        "OriginHeader",
        "The value of a header for the origin: a secret of the deployment, and a prefix.",
        "secret: string?, prefix?: string",
    ),
    (
        "Forward",
        "Where requests without a route go.",
        "forward: RouteOrigin?",
    ),
];
