//! Entity tags (RFC 9110, section 8.8.3) of what is changed by itself: they move with it and with nothing else.

use weir_wire::policy::PolicyDocument;

use super::sha256_hex;

/// Hexadecimal digits of a tag: 64 bits, so that no two states of one tenant are taken for each other by accident.
const DIGITS: usize = 16;

/// The tag of a tenant's section of a policy. A tenant that the policy does not name has one, too.
///
/// ```
/// use weir_audit::tag::tenant_tag;
/// use weir_wire::policy::PolicyDocument;
/// let empty = PolicyDocument::default();
/// assert_eq!(tenant_tag(&empty, "acme"), tenant_tag(&empty, "other"));
/// ```
#[must_use]
pub fn tenant_tag(document: &PolicyDocument, tenant: &str) -> String {
    let section = document.tenants.get(tenant);
    // A section that was read as JSON can be written as JSON.
    let text = serde_json::to_string(&section).unwrap_or_default();
    sha256_hex(&text).chars().take(DIGITS).collect()
}
