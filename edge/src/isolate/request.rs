//! One request's handles of the platform. They live as long as the request and what it leaves running.

use std::future::Future;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::LocalBoxFuture;
use worker::{Context, Env};

use crate::objects::trace;

/// The environment, and where work goes that outlives the reply: in production a client that disconnects cancels
/// the request's own futures.
pub struct RequestHandles {
    /// Bindings.
    pub env: Env,
    context: Rc<Context>,
}

impl RequestHandles {
    /// The handles of one request.
    #[must_use]
    pub fn new(env: Env, context: Context) -> Self {
        Self {
            env,
            context: Rc::new(context),
        }
    }

    /// The same handles, for what the request leaves running.
    #[must_use]
    pub fn share(&self) -> Self {
        Self {
            env: self.env.clone(),
            context: Rc::clone(&self.context),
        }
    }

    /// Keeps the platform from ending a request whose client is gone before the request has heard of that, until what this
    /// returns is dropped.
    pub fn keep_running(&self) -> Running {
        let (kept, ends) = oneshot::channel();
        self.detach(async move {
            let _dropped = ends.await;
        });
        Running { _kept: kept }
    }

    /// Runs `future` to its end, at most 30 seconds, whatever becomes of the request.
    pub fn detach(&self, future: impl Future<Output = ()> + 'static) {
        match trace::is_traced() {
            true => self
                .context
                .wait_until(traced(trace::carried(Box::pin(future)))),
            false => self.context.wait_until(future),
        }
    }
}

/// What a traced request leaves running: its spans are sent when it has ended.
async fn traced(future: LocalBoxFuture<'static, ()>) {
    future.await;
    trace::send().await;
}

/// A request that goes on without its client, for as long as this is there.
pub struct Running {
    _kept: oneshot::Sender<()>,
}
