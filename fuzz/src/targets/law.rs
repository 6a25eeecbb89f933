//! The laws of all JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_shared::json;

use super::lanes;
use crate::driver::Lane;

pub(super) const JSON: &[Lane] = lanes! {
    "any" => any,
    "text" => form::<String>,
    "float" => float,
    "numbers" => form::<Vec<u64>>,
    "signed" => form::<Vec<i64>>,
};

/// What is read and written again reads the same.
pub(super) fn form<T: DeserializeOwned + Serialize>(input: &[u8]) -> bool {
    json::from_slice::<T>(input).is_ok_and(|value| {
        again(&value);
        true
    })
}

/// What is written reads the same.
pub(super) fn again<T: DeserializeOwned + Serialize>(value: &T) {
    let text = serde_json::to_string(value).expect("what was read can be written");
    match json::from_str::<T>(&text) {
        Ok(read) => assert_eq!(serde_json::to_string(&read).ok().as_ref(), Some(&text)),
        Err(fault) => panic!(
            "{text} is written and not read: {} at {}",
            fault.message(),
            fault.pointer()
        ),
    }
}

/// The reader takes nothing that the reader of another hand refuses, and both read the same.
fn any(input: &[u8]) -> bool {
    let Ok(value) = json::from_slice::<Value>(input) else {
        return false;
    };
    again(&value);
    let other = serde_json::from_slice::<Value>(input).expect("another reader takes it too");
    assert!(
        alike(&value, &other),
        "{value} is read as {other} elsewhere"
    );
    true
}

/// Whether both are the same. The other reader's fractions are not exact to the last bit.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|other| alike(value, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            let apart = 4.0 * f64::EPSILON * one.abs().max(f64::MIN_POSITIVE);
            one == other || (one - other).abs() <= apart
        }
        (one, other) => one == other,
    }
}

/// A number is read to the last bit.
fn float(input: &[u8]) -> bool {
    let Ok(value) = json::from_slice::<f64>(input) else {
        return false;
    };
    let text = std::str::from_utf8(input).unwrap_or_default();
    let exact: f64 = text
        .trim()
        .parse()
        .expect("a number of JSON is one of Rust's");
    assert_eq!(value.to_bits(), exact.to_bits(), "{text}");
    true
}
