//! The coordinator: the pool, and the row that outlives each life.

use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::wire::exchange::ExchangeBody;
use weir_shared::wire::stored::read_row;

use super::around::Around;
use super::broken::Broken;
use super::network::{Answer, Letter};
use super::truth::Wrong;

/// What is durable of the coordinator, and the life that may write it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coordinator {
    row: Option<String>,
    pool: Option<Pool>,
    /// The pool of a life that another has replaced, and that does not know: it can write no more.
    replaced: Option<Pool>,
}

impl Coordinator {
    pub(crate) fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
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
        self.replaced = self.pool.take();
    }

    /// What is in memory is lost.
    pub(crate) fn crashes(&mut self) {
        self.pool = None;
    }

    fn wakes(&mut self, around: &mut Around<'_>) -> Pool {
        match (&self.row, self.stored()) {
            (_, Some(row)) => Pool::wake(&row),
            (unread, None) => {
                around.truth.require(unread.is_none(), Wrong::RowUnreadable);
                around.truth.opens(around.true_now);
                Pool::open(around.terms.clone(), around.now)
            }
        }
    }

    pub(crate) fn is_asked(&mut self, region: usize, body: &ExchangeBody, around: &mut Around<'_>) {
        let mut pool = match self.pool.take() {
            Some(pool) => pool,
            None => self.wakes(around),
        };
        let answer = match Message::try_from(body.clone()) {
            Ok(message) => pool.exchange(&message, around.now),
            Err(refusal) => Err(refusal),
        };
        self.writes(&mut pool, around);
        self.pool = Some(pool);
        tell(region, body, answer, around);
    }

    /// The same of the life that was replaced. When it has to write, the write fails, and it is over.
    pub(crate) fn replaced_is_asked(
        &mut self,
        region: usize,
        body: &ExchangeBody,
        around: &mut Around<'_>,
    ) {
        let (Some(mut pool), Ok(message)) = (self.replaced.take(), Message::try_from(body.clone()))
        else {
            return;
        };
        let answer = pool.exchange(&message, around.now);
        let due = pool.due();
        if let Some(row) = due
            .as_ref()
            .filter(|_| around.breaks(Broken::FailedWriteIgnored))
        {
            pool.stored(row);
        }
        if due.is_none() || around.breaks(Broken::FailedWriteIgnored) {
            self.replaced = Some(pool);
            tell(region, body, answer, around);
        }
    }

    /// Makes what changed durable, unless a broken rule only believes so.
    fn writes(&mut self, pool: &mut Pool, around: &Around<'_>) {
        let Some(mut row) = pool.due() else {
            return;
        };
        pool.stored(&row);
        if around.breaks(Broken::AheadNotStored) {
            row.ahead.clear();
        }
        if !around.breaks(Broken::CoordinatorRepliesBeforeWrite) {
            self.row = Some(serde_json::to_string(&row).expect("a row is always JSON"));
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
