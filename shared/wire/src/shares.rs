//! What holders and parents of overloaded resources say to each other, several resources in one message.

use serde::{Deserialize, Serialize};
use weir_core::units::HolderId;

use super::overload::{ShareBody, ShareReply};

/// What a holder has to say: from an isolate with its contact, from a region to the hub at home.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharesBody {
    /// Whose they are.
    pub holder: HolderId,
    /// One message a resource.
    pub shares: Vec<ShareBody>,
}

/// The answers, by resource; one that could not be taken has none and is repeated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharesReply {
    /// One answer a resource.
    pub replies: Vec<ShareReply>,
}
