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

/// A length that is declared and within the bound is read at once; anything else chunk by chunk, up to the bound.
async fn bounded(request: &mut Request, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let declared = request.headers().get("content-length")?;
    match declared.and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length > bytes_max => return Err(Failure::TooLarge { bytes_max }),
        Some(_) => {
            let bytes = request.bytes().await?;
            return if bytes.len() <= bytes_max {
                Ok(bytes)
            } else {
                Err(Failure::TooLarge { bytes_max })
            };
        }
        None => {}
    }
    if request.inner().body().is_none() {
        return Ok(Vec::new());
    }
    let mut stream = request.stream()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        if bytes.len() + chunk.len() > bytes_max {
            return Err(Failure::TooLarge { bytes_max });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
