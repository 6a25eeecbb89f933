//! The messages of the service, as far as an agent reads and writes them: written by hand, with the numbers of
//! `envoy/service/ratelimit/v3/rls.proto` and `envoy/extensions/common/ratelimit/v3/ratelimit.proto`, so that no compiler of
//! protobuf is needed. What is not here is skipped, as protobuf has it.

use prost::{Enumeration, Message};

/// What Envoy asks.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitRequest {
    /// Whose descriptors these are: one configuration of proxies.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// What describes the request, in several ways.
    #[prost(message, repeated, tag = "2")]
    pub descriptors: Vec<RateLimitDescriptor>,
    /// How many hits it counts as; 0 for 1.
    #[prost(uint32, tag = "3")]
    pub hits_addend: u32,
}

/// One description of the request.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitDescriptor {
    /// Its entries.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
    /// How many hits it counts as, in the place of the request's; 0 looks.
    #[prost(message, optional, tag = "3")]
    pub hits_addend: Option<UInt64Value>,
    /// Whether hits are given back. An agent gives none back: it looks.
    #[prost(bool, tag = "4")]
    pub is_negative_hits: bool,
}

/// A key and a value.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// The key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `google.protobuf.UInt64Value`.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct UInt64Value {
    /// The number.
    #[prost(uint64, tag = "1")]
    pub value: u64,
}

/// What Envoy is answered.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitResponse {
    /// Whether the request may pass.
    #[prost(enumeration = "Code", tag = "1")]
    pub overall_code: i32,
    /// Of each descriptor what it came to, in their order.
    #[prost(message, repeated, tag = "2")]
    pub statuses: Vec<DescriptorStatus>,
    /// Headers of the response to the client.
    #[prost(message, repeated, tag = "3")]
    pub response_headers_to_add: Vec<HeaderValue>,
}

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Code {
    /// None.
    Unknown = 0,
    /// It may pass.
    Ok = 1,
    /// It may not.
    OverLimit = 2,
}

/// What one descriptor came to.
#[derive(Clone, PartialEq, Message)]
pub struct DescriptorStatus {
    /// The verdict on it.
    #[prost(enumeration = "Code", tag = "1")]
    pub code: i32,
    /// The limit that applies; absent where none does.
    #[prost(message, optional, tag = "2")]
    pub current_limit: Option<RateLimit>,
    /// Hits that are left of it.
    #[prost(uint32, tag = "3")]
    pub limit_remaining: u32,
    /// The time until the window ends.
    #[prost(message, optional, tag = "4")]
    pub duration_until_reset: Option<Duration>,
}

/// A limit.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimit {
    /// Units of a window.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// Its length.
    #[prost(enumeration = "Unit", tag = "2")]
    pub unit: i32,
    /// Its name.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// The length of a window, where Envoy has a word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Unit {
    /// Another length.
    Unknown = 0,
    /// A second.
    Second = 1,
    /// A minute.
    Minute = 2,
    /// An hour.
    Hour = 3,
    /// A day.
    Day = 4,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Duration {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// The rest.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, Message)]
pub struct HeaderValue {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}
