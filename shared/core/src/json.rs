//! Reads JSON. There is one reader, of one type, so that each form's code is there once: a form that is read through
//! several kinds of deserializers is compiled for each of them, and the forms are a large part of what the Worker weighs.
//!
//! A list never stands for an object (which most readers would fill by position), and a fault knows where it was found.

mod fault;
mod key;
pub mod pointer;
mod reader;
mod scan;

pub use fault::Fault;
pub use reader::Reader;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the whole of a text.
///
/// # Errors
/// What is wrong, and where.
///
/// ```
/// use weir_core::json;
/// assert_eq!(json::from_str::<Vec<u64>>(" [1, 2] "), Ok(vec![1, 2]));
/// let fault = json::from_str::<Vec<u64>>("[1, -2]").unwrap_err();
/// assert_eq!(fault.pointer(), "/1");
/// ```
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let mut reader = Reader::new(text);
    let read = T::deserialize(&mut reader);
    reader.end(read)
}

/// Reads the whole of a text in UTF-8.
///
/// # Errors
/// What is wrong, and where.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    match std::str::from_utf8(bytes) {
        Ok(text) => from_str(text),
        // What can be read of it says which value breaks off.
        Err(error) => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            Err(fault::of_cut(from_str::<T>(text).err()))
        }
    }
}

/// Reads what was read as any JSON before.
///
/// # Errors
/// What is wrong, and where.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    from_str(&value.to_string())
}

/// What is written, as any JSON.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn to_value(body: &impl Serialize) -> Result<Value, serde_json::Error> {
    use serde::de::Error;
    from_str(&serde_json::to_string(body)?).map_err(serde_json::Error::custom)
}
