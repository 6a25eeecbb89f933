//! Many checks in one request: `POST /v1/check/batch`.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::answer::Decision;
use crate::clock::{epoch_ms, whole_ms};
use crate::coalescer::{Bounds, Waiting};
use crate::error::WeirError;
use crate::options::CallOptions;
use crate::transport::{Again, Answered, Call, Connection};
use crate::unreachable;

/// What Weir takes of a batch: 1,000 questions, and 64 KiB with the 15 bytes around them.
pub(crate) const BATCH: Bounds = Bounds {
    questions: 1_000,
    bytes: 64 * 1024 - 15,
};

/// What the name of the question at fault begins with.
const AT: &str = "/requests/";

#[derive(Deserialize)]
struct Decisions {
    decisions: Vec<Decision>,
}

/// Decides a batch, and answers all that wait.
pub(crate) async fn decide(over: &Connection, mut waiting: Vec<Waiting>) {
    let deadline = Instant::now() + Duration::from_millis(over.settings.timeout_ms);
    // A question at fault has the batch refused, and nothing charged. It is told, and the others are asked again: at worst as
    // many requests as there are questions.
    while !waiting.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let options = CallOptions {
            timeout_ms: Some(whole_ms(left).max(1)),
            ..CallOptions::default()
        };
        let error = match ask(over, &waiting, &options).await {
            Ok(decisions) => {
                let pairs = waiting.into_iter().zip(decisions);
                return pairs.for_each(|(one, decision)| one.answer(Ok(decision)));
            }
            Err(error) => error,
        };
        match fault(&error, waiting.len()) {
            Some((at, field)) => waiting.remove(at).answer(Err(error.at(field))),
            None => return answer_all(over, waiting, &error),
        }
    }
}

/// Asks: a question that has no company is an ordinary check.
async fn ask(
    over: &Connection,
    waiting: &[Waiting],
    options: &CallOptions,
) -> Result<Vec<Decision>, WeirError> {
    if let [one] = waiting {
        let answered = over.send(&check_call(one.text.clone()), options).await?;
        return Ok(vec![with_headers(answered)]);
    }
    let texts: Vec<_> = waiting.iter().map(|one| one.text.as_str()).collect();
    let call = Call {
        path: "/v1/check/batch".to_owned(),
        body: format!(r#"{{"requests":[{}]}}"#, texts.join(",")),
        again: Again::Never,
    };
    let Decisions { decisions } = over.send(&call, options).await?.value;
    if decisions.len() != waiting.len() {
        let told = format!("{} decisions", decisions.len());
        return Err(WeirError::not_weir(200, &told));
    }
    Ok(decisions)
}

/// One check, which may be tried again.
pub(crate) fn check_call(body: String) -> Call {
    Call {
        path: "/v1/check".to_owned(),
        body,
        again: Again::Key,
    }
}

/// The decision with the rate-limit fields that its answer had.
pub(crate) fn with_headers(answered: Answered<Decision>) -> Decision {
    let fields = answered.headers.iter().filter_map(|(name, value)| {
        let passed_on = matches!(
            name.as_str(),
            "ratelimit" | "ratelimit-policy" | "weir-decision"
        ) || name.as_str().starts_with("x-ratelimit-");
        let value = value.to_str().ok().filter(|_| passed_on)?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    Decision {
        headers: fields.collect(),
        ..answered.value
    }
}

/// Which question is at fault, and where in it.
fn fault(error: &WeirError, count: usize) -> Option<(usize, Option<String>)> {
    let named = error.field.as_deref().filter(|_| !error.unreachable())?;
    let named = named.strip_prefix(AT)?;
    let end = named.find('/').unwrap_or(named.len());
    let (index, rest) = named.split_at(end);
    let index = index.parse().ok().filter(|index| *index < count)?;
    Some((index, (!rest.is_empty()).then(|| rest.to_owned())))
}

fn answer_all(over: &Connection, waiting: Vec<Waiting>, error: &WeirError) {
    for one in waiting {
        one.answer(unreachable::or_else(Err(error.clone()), |cause| {
            unreachable::decision(over.settings.fail, cause, epoch_ms())
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_at_fault_is_named_with_the_place_in_it() {
        let at = |status: u16, field: &str| {
            let error = WeirError::refused(status, None, "", 0).at(Some(field.to_owned()));
            fault(&error, 2)
        };
        assert_eq!(
            at(400, "/requests/1/tenant"),
            Some((1, Some("/tenant".to_owned())))
        );
        assert_eq!(at(400, "/requests/0"), Some((0, None)));
        for field in ["/requests/2/tenant", "/requests/x", "/requests", ""] {
            assert_eq!(at(400, field), None, "{field}");
        }
        assert_eq!(at(503, "/requests/1/tenant"), None);
    }
}
