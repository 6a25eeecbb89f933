//! Whether a policy that was saved is in force in every region.

use std::fmt;

use serde::Serialize;
use weir_shared::units::Revision;
use weir_shared::wire::operator::regions::{RegionStatus, RegionsReply};

/// A region in which it is not in force, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Behind {
    /// The region.
    pub region: String,
    /// What it applies; none where it does not answer.
    pub applies: Option<Revision>,
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.applies {
            Some(revision) => write!(f, "{} applies revision {revision}", self.region),
            None => write!(f, "{} does not answer", self.region),
        }
    }
}

/// The regions that do not apply a revision, nor a later one.
///
/// ```
/// use weir_cli::rollout::behind;
/// use weir_shared::units::Revision;
/// let reply = weir_shared::json::from_str(r#"{ "at": 0, "policy_revision": 8, "here": "weur", "regions": [
///   { "region": "weur", "home": true, "reachable": true, "answer_ms": 1, "policy_revision": 8, "ledger_reachable": true },
///   { "region": "enam", "home": false, "reachable": true, "answer_ms": 1, "policy_revision": 7, "ledger_reachable": true },
///   { "region": "apac", "home": false, "reachable": false, "answer_ms": null, "policy_revision": null, "ledger_reachable": false }
/// ] }"#).unwrap();
/// let told: Vec<String> = behind(&reply, Revision(8)).iter().map(ToString::to_string).collect();
/// assert_eq!(told, ["enam applies revision 7", "apac does not answer"]);
/// assert_eq!(behind(&reply, Revision(7)).len(), 1);
/// ```
#[must_use]
pub fn behind(reply: &RegionsReply, revision: Revision) -> Vec<Behind> {
    let lacks = |status: &&RegionStatus| status.policy_revision.is_none_or(|own| own < revision);
    let found = reply.regions.iter().filter(lacks).map(|status| Behind {
        region: status.region.clone(),
        applies: status.policy_revision,
    });
    found.collect()
}
