//! The gateway in the policy document: `routes`, and `unrouted`, what becomes of requests that none of them takes.
//!
//! Everything is optional here so that what is missing is refused with its own pointer.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_core::ordered::OrderedMap;

use super::either::{self, Either};
use super::token_usage::UsageBody;
use super::unique_map;

/// One route. The first of the list that fits a request takes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteBody {
    /// Its name, in answers and records.
    pub name: Option<String>,
    /// The host that it is for; `*.example.com` is every name below that one; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path that it is for: `*` stands for one segment, at the end for all that follow. Any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether the case of letters in the path is ignored; false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_insensitive: Option<bool>,
    /// The methods that it is for; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// The models that it is for, by the `model` of the request's body in JSON: names, in which `*` stands for any
    /// characters. All when absent, and requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<String>>,
    /// The source of the tenant's name; without it no check of a tenant is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantSourceBody>,
    /// What happens to a request without a tenant; `"refuse"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent_tenant: Option<AbsentTenantBody>,
    /// Whether the origin gets the header with the tenant's API key or token; false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_credential: Option<bool>,
    /// Whether Weir requests the usage of streams of OpenAI's form if the client does not; false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_usage: Option<bool>,
    /// The form of refusals; `"problem"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorForm>,
    /// The rules that a request is charged to, all or nothing.
    pub checks: Vec<RouteCheckBody>,
    /// Where admitted requests go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginBody>,
    /// What Weir answers by itself, in the place of an origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody>,
    /// Where they go if it fails: each in turn, after those before it have failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<OriginBody>,
    /// Whether a request that the first origin may have performed goes to the next, whatever its method; when absent, only
    /// with a method that may be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_unsafe: Option<bool>,
    /// How many milliseconds a WebSocket may be open; when absent, requests for one are forwarded like any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub websocket_ms: Option<u64>,
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
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

/// The source of a tenant's name, exactly one of these, and a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantSourceBody {
    /// The value of a request header; the sender is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The tenant of a key in the policy's `api_keys`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<ApiKeyBody>,
    /// A claim of a signed token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtBody>,
    /// The address that the request comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_address: Option<NothingBody>,
    /// The country that it comes from: two letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<NothingBody>,
    /// The number of the network that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asn: Option<NothingBody>,
    /// One tenant for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// Text that is put before the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// An object without a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NothingBody {}

/// Where an API key is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiKeyBody {
    /// The request header that carries it.
    pub header: Option<String>,
}

/// Where a signed token is found (RFC 7519), and what makes it valid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JwtBody {
    /// The request header that carries it; `authorization` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The claim that names the tenant; `sub` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its required issuer: its claim `iss`.
    pub issuer: Option<String>,
    /// Its required audience: its claim `aud`.
    pub audience: Option<String>,
    /// Where the issuer's keys are.
    pub jwks_url: Option<String>,
}

/// What becomes of a request in which no tenant is found: `"refuse"` or `{"as": NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsentTenantBody {
    /// It is refused.
    Refuse,
    /// It counts as this tenant's.
    As(AsBody),
}

/// The tenant that counts for requests without one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AsBody {
    /// Its name.
    #[serde(rename = "as")]
    pub name: Option<String>,
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

/// Where requests without a route go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardBody {
    /// The origin.
    pub forward: Option<OriginBody>,
}

/// A server to which requests are forwarded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginBody {
    /// Its URL; a path of it is put before the request's.
    pub url: Option<String>,
    /// The beginning of the request's path that the origin's does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_prefix: Option<String>,
    /// How long it may take to begin its answer; half a minute when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Headers that the origin gets, in place of the client's by their names.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub headers: OrderedMap<String, OriginHeaderBody>,
    /// Where the origin reports its limits, and which overload resource follows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<OriginLimitsBody>,
}

/// Limits that an origin reports in its answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginLimitsBody {
    /// The overload resource that follows them: for `origin` one of the route's checks, for an origin in `fallback` another,
    /// which decides when a request would go there.
    pub overload: Option<String>,
    /// The fields that report them.
    pub format: Option<LimitsFormat>,
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

/// The value of a header for the origin: a secret of the deployment, and a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginHeaderBody {
    /// The name of the secret.
    pub secret: Option<String>,
    /// The text before its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// One check of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteCheckBody {
    /// A budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// A limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The key within the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyBody>,
    /// The key of each dimension, by name, within a limit that is made of others.
    #[serde(
        deserialize_with = "unique_map::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub keys: Option<OrderedMap<String, KeyBody>>,
    /// A meter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// A guard, whose slot is held until the answer has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// An overload resource, which gets the request's outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<String>,
    /// The units; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostBody>,
    /// How long the request may wait if a budget or an overload resource would deny it; not at all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
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

/// The source of a key: exactly one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeySourceBody {
    /// The value of a request header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// One key for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
}

/// What a request costs: a number of units, or where that is found.
#[derive(Debug, Clone, PartialEq)]
pub enum CostBody {
    /// So many units.
    Units(u64),
    /// Found in the request or in its answer.
    Source(CostSourceBody),
}

/// The source of a cost: exactly one of `header`, `body_bytes`, `response_header` and `usage`, with its fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostSourceBody {
    /// The request header that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The most that the request header may say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// The bytes of the request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<BodyBytesBody>,
    /// The header of the origin's answer that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_header: Option<String>,
    /// Units that are charged until the answer reports the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// The usage that the answer reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<UsageBody>>,
}

/// A cost by the size of the request's body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BodyBytesBody {
    /// Bytes of a unit; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<u64>,
    /// Units that are charged for a body of unknown length until it is counted.
    pub reserve: Option<u64>,
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
