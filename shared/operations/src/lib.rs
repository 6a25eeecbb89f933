//! What operators ask: reports, previews of a change, replays of recorded demand, the API's own document.

pub mod export;
pub mod openapi;
pub mod paging;
pub mod preview;
pub mod replay;
pub mod report;
