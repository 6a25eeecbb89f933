//! Reads a JSON body, never more than its bound.

use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use weir_shared::invalid::read_json;
use worker::Request;

use super::failure::Failure;

/// Reads and parses a body of at most `bytes_max` bytes.
///
/// # Errors
/// 415 for another content type, 413 above the bound, 400 naming the field for what is not of the form of `T`.
pub async fn json<T: DeserializeOwned>(
    request: &mut Request,
    bytes_max: usize,
) -> Result<T, Failure> {
    Ok(read_json(&json_bytes(request, bytes_max).await?)?)
}

/// Reads a body of at most `bytes_max` bytes that says that it is JSON.
///
/// # Errors
/// 415 for another content type, 413 above the bound.
pub async fn json_bytes(request: &mut Request, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    if !is_json(request)? {
        return Err(Failure::MediaType);
    }
    bounded(request, bytes_max).await
}

fn is_json(request: &Request) -> Result<bool, Failure> {
    let value = request.headers().get("content-type")?.unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    Ok(essence.eq_ignore_ascii_case("application/json"))
}

/// Whatever length is declared, the body is read chunk by chunk: up to that length, and to the bound.
async fn bounded(request: &mut Request, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let declared = request.headers().get("content-length")?;
    let declared = declared.and_then(|length| length.parse::<usize>().ok());
    if declared.is_some_and(|length| length > bytes_max) {
        return Err(Failure::TooLarge { bytes_max });
    }
    if request.inner().body().is_none() {
        return Ok(Vec::new());
    }
    let mut stream = request.stream()?;
    let mut bytes = Vec::with_capacity(declared.unwrap_or(0));
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        let got = bytes.len() + chunk.len();
        if got > bytes_max {
            return Err(Failure::TooLarge { bytes_max });
        }
        if declared.is_some_and(|length| got > length) {
            return Err(Failure::Framing);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Refuses a request that says in two ways how long its body is: whoever goes by the other one reads another body
/// (RFC 9112, section 6.3).
///
/// # Errors
/// 400 for such a request.
pub fn framed(request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    if headers.has("transfer-encoding")? && headers.has("content-length")? {
        return Err(Failure::Framing);
    }
    Ok(())
}
