//! The policy that the deployment ships.

use weir_shared::invalid::read_json;
use weir_shared::policy::handover::Handovers;
use weir_shared::units::Revision;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::saved_policy::SavedPolicy;
use worker::js_sys::{self, Reflect};

use crate::objects::server::Refused;

/// The policy of a deployment that has never saved one.
const INITIAL: &str = include_str!("../../../../policy.json");

/// Where a deployment's own module puts another, as an object.
const OWN: &str = "WEIR_POLICY";

/// The policy that the deployment ships, under revision 0: what applies where no saved one was ever seen. It is what the
/// deployment's own module has put at [`OWN`], else that of the build.
///
/// # Errors
/// What is wrong with a policy of the deployment's own; never for that of a build that passed, as the build validates it.
pub fn shipped() -> Result<SavedPolicy, Refused> {
    Ok(SavedPolicy {
        revision: Revision(0),
        document: document()?,
        handovers: Handovers::new(),
        placement: None,
    })
}

pub(super) fn document() -> Result<PolicyDocument, Refused> {
    let own = own_policy();
    let text = own.as_deref().unwrap_or(INITIAL);
    Ok(read_json(text.as_bytes())?)
}

/// The policy of the deployment's own module, as text.
fn own_policy() -> Option<String> {
    let own = Reflect::get(&js_sys::global(), &OWN.into()).ok()?;
    let text = own.is_object().then(|| js_sys::JSON::stringify(&own));
    text?.ok()?.as_string()
}
