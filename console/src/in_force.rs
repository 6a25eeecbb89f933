//! Which policy is in force, and what is missing from the figures.

use weir_shared::wire::operator::FairnessReply;

/// What all figures stand under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// The revision of the policy.
    pub policy_revision: u64,
    /// Whether limits are enforced.
    pub enforcing: bool,
    /// Regions whose ledger does not answer: figures lack them.
    pub out_of_reach: Vec<String>,
}

impl InForce {
    /// As a report says it.
    pub fn of(reply: &FairnessReply) -> Self {
        let lost = reply.regions.iter().filter(|region| !region.reachable);
        Self {
            policy_revision: reply.policy_revision,
            enforcing: reply.enforcing,
            out_of_reach: lost.map(|region| region.region.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_whose_ledger_does_not_answer_are_missing() {
        let text = r#"{"at":1,"policy_revision":7,"enforcing":false,"tenants":[],"regions":[
            {"region":"weur","reachable":true,"total":{}},{"region":"enam","reachable":false,"total":{}}]}"#;
        let told = InForce::of(&serde_json::from_str(text).unwrap());
        assert_eq!((told.policy_revision, told.enforcing), (7, false));
        assert_eq!(told.out_of_reach, ["enam"]);
    }
}
