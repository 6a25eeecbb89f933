//! What is stored of a policy, and read again: by the registry, and by each region that keeps the last one it saw.

use weir_core::invalid::{Invalid, read_json};
use weir_core::json;
use weir_wire::policy::PolicyDocument;
use weir_wire::shard_key::ShardKey;
use weir_wire::stored::Damaged;

use super::Policy;
use super::handover::Handovers;

/// A stored document that is readable and still a valid policy.
///
/// # Errors
/// Why it is not.
pub fn read_policy(text: &str) -> Result<PolicyDocument, Damaged> {
    let refused = |refused: Invalid| Damaged::Form {
        message: refused.to_string(),
    };
    let document: PolicyDocument = read_json(text.as_bytes()).map_err(refused)?;
    Policy::try_from(&document).map_err(refused)?;
    Ok(document)
}

/// The handovers of a stored policy; none where no row has any.
///
/// ```
/// use weir_policy::stored::read_handovers;
///
/// assert!(read_handovers(None).unwrap().is_empty());
/// let body = r#"{"tokens": {"since": 5, "before": {"weur": 40}}}"#;
/// assert_eq!(read_handovers(Some(body)).unwrap()["tokens"].before["weur"], 40);
/// ```
///
/// # Errors
/// Why the row cannot be read. The policy is then in force without handovers.
pub fn read_handovers(body: Option<&str>) -> Result<Handovers, Damaged> {
    let Some(body) = body else {
        return Ok(Handovers::new());
    };
    json::from_str(body).map_err(|error| Damaged::Form {
        message: error.to_string(),
    })
}

/// The stored secret by which the shards of keys are chosen; `None` where there is none, or where it cannot be read.
///
/// ```
/// use weir_policy::stored::read_placement;
/// use weir_wire::shard_key::ShardKey;
///
/// assert_eq!(read_placement(Some(&"07".repeat(16))), Some(ShardKey::new([7; 16])));
/// assert_eq!(read_placement(Some("07")), None);
/// ```
#[must_use]
pub fn read_placement(secret: Option<&str>) -> Option<ShardKey> {
    ShardKey::try_from(secret?.to_owned()).ok()
}
