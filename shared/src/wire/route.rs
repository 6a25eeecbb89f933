//! The gateway in the policy document: `routes`, and `unrouted`, what becomes of requests that none of them takes.
//!
//! Everything is optional here so that what is missing is refused with its own pointer.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::either::{self, Either};
use super::token_usage::UsageBody;
use super::unique_map;

/// One route. The first of the list that fits a request takes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteBody {
    /// Its name, in answers and records.
    pub name: Option<String>,
    /// The host that it is for, or `*.` and what hosts end with; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path that it is for: `*` stands for one segment, at the end for all that follow. Any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether letters of the path have no case; they have when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_insensitive: Option<bool>,
    /// The methods that it is for; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// The models that it is for, by the `model` of the request's body in JSON: names, in which `*` stands for any
    /// characters. All when absent, and requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<String>>,
    /// Where the tenant's name is found; without it nothing of a tenant's can be charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantSourceBody>,
    /// What becomes of a request in which no tenant is found; `"refuse"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent_tenant: Option<AbsentTenantBody>,
    /// Whether the origin gets the header in which the tenant's API key or token is; it does not when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_credential: Option<bool>,
    /// Whether streams of OpenAI's form are asked for their usage where the client does not; they are not when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_usage: Option<bool>,
    /// The form of answers that refuse a request; `"problem"` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorForm>,
    /// What a request is charged to, all or nothing.
    pub checks: Vec<RouteCheckBody>,
    /// Where requests go that are admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginBody>,
    /// What Weir answers by itself, in the place of an origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody>,
    /// Where they go when that one fails: in turn, each when those before it have failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<OriginBody>,
    /// Whether a request that may have been done is sent to the next one too, whatever its method; only by methods that
    /// may be repeated when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_unsafe: Option<bool>,
    /// For how many milliseconds a WebSocket may be open; requests for one are forwarded as if they asked for none when absent.
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
    /// The models that the tenant may use, as the APIs of OpenAI and Anthropic tell them.
    Models,
}

/// The form of answers that refuse a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorForm {
    /// Problems (RFC 9457).
    #[default]
    Problem,
    /// As clients of the API of OpenAI read them.
    #[serde(rename = "openai")]
    OpenAi,
    /// As clients of the API of Anthropic read them.
    Anthropic,
}

/// Where a tenant's name is found: exactly one of these, and what is put before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantSourceBody {
    /// The value of a request header, as whoever sends it says.
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
    /// What is put before the name that is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// An object without a field: the kind is all there is to say.
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
    /// Who must have issued it: its claim `iss`.
    pub issuer: Option<String>,
    /// For whom it must be meant: its claim `aud`.
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

/// The tenant that requests without one count as.
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

/// Where requests go that no route takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardBody {
    /// The origin.
    pub forward: Option<OriginBody>,
}

/// Where requests are forwarded to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginBody {
    /// Its URL; a path of it is put before the request's.
    pub url: Option<String>,
    /// What the request's path begins with that the origin's does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_prefix: Option<String>,
    /// How long it may take until its answer begins; half a minute when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Headers that the origin gets, whatever the client sent by their names.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub headers: BTreeMap<String, OriginHeaderBody>,
    /// Where the origin tells how much it lets through, and which overload resource follows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<OriginLimitsBody>,
}

/// Limits that an origin tells in its answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginLimitsBody {
    /// The overload resource that follows them: of `origin` one of the route's checks, of an origin in `fallback` another,
    /// which is asked when a request would go there.
    pub overload: Option<String>,
    /// In which fields they are told.
    pub format: Option<LimitsFormat>,
}

/// In which fields a provider tells its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitsFormat {
    /// OpenAI's, and of those who speak its language: `x-ratelimit-..`.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's: `anthropic-ratelimit-..`.
    Anthropic,
}

/// The value of a header for the origin: a secret of the deployment, and what stands before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginHeaderBody {
    /// The name of the secret.
    pub secret: Option<String>,
    /// What stands before its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// One thing that a request is charged to.
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
    pub keys: Option<BTreeMap<String, KeyBody>>,
    /// A meter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// A guard, whose slot is held until the answer has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// An overload resource, which hears how the request ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<String>,
    /// The units; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostBody>,
    /// For how long the request may wait where a budget or an overload resource would deny it; not at all when absent.
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

/// Where a key is found: exactly one of these.
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

/// Where a cost is found: exactly one of `header`, `body_bytes`, `response_header` and `usage`, with what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostSourceBody {
    /// The request header that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The most that the request header may say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// The bytes of the request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<BodyBytesBody>,
    /// The header of the origin's answer that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_header: Option<String>,
    /// Units that are charged until the answer says how many they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// The usage that the answer tells.
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
    /// Units that are charged for a body of unknown length until it was counted.
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
