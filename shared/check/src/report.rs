//! How a request that used a resource came out.

use weir_core::invalid::{Fault, Invalid};
use weir_wire::report::{ReportRequest, ReportedOutcome};

use super::named;

/// A checked report. Whether the policy has the resource is not known yet.
///
/// ```
/// use weir_check::report::Report;
/// use weir_core::invalid::read_json;
/// use weir_wire::report::{ReportRequest, ReportedOutcome};
/// let text = br#"{"resource":"origin","tenant":"acme","outcome":"failure"}"#;
/// let report = Report::try_from(read_json::<ReportRequest>(text).unwrap()).unwrap();
/// assert_eq!(report.outcome, ReportedOutcome::Failure);
/// let silent: ReportRequest = read_json(br#"{"resource":"origin","tenant":"acme"}"#).unwrap();
/// assert_eq!(Report::try_from(silent).unwrap_err().field, "/outcome");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The resource.
    pub resource: String,
    /// Whose request it was: 1 to 128 bytes.
    pub tenant: String,
    /// How it came out.
    pub outcome: ReportedOutcome,
}

impl TryFrom<ReportRequest> for Report {
    type Error = Invalid;

    fn try_from(request: ReportRequest) -> Result<Self, Invalid> {
        let missing = |field: &str| Invalid::new(field.to_owned(), Fault::Missing);
        named(request.tenant.as_deref())?;
        Ok(Self {
            resource: request.resource.ok_or_else(|| missing("/resource"))?,
            tenant: request.tenant.ok_or_else(|| missing("/tenant"))?,
            outcome: request.outcome.ok_or_else(|| missing("/outcome"))?,
        })
    }
}
