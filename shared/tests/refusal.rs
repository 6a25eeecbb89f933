//! What a refusal says.

use std::fmt::Debug;

use weir_shared::invalid::{Fault, Invalid};

/// The pointer and the message of a refusal.
pub(crate) fn refusal<T: Debug>(read: Result<T, Invalid>) -> (String, String) {
    let refused = read.unwrap_err();
    let message = match refused.fault {
        // Where in the text is the pointer's business.
        Fault::Form { message } => message.split(" at line ").next().unwrap().to_owned(),
        fault => fault.to_string(),
    };
    (refused.field, message)
}
