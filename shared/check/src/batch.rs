//! Several questions in one call.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::BATCH_REQUESTS_MAX;
use weir_policy::count;
use weir_wire::batch::BatchRequest;

use super::Check;

/// Checked questions, 1 to 1000, each to be decided as if it had come alone.
///
/// ```
/// use weir_check::batch::Batch;
/// use weir_core::invalid::read_json;
/// use weir_wire::batch::BatchRequest;
/// let text = br#"{"requests":[{"limit":"per_ip","key":"a"},{"limit":"per_ip","key":""}]}"#;
/// let request: BatchRequest = read_json(text).unwrap();
/// assert_eq!(Batch::try_from(request).unwrap_err().field, "/requests/1/key");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The questions, in the order they were asked.
    pub checks: Vec<Check>,
}

impl TryFrom<BatchRequest> for Batch {
    type Error = Invalid;

    fn try_from(request: BatchRequest) -> Result<Self, Invalid> {
        let requests = request.requests;
        if requests.is_empty() {
            return Err(Invalid::new("/requests", Fault::Missing));
        }
        count("/requests", "requests", requests.len(), BATCH_REQUESTS_MAX)?;
        let numbered = requests.into_iter().enumerate();
        let checks = numbered.map(|(index, one)| Check::read(one, &format!("/requests/{index}")));
        Ok(Self {
            checks: checks.collect::<Result<_, _>>()?,
        })
    }
}
