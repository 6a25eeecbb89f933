//! What a busy machine had no time to answer is asked again.

use std::time::Duration;

use anyhow::Result;

use crate::clock;
use crate::reply::Reply;

/// For how long: a call between two objects may be late several times.
pub const ANSWERED: Duration = Duration::from_secs(20);

const EVERY: Duration = Duration::from_millis(100);

/// The first answer that is not 503, which says nothing of who may do what; after [`ANSWERED`] whatever it is. A change that was
/// answered so may have been made.
///
/// # Panics
/// Where there is no answer at all.
pub async fn answered<Ask: Future<Output = Result<Reply>>>(ask: impl Fn() -> Ask) -> Reply {
    try_answered(ask).await.expect("an answer")
}

/// The same; an error where there is no answer at all.
pub async fn try_answered<Ask>(ask: impl Fn() -> Ask) -> Result<Reply>
where
    Ask: Future<Output = Result<Reply>>,
{
    let start = clock::now();
    loop {
        let reply = ask().await?;
        if reply.status != 503 || start.elapsed() > ANSWERED {
            return Ok(reply);
        }
        tokio::time::sleep(EVERY).await;
    }
}
