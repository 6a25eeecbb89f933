//! Checks that are answered from what this isolate holds, in one synchronous step: `POST /v1/check` of one budget, and
//! batches of these.

use std::rc::Rc;

use weir_shared::access::grant::Principal;
use weir_shared::check::decision_text::DecisionText;
use weir_shared::check::short::Short;
use weir_shared::policy::Policy;
use weir_shared::policy::region::choose;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::role::Role;

use crate::auth::bearer::token_of;
use crate::http::held::HeldText;
use crate::isolate::bearer::Bearer;
use crate::isolate::budget_plans::BudgetQuestion;
use crate::isolate::budget_question::BudgetAnswer;
use crate::isolate::place::ClientLocation;
use crate::isolate::region::RegionView;
use crate::isolate::{known, now, prepared};

/// The answer to the question of a body, as text for the module entry: whether there is something to flush (`0` or `1`), and
/// the lines of [`HeldText`]. `None` for what takes the way of all questions; then nothing was changed.
#[must_use]
pub fn answer(authorization: &str, location: &ClientLocation, body: &[u8]) -> Option<String> {
    let (token, now) = (token_of(authorization)?, now());
    let short = Short::read(body)?;
    known(token, place(location), |view, region, bearer| {
        let ask = ask(&short, &bearer.principal)?;
        view.prepare(&[ask], region, now)?;
        let answer = view.decide_one(&ask, (region, now))?;
        view.tokens.uses.mark(&bearer.id, now);
        let mut text = flush(view, now);
        let held = HeldText {
            body: decision_text(&answer, (region, now), view.loaded.as_ref()?.revision),
            quota_policy: answer.quota_policy,
        };
        held.tell(now, &mut text);
        Some(text)
    })
}

/// The answers to the questions of a batch: whether there is something to flush, and the body. `None` as of [`answer`].
#[must_use]
pub fn answer_batch(authorization: &str, location: &ClientLocation, body: &[u8]) -> Option<String> {
    let (token, now) = (token_of(authorization)?, now());
    let shorts = Short::read_batch(body)?;
    known(token, place(location), |view, region, bearer| {
        let asks = shorts.iter().map(|short| ask(short, &bearer.principal));
        let asks: Vec<BudgetQuestion<'_>> = asks.collect::<Option<_>>()?;
        view.prepare(&asks, region, now)?;
        let answers = view.decide(&asks, (region, now))?;
        view.tokens.uses.mark(&bearer.id, now);
        let mut text = flush(view, now);
        let revision = view.loaded.as_ref()?.revision;
        text.push_str("{\"decisions\":[");
        for (index, answer) in answers.iter().enumerate() {
            text.push_str(if index > 0 { "," } else { "" });
            decision_text(answer, (region, now), revision).write(&mut text);
        }
        text.push_str("]}");
        Some(text)
    })
}

/// The slot of the question of a body that was answered by [`answer`] just now; `None` where it gets none.
#[must_use]
pub fn prepare(authorization: &str, location: &ClientLocation, body: &[u8]) -> Option<u32> {
    let token = token_of(authorization)?;
    let short = Short::read(body)?;
    let whose = |_: &mut RegionView, region: &str, bearer: &Rc<Bearer>| {
        Some((region.to_owned(), Rc::clone(bearer)))
    };
    let (region, bearer) = known(token, place(location), whose)?;
    prepared::prepare(&bearer, &region, &ask(&short, &bearer.principal)?)
}

/// The region for which a request is decided.
fn place(location: &ClientLocation) -> impl FnOnce(&Policy) -> Option<String> + '_ {
    |policy| match &location.region {
        Some(region) => Some(region.clone()),
        None => Some(choose(location.arrival(), &policy.regions, &policy.home).to_owned()),
    }
}

fn flush(view: &RegionView, now: EpochMs) -> String {
    let has_to = view.has_to_flush(now);
    if has_to { "1\n" } else { "0\n" }.to_owned()
}

fn decision_text<'a>(
    answer: &BudgetAnswer<'a>,
    (region, at): (&'a str, EpochMs),
    revision: Revision,
) -> DecisionText<'a> {
    DecisionText {
        decision: answer.decision,
        at,
        tenant: answer.ask.tenant,
        binding: answer.ask.budget,
        region,
        window: answer.window,
        revision,
    }
}

/// Who asks: whom the question names, if the token may, else the tenant whose token it is.
fn ask<'a>(short: &Short<'a>, principal: &'a Principal) -> Option<BudgetQuestion<'a>> {
    let own = principal.tenant.as_deref();
    let own = own.filter(|_| principal.role == Role::Tenant);
    let tenant = short.tenant.or(own)?;
    principal.may_name(Some(tenant)).then_some(BudgetQuestion {
        tenant,
        budget: short.budget,
        cost: short.cost,
    })
}
