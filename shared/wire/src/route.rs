//! The gateway in the policy document: `routes`, and `unrouted`, what becomes of requests that none of them takes.
//!
//! Everything is optional here so that what is missing is refused with its own pointer.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_core::ordered::OrderedMap;

use super::either::{self, Either};
use super::section::section;
use super::token_usage::UsageBody;
use super::unique_map;

section! {
/// One route. The first of the list that fits a request takes it.
pub struct RouteBody {
    /// Its name, in answers and records.
    pub name: Option<String> = "string?";
    /// The host that it is for; `*.example.com` is every name below that one; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String> = "string";
    /// The path that it is for: `*` stands for one segment, at the end for all that follow. Any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String> = "string";
    /// Whether the case of letters in the path is ignored; false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_insensitive: Option<bool> = "boolean";
    /// The methods that it is for; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>> = "[string]";
    /// The models that it is for, by the `model` of the request's body in JSON: names, in which `*` stands for any
    /// characters. All when absent, and requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<String>> = "[string]";
    /// The source of the tenant's name; without it no check of a tenant is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantSourceBody> = "TenantSource";
    /// What happens to a request without a tenant; `"refuse"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent_tenant: Option<AbsentTenantBody> = "'refuse' or AbsentTenant";
    /// Whether the origin gets the header with the tenant's API key or token; false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_credential: Option<bool> = "boolean";
    /// Whether Weir requests the usage of streams of OpenAI's form if the client does not; false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_usage: Option<bool> = "boolean";
    /// The form of refusals; `"problem"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorForm> = "'problem' or 'openai' or 'anthropic'";
    /// The rules that a request is charged to, all or nothing.
    pub checks: Vec<RouteCheckBody> = "[RouteCheck]";
    /// Where admitted requests go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginBody> = "RouteOrigin?";
    /// What Weir answers by itself, in the place of an origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody> = "'models'";
    /// Where they go if it fails: each in turn, after those before it have failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<OriginBody> = "[RouteOrigin]";
    /// Whether a request that the first origin may have performed goes to the next, whatever its method; when absent, only
    /// with a method that may be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_unsafe: Option<bool> = "boolean";
    /// How many milliseconds a WebSocket may be open; when absent, requests for one are forwarded like any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub websocket_ms: Option<u64> = "integer";
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool> = "boolean";
}
}

/// What Weir answers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerBody {
    /// The models that the tenant may use, in the form of OpenAI's or Anthropic's API.
    Models,
}

/// The form of answers that refuse a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorForm {
    /// Problems (RFC 9457).
    #[default]
    Problem,
    /// As OpenAI's clients read them.
    #[serde(rename = "openai")]
    OpenAi,
    /// As Anthropic's clients read them.
    Anthropic,
}

section! {
/// The source of a tenant's name, exactly one of these, and a prefix.
#[derive(Eq)]
pub struct TenantSourceBody {
    /// The value of a request header; the sender is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String> = "string";
    /// The tenant of a key in the policy's `api_keys`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<ApiKeyBody> = "ApiKey";
    /// A claim of a signed token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtBody> = "Jwt";
    /// The address that the request comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_address: Option<NothingBody> = "Nothing";
    /// The country that it comes from: two letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<NothingBody> = "Nothing";
    /// The number of the network that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asn: Option<NothingBody> = "Nothing";
    /// One tenant for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String> = "string";
    /// Text that is put before the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String> = "string";
}
}

/// An object without a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NothingBody {}

section! {
/// Where an API key is found.
#[derive(Eq)]
pub struct ApiKeyBody {
    /// The request header that carries it.
    pub header: Option<String> = required "string?";
}
}

section! {
/// Where a signed token is found (RFC 7519), and what makes it valid.
#[derive(Eq)]
pub struct JwtBody {
    /// The request header that carries it; `authorization` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String> = "string";
    /// The claim that names the tenant; `sub` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String> = "string";
    /// Its required issuer: its claim `iss`.
    pub issuer: Option<String> = required "string?";
    /// Its required audience: its claim `aud`.
    pub audience: Option<String> = required "string?";
    /// Where the issuer's keys are.
    pub jwks_url: Option<String> = required "string?";
}
}

/// What becomes of a request in which no tenant is found: `"refuse"` or `{"as": NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsentTenantBody {
    /// It is refused.
    Refuse,
    /// It counts as this tenant's.
    As(AsBody),
}

section! {
/// The tenant that counts for requests without one.
#[derive(Eq)]
pub struct AsBody {
    /// Its name.
    pub name as "as": Option<String> = required "string?";
}
}

/// What becomes of a request that no route takes: `"refuse"` or `{"forward": {..}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum UnroutedBody {
    /// It is answered 404.
    #[default]
    Refuse,
    /// It is forwarded and nothing is charged.
    Forward(ForwardBody),
}

section! {
/// Where requests without a route go.
#[derive(Eq)]
pub struct ForwardBody {
    /// The origin.
    pub forward: Option<OriginBody> = required "RouteOrigin?";
}
}

section! {
/// A server to which requests are forwarded.
#[derive(Eq)]
pub struct OriginBody {
    /// Its URL; a path of it is put before the request's.
    pub url: Option<String> = required "string?";
    /// The beginning of the request's path that the origin's does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_prefix: Option<String> = "string";
    /// How long it may take to begin its answer; half a minute when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64> = "integer";
    /// Headers that the origin gets, in place of the client's by their names.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub headers: OrderedMap<String, OriginHeaderBody> = "{OriginHeader}";
    /// Where the origin reports its limits, and which overload resource follows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<OriginLimitsBody> = "OriginLimits";
}
}

section! {
/// Limits that an origin reports in its answers.
#[derive(Eq)]
pub struct OriginLimitsBody {
    /// The overload resource that follows them: for `origin` one of the route's checks, for an origin in `fallback` another,
    /// which decides when a request would go there.
    pub overload: Option<String> = required "string?";
    /// The fields that report them.
    pub format: Option<LimitsFormat> = required "'openai' or 'anthropic'?";
}
}

/// The fields in which a provider reports its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitsFormat {
    /// Those of OpenAI and of compatible providers: `x-ratelimit-..`.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's: `anthropic-ratelimit-..`.
    Anthropic,
}

section! {
/// The value of a header for the origin: a secret of the deployment, and a prefix.
#[derive(Eq)]
pub struct OriginHeaderBody {
    /// The name of the secret.
    pub secret: Option<String> = required "string?";
    /// The text before its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String> = "string";
}
}

section! {
/// One check of a request.
pub struct RouteCheckBody {
    /// A budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String> = "string";
    /// A limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String> = "string";
    /// The key within the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyBody> = "RouteKey";
    /// The key of each dimension, by name, within a limit that is made of others.
    #[serde(
        deserialize_with = "unique_map::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub keys: Option<OrderedMap<String, KeyBody>> = "{RouteKey}";
    /// A meter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<String> = "string";
    /// A guard, whose slot is held until the answer has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String> = "string";
    /// An overload resource, which gets the request's outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<String> = "string";
    /// The units; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostBody> = "RouteCost";
    /// How long the request may wait if a budget or an overload resource would deny it; not at all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64> = "integer";
}
}

/// Where the key within a limit is found: `"tenant"`, `"client_address"`, or an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyBody {
    /// The tenant's name.
    Tenant,
    /// The address that the request comes from.
    ClientAddress,
    /// Found elsewhere.
    Source(KeySourceBody),
}

section! {
/// The source of a key: exactly one of these.
#[derive(Eq)]
pub struct KeySourceBody {
    /// The value of a request header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String> = "string";
    /// One key for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String> = "string";
}
}

/// What a request costs: a number of units, or where that is found.
#[derive(Debug, Clone, PartialEq)]
pub enum CostBody {
    /// So many units.
    Units(u64),
    /// Found in the request or in its answer.
    Source(CostSourceBody),
}

section! {
/// The source of a cost: exactly one of `header`, `body_bytes`, `response_header` and `usage`, with its fields.
pub struct CostSourceBody {
    /// The request header that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String> = "string";
    /// The most that the request header may say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64> = "integer";
    /// The bytes of the request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<BodyBytesBody> = "BodyBytes";
    /// The header of the origin's answer that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_header: Option<String> = "string";
    /// Units that are charged until the answer reports the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64> = "integer";
    /// The usage that the answer reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<UsageBody>> = "TokenUsage";
}
}

section! {
/// A cost by the size of the request's body.
#[derive(Eq)]
pub struct BodyBytesBody {
    /// Bytes of a unit; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<u64> = "integer";
    /// Units that are charged for a body of unknown length until it is counted.
    pub reserve: Option<u64> = required "integer?";
}
}

impl Either<AsBody> for AbsentTenantBody {
    const EXPECTED: &'static str = "\"refuse\" or an object";

    fn word(word: &str) -> Option<Self> {
        (word == REFUSE).then_some(Self::Refuse)
    }

    fn object(object: AsBody) -> Self {
        Self::As(object)
    }
}

impl Either<ForwardBody> for UnroutedBody {
    const EXPECTED: &'static str = "\"refuse\" or an object";

    fn word(word: &str) -> Option<Self> {
        (word == REFUSE).then_some(Self::Refuse)
    }

    fn object(object: ForwardBody) -> Self {
        Self::Forward(object)
    }
}

impl Either<KeySourceBody> for KeyBody {
    const EXPECTED: &'static str = "\"tenant\", \"client_address\" or an object";

    fn word(word: &str) -> Option<Self> {
        match word {
            TENANT => Some(Self::Tenant),
            CLIENT_ADDRESS => Some(Self::ClientAddress),
            _ => None,
        }
    }

    fn object(object: KeySourceBody) -> Self {
        Self::Source(object)
    }
}

impl Either<CostSourceBody> for CostBody {
    const EXPECTED: &'static str = "an integer of at least 0 or an object";

    fn word(_: &str) -> Option<Self> {
        None
    }

    fn number(number: u64) -> Option<Self> {
        Some(Self::Units(number))
    }

    fn object(object: CostSourceBody) -> Self {
        Self::Source(object)
    }
}

const REFUSE: &str = "refuse";
const TENANT: &str = "tenant";
const CLIENT_ADDRESS: &str = "client_address";

impl Serialize for AbsentTenantBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Refuse => serializer.serialize_str(REFUSE),
            Self::As(body) => body.serialize(serializer),
        }
    }
}

impl Serialize for UnroutedBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Refuse => serializer.serialize_str(REFUSE),
            Self::Forward(body) => body.serialize(serializer),
        }
    }
}

impl Serialize for KeyBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Tenant => serializer.serialize_str(TENANT),
            Self::ClientAddress => serializer.serialize_str(CLIENT_ADDRESS),
            Self::Source(body) => body.serialize(serializer),
        }
    }
}

impl Serialize for CostBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Units(units) => serializer.serialize_u64(*units),
            Self::Source(body) => body.serialize(serializer),
        }
    }
}

macro_rules! read_either {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                either::deserialize(deserializer)
            }
        }
    )*};
}

read_either!(AbsentTenantBody, UnroutedBody, KeyBody, CostBody);
