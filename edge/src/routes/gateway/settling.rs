//! What an exchange settles: by what the answer tells in its body, by its head, by the bytes that have passed, and where there
//! is no answer.

use weir_shared::gateway::cost::Settled;
use weir_shared::gateway::outcome::{Ending, outcome};
use weir_shared::overload::resource::Outcome;

use super::body::UsageObserver;
use super::exchange::Exchange;
use super::provider;
use super::ticket::Used;

impl Exchange {
    /// Settles by what the answer has told, or by what has passed of it. An answer that is a failure and tells nothing has
    /// used nothing.
    pub(super) async fn settle_usage(&self, observer: Option<&UsageObserver>, ending: Ending) {
        if let (Some(observer), Some(limits)) = (observer, self.limits()) {
            observer.read(|answer| provider::record_usage(&self.desk, limits, answer));
        }
        let failed = matches!(ending, Ending::Answered(400..));
        let actual = |how: &Settled| match (how, observer) {
            (Settled::Usage(asking), Some(observer)) => observer.read(|answer| {
                if failed && !answer.tells() {
                    return Used::Units(0);
                }
                asking.actual(answer).map_or(Used::AsReserved, Used::Units)
            }),
            // An answer without a body has told nothing, and nothing has passed.
            (Settled::Usage(_), None) => Used::Units(0),
            _ => Used::Unknown,
        };
        self.ticket.settle(&self.desk, actual).await;
    }

    /// Settles by the headers of the answer. An answer that is a failure and names no amount has used none.
    pub(super) async fn settle_answered(&self, response: &web_sys::Response, ending: Ending) {
        let headers = response.headers();
        let header = |name: &str| headers.get(name).ok().flatten();
        let failed = outcome(ending) == Some(Outcome::Failure);
        let actual = |how: &Settled| match how {
            Settled::ResponseHeader(_) => match how.actual(0, &header) {
                Some(units) => Used::Units(units),
                None if failed => Used::Units(0),
                None => Used::AsReserved,
            },
            Settled::BodyBytes { .. } | Settled::Usage(_) => Used::Unknown,
        };
        self.ticket.settle(&self.desk, actual).await;
    }

    /// Settles by the bytes of the request that have passed.
    pub(super) async fn settle_counted(&self, bytes: Option<u64>) {
        let unreached = self.unreached.get();
        let actual = |how: &Settled| match how {
            Settled::BodyBytes { .. } if unreached => Used::Units(0),
            Settled::BodyBytes { .. } => {
                let units = bytes.and_then(|bytes| how.actual(bytes, &|_: &str| None));
                units.map_or(Used::AsReserved, Used::Units)
            }
            Settled::ResponseHeader(_) | Settled::Usage(_) => Used::Unknown,
        };
        self.ticket.settle(&self.desk, actual).await;
    }
}

/// What was used where no answer can say: nothing of an origin that was not reached.
pub(super) fn unanswered(unused: bool) -> impl Fn(&Settled) -> Used {
    move |how| match how {
        Settled::ResponseHeader(_) | Settled::Usage(_) if unused => Used::Units(0),
        Settled::ResponseHeader(_) | Settled::Usage(_) => Used::AsReserved,
        Settled::BodyBytes { .. } => Used::Unknown,
    }
}
