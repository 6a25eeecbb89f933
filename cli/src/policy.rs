//! A file beside the policy in force: what every command of policies as code begins with.

use serde_json::Value;
use weir_shared::json;
use weir_shared::policy::Policy;
use weir_shared::units::Revision;

use crate::client::{InForce, known};
use crate::difference::{Row, difference};
use crate::document::Valid;
use crate::failure::Failure;

/// Both, and what differs.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The revision in force.
    pub revision: Revision,
    /// The policy in force.
    pub present: Policy,
    /// What the file would change of it.
    pub difference: Vec<Row>,
    /// Tenants that either names.
    pub named: Vec<String>,
}

/// Compares a file with the policy in force. What either leaves out counts as what it then means.
///
/// # Errors
/// When the policy in force is one that this command does not know.
///
/// ```
/// use weir_cli::client::InForce;
/// use weir_cli::{document::valid, policy::compare};
/// use weir_shared::units::Revision;
/// let file = valid(br#"{ "regions": ["weur"], "tenants_max": 5 }"#).unwrap();
/// let document = serde_json::json!({ "regions": ["weur"], "enforcing": true });
/// let compared = compare(&file, InForce { revision: Revision(7), document }).unwrap();
/// let told: Vec<_> = compared.difference.iter().map(|row| row.pointer.as_str()).collect();
/// assert_eq!(told, ["/tenants_max"]);
/// ```
pub fn compare(file: &Valid, in_force: InForce) -> Result<Compared, Failure> {
    let path = "/operator/v1/policy";
    let present = known(&in_force.document)?;
    let written: Value =
        json::to_value(&present).map_err(|why| Failure::unintelligible(path, why))?;
    let names = present.tenants.keys().chain(file.document.tenants.keys());
    let named = names.cloned().collect();
    Ok(Compared {
        revision: in_force.revision,
        present: Policy::try_from(&present).map_err(|why| Failure::unintelligible(path, why))?,
        difference: difference(&written, &file.value()?),
        named,
    })
}
