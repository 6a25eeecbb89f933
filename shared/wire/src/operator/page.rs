//! What every list says of itself beside its entries.

use serde::{Deserialize, Serialize};

/// Which part of a list an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageReport {
    /// The number of the page, from 1.
    pub page: u64,
    /// Entries of a full page.
    pub page_size: u64,
    /// Pages in all; 1 for an empty list.
    pub pages: u64,
    /// Entries in all, of those that the search matches.
    pub total: u64,
}
