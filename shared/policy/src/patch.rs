//! Changes of one tenant within a whole document.

use weir_core::invalid::Invalid;
use weir_core::json::pointer::step;
use weir_core::name::tenant_name;
use weir_wire::policy::PolicyDocument;
use weir_wire::tenant::TenantPatch;

use super::Policy;

/// The document with one tenant changed as the patch says: fields that it does not name stay as they are, those that it
/// names as null go, and nothing of any other tenant is touched. A tenant that the document does not name is added.
///
/// # Errors
/// A name that is none, at the empty pointer; what is wrong with the patch, at its own pointer (`/weight`,
/// `/overrides/0/expires_at`); and what is wrong with the document that it leads to, at the document's.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_policy::patch::merge;
/// use weir_wire::policy::PolicyDocument;
/// let document: PolicyDocument = read_json(br#"{
///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
///   "tenants": { "acme": { "weight": 6, "overrides": [ { "weight": 9 } ] } }
/// }"#).unwrap();
/// let patch = |text: &[u8]| merge(&document, "acme", &read_json(text).unwrap());
/// let changed = patch(br#"{"borrow_max":5}"#).unwrap().tenants["acme"].clone();
/// assert_eq!((changed.weight, changed.overrides.len()), (document.tenants["acme"].weight, 1));
/// assert_eq!(patch(br#"{"weight":null}"#).unwrap().tenants["acme"].weight, None);
/// assert_eq!(patch(br#"{"weight":0}"#).unwrap_err().field, "/weight");
/// ```
pub fn merge(
    document: &PolicyDocument,
    tenant: &str,
    patch: &TenantPatch,
) -> Result<PolicyDocument, Invalid> {
    tenant_name(tenant).map_err(|fault| Invalid::new("", fault))?;
    let mut changed = document.clone();
    let body = changed.tenants.entry(tenant.to_owned()).or_default();
    patch.clone().apply(body);
    let at = format!("/tenants{}", step(tenant));
    Policy::try_from(&changed).map_err(|refused| inside(refused, &at))?;
    Ok(changed)
}

/// The document without one tenant, which then is one like any that it does not name; `None` if it does not name it.
///
/// # Errors
/// At the `parent` of a tenant below it, and at whatever else needs it.
pub fn remove(document: &PolicyDocument, tenant: &str) -> Result<Option<PolicyDocument>, Invalid> {
    let mut changed = document.clone();
    if changed.tenants.remove(tenant).is_none() {
        return Ok(None);
    }
    Policy::try_from(&changed)?;
    Ok(Some(changed))
}

/// The refusal at its place in the patch, where it is about the tenant.
fn inside(refused: Invalid, at: &str) -> Invalid {
    match refused.field.strip_prefix(at) {
        Some(inner) if inner.is_empty() || inner.starts_with('/') => {
            Invalid::new(inner, refused.fault)
        }
        _ => refused,
    }
}
