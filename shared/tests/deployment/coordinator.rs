//! The coordinator: the pool, and the row that outlives each life.

use std::collections::VecDeque;

use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::node::Effect;
use weir_shared::node::pool::{Event, PoolNode};
use weir_shared::units::Revision;
use weir_shared::wire::exchange::{ExchangeBody, Terms};
use weir_shared::wire::stored::read_row;

use super::around::Around;
use super::broken::Broken;
use super::network::{Answer, Letter};
use super::truth::Wrong;

/// What is durable of the coordinator, and the life that may write it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coordinator {
    row: Option<String>,
    node: Option<PoolNode<()>>,
    /// That of a life that another has replaced, and that does not know: it can write no more.
    replaced: Option<PoolNode<()>>,
}

impl Coordinator {
    pub(crate) fn pool(&self) -> Option<&Pool> {
        self.node.as_ref().map(PoolNode::pool)
    }

    /// What is durable.
    pub(crate) fn stored(&self) -> Option<StoredPool> {
        self.row.as_ref().and_then(|text| read_row(text).ok())
    }

    pub(crate) fn has_replaced(&self) -> bool {
        self.replaced.is_some()
    }

    /// Another life takes over, and this one goes on beside it.
    pub(crate) fn is_replaced(&mut self) {
        self.replaced = self.node.take();
    }

    /// What is in memory is lost.
    pub(crate) fn crashes(&mut self) {
        self.node = None;
    }

    /// The revision that is durable, or that a pool begins with.
    fn known(&self) -> Revision {
        self.stored().map_or(Revision(1), |row| row.terms.revision)
    }

    fn wakes(&mut self, terms: &Terms, around: &mut Around<'_>) -> Pool {
        match (&self.row, self.stored()) {
            (_, Some(row)) => Pool::wake(&row),
            (unread, None) => {
                around.truth.require(unread.is_none(), Wrong::RowUnreadable);
                around.truth.opens(around.true_now);
                Pool::open(terms.clone(), around.now)
            }
        }
    }

    pub(crate) fn is_asked(&mut self, region: usize, body: &ExchangeBody, around: &mut Around<'_>) {
        let mut node = match self.node.take() {
            Some(node) => node,
            None => PoolNode::new(self.wakes(&body.terms, around)),
        };
        if around.breaks(Broken::EditOpensAnew) && body.terms.revision > self.known() {
            node = PoolNode::new(Pool::open(body.terms.clone(), around.now));
        }
        let writes = |row: &StoredPool, around: &Around<'_>| {
            let mut row = row.clone();
            if around.breaks(Broken::AheadNotStored) {
                row.ahead.clear();
            }
            if !around.breaks(Broken::CoordinatorRepliesBeforeWrite) {
                self.row = Some(serde_json::to_string(&row).expect("a row is always JSON"));
            }
            Event::Persisted
        };
        runs(&mut node, region, body, around, writes);
        self.node = Some(node);
    }

    /// The same of the life that was replaced. When it has to write, the write fails, and it is over.
    pub(crate) fn replaced_is_asked(
        &mut self,
        region: usize,
        body: &ExchangeBody,
        around: &mut Around<'_>,
    ) {
        let Some(mut node) = self.replaced.take() else {
            return;
        };
        let mut is_over = false;
        runs(&mut node, region, body, around, |_, around| {
            if around.breaks(Broken::FailedWriteIgnored) {
                return Event::Persisted;
            }
            is_over = true;
            Event::NotPersisted
        });
        self.replaced = (!is_over).then_some(node);
    }
}

/// Lets a node take a region's message, and does what it says, in its order.
fn runs(
    node: &mut PoolNode<()>,
    region: usize,
    body: &ExchangeBody,
    around: &mut Around<'_>,
    mut writes: impl FnMut(&StoredPool, &Around<'_>) -> Event<()>,
) {
    let message = match Message::try_from(body.clone()) {
        Ok(message) => message,
        Err(refusal) => return tell(region, body, Err(refusal), around),
    };
    let caller = ();
    let exchange = Event::Exchange { caller, message };
    let mut effects = VecDeque::from(node.step(exchange, around.now));
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Persist(row) => effects.extend(node.step(writes(&row, around), around.now)),
            Effect::Reply((), answer) => tell(region, body, answer, around),
            // The region hears nothing. There is nobody above a root.
            Effect::Fail(()) | Effect::Send(_) | Effect::WakeAt(_) => {}
        }
    }
}

fn tell(region: usize, asked: &ExchangeBody, answer: Answer, around: &mut Around<'_>) {
    around.send(Letter::FromCoordinator {
        region,
        life: asked.incarnation,
        sequence: asked.sequence,
        answer,
    });
}
