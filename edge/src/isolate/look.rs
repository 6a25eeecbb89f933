//! Looking again while another request's question is under way.

use crate::objects::deadline::sleep;

const MS_FIRST: u64 = 1;
const MS_MAX: u64 = 16;

/// How long a request sleeps before it looks again: twice as long each time, up to 16 ms.
#[derive(Debug)]
pub struct Looks {
    next_ms: u64,
}

impl Default for Looks {
    fn default() -> Self {
        Self { next_ms: MS_FIRST }
    }
}

impl Looks {
    /// Sleeps until it is time to look again, `left_ms` at most.
    pub async fn again_within(&mut self, left_ms: u64) {
        sleep(self.next_ms.min(left_ms)).await;
        self.next_ms = (self.next_ms * 2).min(MS_MAX);
    }

    /// Sleeps until it is time to look again.
    pub async fn again(&mut self) {
        self.again_within(MS_MAX).await;
    }
}
