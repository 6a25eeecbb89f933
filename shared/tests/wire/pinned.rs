//! Compares a form with its text, both ways.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Fails unless `value` is written as `text`, `text` is read as `value`, and the version before agrees.
pub(crate) fn is_written_as<T>(value: &T, text: &str)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    super::previous::agrees::<T>(text);
    assert_eq!(serde_json::to_string(value).unwrap(), text);
    assert_eq!(&serde_json::from_str::<T>(text).unwrap(), value, "{text}");
}
