//! Checks that are answered from what this isolate holds, in one synchronous step: `POST /v1/check` of one budget, and
//! batches of these.

use weir_shared::access::grant::Principal;
use weir_shared::check::decision_text::DecisionText;
use weir_shared::check::short::Short;
use weir_shared::policy::Policy;
use weir_shared::policy::region::choose;
use weir_shared::units::EpochMs;
use weir_shared::wire::role::Role;

use crate::auth::bearer::token_of;
use crate::http::ratelimit::{Standing, ietf, retry_after_s};
use crate::isolate::place::ClientLocation;
use crate::isolate::ready::{Answer, Ask};
use crate::isolate::{known, now};

/// The answers to the questions of a body, as text for the module entry: whether there is something to flush (`0` or `1`),
/// the body, and for a single question the values of `ratelimit-policy`, `ratelimit` and, on a denial, `retry-after`, a line each.
/// `None` for what takes the way of all questions; then nothing was changed.
#[must_use]
pub fn answer(
    authorization: &str,
    location: &ClientLocation,
    batch: bool,
    body: &[u8],
) -> Option<String> {
    let token = token_of(authorization)?;
    let single;
    let several;
    let shorts: &[Short<'_>] = if batch {
        several = Short::read_batch(body)?;
        &several
    } else {
        single = [Short::read(body)?];
        &single
    };
    let now = now();
    let place = |policy: &Policy| match &location.region {
        Some(region) => Some(region.clone()),
        None => Some(choose(location.arrival(), &policy.regions, &policy.home).to_owned()),
    };
    known(token, place, |view, region, bearer| {
        let asks = shorts.iter().map(|short| ask(short, &bearer.principal));
        let asks: Vec<Ask<'_>> = asks.collect::<Option<_>>()?;
        view.prepare(&asks, region, now)?;
        let answers = view.decide(&asks, now)?;
        view.tokens.uses.mark(&bearer.id, now);
        let revision = view.loaded.as_ref()?.revision;
        let flush = if view.has_to_flush(now) { "1\n" } else { "0\n" };
        let mut text = flush.to_owned();
        let write = |answer: &Answer<'_>, text: &mut String| {
            let decision = DecisionText {
                decision: answer.decision,
                binding: answer.ask.budget,
                region,
                window: answer.window,
                revision,
            };
            decision.write(text);
        };
        match answers.as_slice() {
            [answer] if !batch => {
                write(answer, &mut text);
                headers(answer, now, &mut text);
            }
            answers => {
                text.push_str("{\"decisions\":[");
                for (index, answer) in answers.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    write(answer, &mut text);
                }
                text.push_str("]}");
            }
        }
        Some(text)
    })
}

/// Who asks: whom the question names, if the token may, else the tenant whose token it is.
fn ask<'a>(short: &Short<'a>, principal: &'a Principal) -> Option<Ask<'a>> {
    let own = principal.tenant.as_deref();
    let own = own.filter(|_| principal.role == Role::Tenant);
    let tenant = short.tenant.or(own)?;
    principal.may_name(Some(tenant)).then_some(Ask {
        tenant,
        budget: short.budget,
        cost: short.cost,
    })
}

/// Adds the values of the headers, a line each.
fn headers(answer: &Answer<'_>, now: EpochMs, text: &mut String) {
    let decision = &answer.decision;
    let standing = Standing {
        name: answer.ask.budget.to_owned(),
        promise: answer.promise,
        remaining: decision.remaining,
        reset_at: decision.reset_at,
    };
    for (_, value) in ietf(&[standing], now) {
        text.push('\n');
        text.push_str(&value);
    }
    if let (false, Some(after_ms)) = (decision.admitted(), decision.retry.after_ms()) {
        text.push('\n');
        text.push_str(itoa::Buffer::new().format(retry_after_s(after_ms)));
    }
}
