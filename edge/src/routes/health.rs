//! `GET /healthz`: that the Worker runs, and which version of it answers.

use weir_shared::wire::health::{Health, Version};
use worker::{Env, Response, WorkerVersionMetadata};

use crate::http::failure::Failure;
use crate::http::reply;

/// The binding by which the platform tells the version (`[version_metadata]`).
const METADATA: &str = "CF_VERSION_METADATA";

/// Touches no object: whether one answers is `GET /operator/v1/regions`.
///
/// # Errors
/// When the platform refuses to build a response.
pub fn read(env: &Env) -> Result<Response, Failure> {
    reply::json(200, &Health::of(version(env)))
}

/// The version that answers; `None` where the platform does not tell it.
pub fn version(env: &Env) -> Option<Version> {
    let metadata = env.get_binding::<WorkerVersionMetadata>(METADATA).ok();
    metadata.map(|told| Version {
        id: told.id(),
        tag: told.tag(),
    })
}
