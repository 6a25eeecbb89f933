//! Asks the roots of budgets what they lent in windows that are over. Nobody waits for that but who reads the records:
//! a root that does not answer is asked again with the next minute.

use futures_util::future::join_all;
use weir_shared::accounting::windows::Root;
use weir_shared::limits::REFRESH_MS_MAX;
use weir_shared::node::ledger::Event;
use weir_shared::units::WindowLabel;
use weir_shared::wire::windows::{ClosedBody, ClosedReply};
use worker::console_error;

use super::Ledger;
use crate::objects::binding::{Address, call};

/// Roots that are asked at a time.
const ROOTS_MAX: usize = 64;

impl Ledger {
    /// Asks those of which windows are over and nothing was heard.
    pub(super) async fn ask_roots(&self) {
        let unclosed = self.look(|books, now| Ok(books.windows().unclosed(now)));
        let unclosed = match unclosed {
            Ok(unclosed) => unclosed,
            Err(refused) => {
                console_error!("ledger: {}", refused.0);
                return;
            }
        };
        let asking = unclosed.into_iter().take(ROOTS_MAX);
        let answers = join_all(asking.map(|(root, from)| self.ask(root, from))).await;
        for (root, answer) in answers.into_iter().flatten() {
            let closed = Event::Closed {
                budget: root.budget,
                windows: answer.windows,
            };
            if let Err(refused) = self.step(closed, &[]) {
                console_error!("ledger: {}", refused.0);
            }
        }
    }

    async fn ask(&self, root: Root, from: WindowLabel) -> Option<(Root, ClosedReply)> {
        let body = ClosedBody {
            budget: root.budget.clone(),
            from,
        };
        // Both objects are there already: where they were placed is not changed by a later call.
        let address = match &root.region {
            Some(region) => Address::region(region),
            None => Address::coordinator(&root.budget, ""),
        };
        match call(&self.env, address, &body, REFRESH_MS_MAX).await {
            Ok(reply) => Some((root, reply)),
            Err(error) => {
                console_error!("windows of {}: {error}", root.budget);
                None
            }
        }
    }
}
