//! What the console says that it did. A message stands for some seconds, in which a busy machine may not look: it is noted as
//! it comes.

use weir_tests::browser::Browser;

use crate::console::{SAVE, eventually, tells_late};

/// Notes each message of something that was done from now on, as it is read aloud.
pub(super) async fn note(browser: &Browser) {
    let script = "const said = window.saidToBeDone = [];
        const note = (node) => {
            const isDone = node.matches?.('[data-testid=toast][data-kind=done]');
            if (isDone && node.closest('[role=status]')) said.push(node.textContent);
        };
        new MutationObserver((records) => records.forEach((record) => record.addedNodes.forEach(note)))
            .observe(document.body, { childList: true, subtree: true });";
    browser.evaluate(script, vec![]).await.unwrap();
}

/// Waits until something was said to be done since [`note`]. What was not saved in time, on a busy machine, is saved again.
pub(super) async fn await_done(browser: &Browser) -> String {
    eventually("a message of what was done", async || {
        let script = "return [
            window.saidToBeDone?.[0] ?? null,
            document.querySelector('[data-testid=form-error]')?.textContent ?? null,
        ]";
        let told = browser.evaluate(script, vec![]).await.ok()?;
        if let Some(failed) = told[1].as_str() {
            assert!(tells_late(failed), "it was not done: {told}");
            browser.press(SAVE).await.ok()?;
            return None;
        }
        told[0].as_str().map(str::to_owned)
    })
    .await
}
