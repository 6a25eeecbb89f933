//! An origin that serves so many requests a second, and a provider that lets so many through in each window and tells it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Incoming;

use super::{Answer, Origin, State, answer, locked, remember, text};
use crate::clock;

/// Requests a second that are served: a bucket of one second's, so that what comes late and at once is served.
#[derive(Debug)]
pub(super) struct Capacity {
    pub(super) per_s: Option<f64>,
    pub(super) left: f64,
    pub(super) at: Instant,
    pub(super) quota: Option<Quota>,
}

impl Capacity {
    /// Whether one more is served.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let Some(per_s) = self.per_s else {
            return true;
        };
        let gained = now.duration_since(self.at).as_secs_f64() * per_s;
        self.left = (self.left + gained).min(per_s.max(1.0));
        self.at = now;
        let served = self.left >= 1.0;
        if served {
            self.left -= 1.0;
        }
        served
    }
}

/// Requests of a window that are let through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quota {
    limit: u64,
    window: Duration,
    left: u64,
    began: Instant,
}

impl Quota {
    /// Whether one more is let through; what is left, and until when.
    fn take(&mut self, now: Instant) -> (bool, u64, Duration) {
        if now.duration_since(self.began) >= self.window {
            (self.began, self.left) = (now, self.limit);
        }
        let passes = self.left > 0;
        self.left -= u64::from(passes);
        let until = self.window - now.duration_since(self.began);
        (passes, self.left, until)
    }
}

impl Origin {
    /// Lets through so many requests in each window from now on, and answers the rest with 429; each answer tells what is
    /// left as OpenAI's API does.
    pub fn let_through(&self, limit: u64, window: Duration) {
        locked(&self.state.capacity).quota = Some(Quota {
            limit,
            window,
            left: limit,
            began: clock::now(),
        });
    }
}

/// Answers a request, if the provider lets it through.
pub(super) async fn within_quota(request: Request<Incoming>, state: &Arc<State>) -> Answer {
    let took = {
        let mut capacity = locked(&state.capacity);
        let quota = capacity.quota.as_mut();
        quota.map(|quota| (quota.limit, quota.take(clock::now())))
    };
    let Some((limit, (passes, left, until))) = took else {
        return answer(request, state).await;
    };
    let mut answer = if passes {
        answer(request, state).await
    } else {
        remember(&request, state);
        state.refused.fetch_add(1, Ordering::SeqCst);
        text(429, "too many requests")
    };
    let fields = [
        ("x-ratelimit-limit-requests", limit.to_string()),
        ("x-ratelimit-remaining-requests", left.to_string()),
        (
            "x-ratelimit-reset-requests",
            format!("{}ms", until.as_millis()),
        ),
    ];
    for (name, value) in fields {
        let value = value.parse().expect("digits and letters");
        answer.headers_mut().insert(name, value);
    }
    answer
}
