//! The console's files. They are assets, and reach a browser through here alone, so that they are where operators are.

use worker::{Method, Request, Response};

use crate::http::failure::Failure;
use crate::isolate::request::RequestHandles;

/// The binding of the assets.
const ASSETS: &str = "ASSETS";

/// A file of the console, with the fields that its build gave it; `None` in a deployment without the files.
///
/// # Errors
/// When the platform fails.
pub async fn file(
    request: &Request,
    handles: &RequestHandles,
) -> Result<Option<Response>, Failure> {
    let Ok(assets) = handles.env.assets(ASSETS) else {
        return Ok(None);
    };
    if !matches!(request.method(), Method::Get | Method::Head) {
        let allow = "GET, HEAD".to_owned();
        return Err(Failure::Method { allow });
    }
    let asked = request.clone()?;
    Ok(Some(assets.fetch_request(asked).await?))
}
