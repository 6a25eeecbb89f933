//! Policies, and changes of one tenant in them.

use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::policy::patch::merge;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::tenant::TenantPatch;

use super::{lanes, law::again};
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "document" => document,
    "patch" => patch,
};

/// What validates, validates again as it is answered; every tenant of it is resolved, and at each instant at which
/// something changes no more is set aside by name than there is, nor for anybody more than its ceiling.
fn document(input: &[u8]) -> bool {
    let Ok(document) = read_json::<PolicyDocument>(input) else {
        return false;
    };
    again(&document);
    let Ok(policy) = Policy::try_from(&document) else {
        return false;
    };
    let text = serde_json::to_vec(&document).expect("a document can be written");
    let answered: PolicyDocument = read_json(&text).expect("a document is read as it is answered");
    assert!(
        Policy::try_from(&answered).is_ok(),
        "what validates, validates again"
    );
    for tenant in document.tenants.keys() {
        assert!(
            policy.resolve(tenant, EpochMs(1_700_000_000_000)).is_some(),
            "{tenant}"
        );
    }
    let overrides = document.tenants.values().flat_map(|one| &one.overrides);
    let turns = overrides.flat_map(|one| [one.starts_at, one.expires_at]);
    for now in turns.flatten().chain([EpochMs(0)]).take(INSTANTS_MAX) {
        for (name, budget) in &policy.budgets {
            assert!(policy.floors_at(name, now) <= budget.limit, "{name}");
            for tenant in document.tenants.keys() {
                let party = policy.claimant(tenant, Some(name), Revision(1), now);
                let bounds = party.map(|party| (party.claim.ceiling, party.claim.floor.units));
                let most = bounds.and_then(|(ceiling, floor)| Some((floor, ceiling?)));
                assert!(most.is_none_or(|(floor, most)| floor <= most), "{tenant}");
            }
        }
    }
    true
}

/// A document may have thousands.
const INSTANTS_MAX: usize = 16;

/// A change that is taken leaves a document that validates.
fn patch(input: &[u8]) -> bool {
    let base: PolicyDocument = read_json(SMALL.as_bytes()).expect("the base is a document");
    let Ok(patch) = read_json::<TenantPatch>(input) else {
        return false;
    };
    let Ok(changed) = merge(&base, "acme", &patch) else {
        return false;
    };
    assert!(Policy::try_from(&changed).is_ok());
    again(&changed);
    true
}

const SMALL: &str = r#"{"regions":["weur"],"tiers":{"free":{"weight":1}},"default_tier":"free","tenants":{"acme":{"weight":6}}}"#;
