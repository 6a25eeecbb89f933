//! Who brought a token that was verified.

use std::rc::Rc;

use weir_shared::access::grant::Principal;

use crate::http::failure::Failure;

/// A token that somebody brought, and whose it is.
#[derive(Debug)]
pub struct Bearer {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub principal: Rc<Principal>,
}

/// Who could tell is out of reach.
pub fn nobody_knows() -> Failure {
    Failure::Unavailable {
        what: "the tokens of the deployment".to_owned(),
    }
}
