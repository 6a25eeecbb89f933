//! How soon something has changed, on a machine that may be slow to answer.

use std::time::Duration;

use tokio::time::sleep;

use crate::clock::now;

/// Asks until the answer is the new one: when it was asked for. A question that is sent when the change has to be in force gets
/// the new answer; that the machine is slow excuses as much as an answer, or the way from one question to the next, took meanwhile.
///
/// # Panics
/// If the answer is the old one to a question that was sent later.
pub async fn until(within: Duration, mut is_new: impl AsyncFnMut() -> bool) -> Duration {
    let (start, mut longest) = (now(), Duration::ZERO);
    loop {
        let sent = start.elapsed();
        if is_new().await {
            return sent;
        }
        longest = longest.max(start.elapsed() - sent);
        assert!(
            sent <= within + longest,
            "the answer is the old one to what was asked after {sent:?}, while a question takes up to {longest:?}"
        );
        sleep(Duration::from_millis(10)).await;
        longest = longest.max(start.elapsed() - sent);
    }
}
