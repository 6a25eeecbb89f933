//! `GET /operator/v1/tokens`: every token, without what is secret about it.

use serde::{Deserialize, Serialize};

use super::page::PageReport;
use crate::access::TokenView;

/// One page of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokensReply {
    /// Which part of the list this is.
    #[serde(flatten)]
    pub page: PageReport,
    /// The tokens.
    pub tokens: Vec<TokenView>,
}
