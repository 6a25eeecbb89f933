//! Signatures of an identity provider, verified by the platform's WebCrypto.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CryptoKey, SubtleCrypto, WorkerGlobalScope};
use weir_shared::access::jwt::{Algorithm, Assertion, PublicKey};
use weir_shared::limits::CALL_MS_MAX;
use worker::js_sys::{Array, JSON, Object, Promise, Reflect, global};
use worker::wasm_bindgen_futures::JsFuture;

use crate::http::failure::Failure;
use crate::objects::deadline::within;

/// What WebCrypto calls the scheme of an algorithm, and its curve.
fn scheme(algorithm: Algorithm) -> (&'static str, Option<&'static str>) {
    match algorithm {
        Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 => ("RSASSA-PKCS1-v1_5", None),
        Algorithm::Ps256 | Algorithm::Ps384 | Algorithm::Ps512 => ("RSA-PSS", None),
        Algorithm::Es256 => ("ECDSA", Some("P-256")),
        Algorithm::Es384 => ("ECDSA", Some("P-384")),
        Algorithm::Es512 => ("ECDSA", Some("P-521")),
        Algorithm::EdDsa => ("Ed25519", None),
    }
}

/// What WebCrypto is told of an algorithm, for a key and for a signature alike: what it does not need, it does not read.
fn parameters(algorithm: Algorithm) -> Result<Object, JsValue> {
    let told = Object::new();
    let tell = |name: &str, value: JsValue| Reflect::set(&told, &name.into(), &value).map(drop);
    let (name, curve) = scheme(algorithm);
    tell("name", name.into())?;
    if let Some(curve) = curve {
        tell("namedCurve", curve.into())?;
    }
    if let Some(bits) = algorithm.hash_bits() {
        tell("hash", format!("SHA-{bits}").into())?;
        tell("saltLength", (bits / 8).into())?;
    }
    Ok(told)
}

/// Whether the assertion is signed with the key. A key that the platform does not take has signed nothing.
///
/// # Errors
/// When the platform does not verify at all.
pub async fn holds(key: &PublicKey, assertion: &Assertion) -> Result<bool, Failure> {
    let scope: WorkerGlobalScope = global().unchecked_into();
    let subtle = scope.crypto().map_err(failure)?.subtle();
    let algorithm = parameters(assertion.algorithm).map_err(failure)?;
    let Some(key) = import(&subtle, key, &algorithm).await? else {
        return Ok(false);
    };
    let verifying = subtle.verify_with_object_and_u8_array_and_u8_array(
        &algorithm,
        &key,
        &assertion.signature,
        assertion.signed.as_bytes(),
    );
    let verified = settled(verifying.map_err(failure)?).await?;
    Ok(verified.is_ok_and(|verified| verified.is_truthy()))
}

async fn import(
    subtle: &SubtleCrypto,
    key: &PublicKey,
    algorithm: &Object,
) -> Result<Option<CryptoKey>, Failure> {
    let jwk: Object = JSON::parse(&serde_json::to_string(key)?)
        .map_err(failure)?
        .unchecked_into();
    let usages = Array::of1(&"verify".into());
    let importing = subtle
        .import_key_with_object("jwk", &jwk, algorithm, false, &usages)
        .map_err(failure)?;
    let imported = settled(importing).await?;
    Ok(imported.ok().and_then(|key| key.dyn_into().ok()))
}

/// What a promise comes to, within the deadline of a call.
async fn settled(promise: Promise) -> Result<Result<JsValue, JsValue>, Failure> {
    let settled = within(CALL_MS_MAX, JsFuture::from(promise)).await;
    settled.ok_or_else(|| Failure::Unavailable {
        what: "WebCrypto".to_owned(),
    })
}

fn failure(error: JsValue) -> Failure {
    Failure::Internal(format!("WebCrypto: {error:?}"))
}
