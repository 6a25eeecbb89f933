//! One request on its way to the origin and back. It runs beside the request that it serves: when the client goes away,
//! its slot is still given back and its reservations are still settled.

use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;

use futures_channel::oneshot;
use futures_util::future::{Either, join, join3, select};
use wasm_bindgen::JsValue;
use weir_shared::gateway::cost::Settled;
use weir_shared::gateway::outcome::{Ending, outcome};
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::usage::reader::{AnswerForm, UsageReader};
use weir_shared::limits::{OUTCOME_MS, UPLOAD_AFTER_MS, UPLOAD_NOTICED_MS};
use weir_shared::overload::resource::Outcome;
use weir_shared::policy::route::{OriginLimits, Usage};
use worker::Response;
use worker::js_sys::Promise;
use worker::wasm_bindgen_futures::JsFuture;

use super::Refused;
use super::body::{Counted, Passing, UsageObserver, count, observe, pass};
use super::fallback::{Fallback, Gathered, gather};
use super::head::Body;
use super::provider::{self, Room};
use super::reply::{bodiless, head, with_body};
use super::settling::unanswered;
use super::ticket::{Desk, Ticket, Used};
use super::upstream::Upstream;
use super::websocket;
use crate::http::answered::Answered;
use crate::http::failure::Failure;
use crate::http::ratelimit::headers;
use crate::isolate::now;
use crate::objects::deadline::{sleep, within};

/// One request, decided, on its way.
pub struct Exchange {
    /// Where it is worked off.
    pub desk: Desk,
    /// What it owes.
    pub ticket: Ticket,
    /// The request to each origin, but for its body; none to one that cannot be sent its headers.
    pub upstreams: Vec<Option<Upstream>>,
    /// Which of them is asked.
    pub asked: Cell<usize>,
    /// For how long its answer is waited for.
    pub given_ms: Cell<u64>,
    /// What there is to know where there are several.
    pub fallback: Option<Fallback>,
    /// For how long a WebSocket may be open, where the request asks for one.
    pub websocket_ms: Option<u64>,
    /// The body that is still coming, and its length where it is known.
    pub body: Option<Body>,
    /// What is sent, where it is not kept: all bytes of the body, or a stream on its way.
    pub sending: Option<JsValue>,
    /// Bytes of the body, where that is known before it has passed.
    pub length: Option<u64>,
    /// What the answer's headers say of the decision.
    pub answered: Option<Answered>,
    /// Whether the origin turned out to be out of reach: then it has used nothing.
    pub unreached: Cell<bool>,
    /// How the answer is read, where it tells what was used.
    pub reading: Option<Reading>,
}

/// How an answer is read while it passes.
pub struct Reading {
    /// Where it tells what was used, and what that is worth.
    pub usage: Arc<Usage>,
    /// Whether the event that tells it is left out, as the client did not ask for it.
    pub drops_usage: bool,
}

/// An answer for the client, and its body where its end is waited for.
struct Built {
    answer: Response,
    passing: Option<Passing>,
    observer: Option<UsageObserver>,
}

/// Who waits for the answer.
pub(super) type Reply = oneshot::Sender<Result<Response, Refused>>;

impl Exchange {
    /// Sends the request; the answer's head, with a body that follows as the client takes it.
    ///
    /// # Errors
    /// 502 when the origin is out of reach, 504 when it is too slow.
    pub async fn run(self) -> Result<Response, Refused> {
        let (reply, answer) = oneshot::channel();
        let handles = self.desk.handles.share();
        handles.detach(self.finish(reply));
        match answer.await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::Internal("the exchange has ended early".to_owned()).into()),
        }
    }

    async fn finish(mut self, reply: Reply) {
        let gathered = self.gather().await;
        let length = self.length;
        let started = gathered.and_then(|()| Ok(self.start_upload()?));
        let upload = match started {
            Ok(upload) => upload,
            Err(refused) => {
                let _gone = reply.send(Err(refused));
                // Nothing was sent.
                let settling = self.ticket.settle(&self.desk, |_| Used::Units(0));
                join(self.ticket.release(&self.desk), settling).await;
                return;
            }
        };
        let state = Cell::new(match upload {
            Some(_) => Upload::UnderWay,
            None => Upload::Passed,
        });
        let counted = upload.as_ref().and_then(|upload| upload.counted.as_ref());
        let uploading = pin!(uploaded(upload.as_ref(), &state));
        let downloading = pin!(self.download(reply, &state));
        match select(uploading, downloading).await {
            Either::Left(((), downloading)) => downloading.await,
            // What the origin has not read by now, it will not.
            Either::Right(((), uploading)) => {
                let _unread = within(UPLOAD_AFTER_MS, uploading).await;
            }
        }
        let kept = self.fallback.as_ref().and_then(Fallback::bytes);
        // A body of which the head was all needs no counting.
        let bytes = counted.map(Counted::bytes).or(kept).or(length);
        self.settle_counted(bytes).await;
    }

    /// Waits for the body where it may have to be sent again, as long as an answer would be waited for.
    async fn gather(&mut self) -> Result<(), Refused> {
        let Some(fallback) = &self.fallback else {
            return Ok(());
        };
        let first = fallback.first(&self.desk);
        self.asked.set(self.roomy(fallback, first).await?);
        let Some(body) = self.body.take() else {
            fallback.keep(None);
            return Ok(());
        };
        let left_ms = fallback.left_ms();
        let gathering = within(left_ms, gather(body));
        let gathered = self.ticket.holding(&self.desk, gathering).await;
        match gathered.ok_or_else(|| Refusal::body_timed_out(left_ms))?? {
            Gathered::Whole(kept) => fallback.keep(Some(kept)),
            Gathered::Passing(body) => self.body = Some(body),
        }
        Ok(())
    }

    /// Puts the body in the way of the origin: it is read as the origin reads it.
    fn start_upload(&mut self) -> Result<Option<Uploading>, Failure> {
        let Some((source, length)) = self.body.take() else {
            return Ok(None);
        };
        let counts = |how: &Settled| matches!(how, Settled::BodyBytes { .. });
        let counted = self.ticket.reservations.iter().any(|(_, how)| counts(how));
        let Passing {
            out,
            passing,
            counted,
        } = match (counted, length) {
            (true, None) => count(&source)?,
            (_, length) => pass(&source, length)?,
        };
        self.sending = Some(out.into());
        Ok(Some(Uploading { passing, counted }))
    }

    async fn download(&self, reply: Reply, upload: &Cell<Upload>) {
        loop {
            let sent = self.ticket.holding(&self.desk, self.send()).await;
            let ending = match &sent {
                Ok(response) => Ending::Answered(response.status()),
                Err(ending) => *ending,
            };
            if let (Ok(response), Some(limits)) = (&sent, self.limits()) {
                provider::record_head(&self.desk, limits, response);
            }
            if self.goes_on(ending, &reply).await {
                let body = sent.ok().and_then(|response| response.body());
                let _cancelled = body.map(|body| body.cancel());
                continue;
            }
            if let Some(fallback) = &self.fallback {
                fallback.let_go();
            }
            return match sent {
                Ok(response) => self.answer(&response, reply).await,
                Err(ending) => self.fail(ending, reply, upload).await,
            };
        }
    }

    /// Where the origin that is asked tells its limits.
    pub(super) fn limits(&self) -> Option<&OriginLimits> {
        self.limits_of(self.asked.get())
    }

    fn limits_of(&self, index: usize) -> Option<&OriginLimits> {
        self.upstreams.get(index)?.as_ref()?.limits.as_ref()
    }

    async fn send(&self) -> Result<web_sys::Response, Ending> {
        let upstream = self.upstreams.get(self.asked.get());
        let upstream = upstream.and_then(Option::as_ref);
        let upstream = upstream.ok_or(Ending::Unreachable)?;
        let Some(fallback) = &self.fallback else {
            return upstream
                .send(self.sending.as_ref(), upstream.timeout_ms)
                .await;
        };
        let timeout_ms = upstream.timeout_ms.min(fallback.left_ms());
        self.given_ms.set(timeout_ms);
        let body = fallback.body().or_else(|| self.sending.clone());
        upstream.send(body.as_ref(), timeout_ms).await
    }

    /// Whether the next origin is tried, which it then is; what came of this try is remembered.
    async fn goes_on(&self, ending: Ending, reply: &Reply) -> bool {
        let Some(fallback) = &self.fallback else {
            return false;
        };
        let (desk, asked) = (&self.desk, self.asked.get());
        // Of a body that is still coming, it may be the client who has left.
        if fallback.in_hand() || matches!(ending, Ending::Answered(_)) {
            fallback.record(desk, asked, ending);
        }
        let next = Some(ending).filter(|_| !reply.is_canceled());
        let next = next.and_then(|ending| fallback.next(desk, asked, ending));
        let next = match next {
            // Without room there, what there is already is the client's.
            Some(next) => self.roomy(fallback, next).await.ok(),
            None => None,
        };
        if let Some(next) = next {
            self.report(ending);
            self.asked.set(next);
        }
        next.is_some()
    }

    /// The origin that has room for the request: this one, or one after it.
    ///
    /// # Errors
    /// A denial where none has.
    async fn roomy(&self, fallback: &Fallback, index: usize) -> Result<usize, Refused> {
        let mut index = index;
        loop {
            // What follows the limits of the first is among the checks of the route.
            let limits = self.limits_of(index).filter(|_| index > 0);
            let Some(limits) = limits else {
                return Ok(index);
            };
            let room = fallback.room(&self.desk, limits, &self.ticket.tenant);
            let Room::None(denied) = room.await else {
                return Ok(index);
            };
            index = fallback.beyond(&self.desk, index).ok_or_else(|| {
                let refusal = Refusal::denied(&denied.body);
                Refused::Problem(Box::new(refusal), Some(denied))
            })?;
        }
    }

    /// Tells the overload resources how the origin did: those of a route are its first origin's, another has its own.
    pub(super) fn report(&self, ending: Ending) {
        match (self.asked.get(), self.limits()) {
            (0, _) => self.ticket.report(&self.desk, ending),
            (_, Some(limits)) => self.ticket.report_to(&self.desk, &limits.overload, ending),
            (_, None) => {}
        }
    }

    /// The origin has not answered.
    async fn fail(&self, ending: Ending, reply: Reply, upload: &Cell<Upload>) {
        let refusal = match ending {
            Ending::TimedOut => Refusal::origin_timed_out(self.given_ms.get()),
            _ => Refusal::origin_unreachable(),
        };
        let _gone = reply.send(Err(self.refused(refusal)));
        // An origin that was not reached has used nothing; one that was too slow may have.
        let may_be_done = self.fallback.as_ref().is_some_and(Fallback::may_be_done);
        let unused = matches!(ending, Ending::Unreachable) && !may_be_done;
        self.unreached.set(unused);
        let settling = self.ticket.settle(&self.desk, unanswered(unused));
        let telling = self.tell_failure(ending, upload);
        join3(self.ticket.release(&self.desk), settling, telling).await;
    }

    /// A problem, with the headers of the decision: it was charged all the same.
    fn refused(&self, refusal: Refusal) -> Refused {
        let answered = self.answered.clone().map(Box::new);
        Refused::Problem(Box::new(refusal), answered)
    }

    async fn tell_failure(&self, ending: Ending, upload: &Cell<Upload>) {
        if upload.get() == Upload::UnderWay {
            // A client that has gone is noticed at both ends of the body, in whichever order.
            sleep(UPLOAD_NOTICED_MS).await;
        }
        let about_origin = match (ending, upload.get()) {
            (_, Upload::BrokenOff) => false,
            // Nobody can answer a request that the client has not finished.
            (Ending::TimedOut, Upload::UnderWay) => false,
            _ => true,
        };
        if about_origin {
            self.report(ending);
        }
        if let Some(fallback) = self
            .fallback
            .as_ref()
            .filter(|one| about_origin && !one.in_hand())
        {
            fallback.record(&self.desk, self.asked.get(), ending);
        }
    }

    /// The origin's answer goes to the client, and what it says is settled while it does.
    async fn answer(&self, response: &web_sys::Response, reply: Reply) {
        let ending = Ending::Answered(response.status());
        if let Some(most_ms) = self.websocket_ms
            && let Some(origin) = websocket::of(response)
        {
            return self.converse(response, &origin, most_ms, reply).await;
        }
        let Built {
            answer,
            passing,
            observer,
        } = match self.reply(response) {
            Ok(Some(built)) => built,
            Ok(None) => {
                let refused = self.refused(Refusal::origin_unreachable());
                return self.give_up(refused, Ending::Unreachable, reply).await;
            }
            Err(failure) => return self.give_up(failure.into(), ending, reply).await,
        };
        let gone = reply.send(Ok(answer)).is_err();
        let settling = self.settle_answered(response, ending);
        let ended = async {
            match passing {
                Some(passing) => {
                    if gone {
                        let _cancelled = passing.out.cancel();
                    }
                    let watching = self.watch(passing.passing, ending);
                    self.ticket.holding(&self.desk, watching).await;
                }
                None => self.report(ending),
            }
            let settling = self.settle_usage(observer.as_ref(), ending);
            join(self.ticket.release(&self.desk), settling).await;
        };
        join(settling, ended).await;
    }

    /// An answer that cannot be handed on.
    pub(super) async fn give_up(&self, refused: Refused, ending: Ending, reply: Reply) {
        let _gone = reply.send(Err(refused));
        self.report(ending);
        let unused = matches!(ending, Ending::Unreachable);
        let settling = self.ticket.settle(&self.desk, unanswered(unused));
        join(self.ticket.release(&self.desk), settling).await;
    }

    /// What the answer's headers say of the decision.
    pub(super) fn told(&self) -> Vec<(&'static str, String)> {
        let dialect = self.desk.loaded.policy.headers;
        let answered = self.answered.as_ref();
        answered.map_or_else(Vec::new, |answered| headers(dialect, answered, now()))
    }

    /// The answer for the client, and its body where its end is waited for. `None` for a status that is none.
    fn reply(&self, response: &web_sys::Response) -> Result<Option<Built>, Failure> {
        let Some(mut builder) = head(response)? else {
            return Ok(None);
        };
        for (name, value) in self.told() {
            builder = builder.with_header(name, &value)?;
        }
        let status = response.status();
        let upstream = self.upstreams.iter().flatten().next();
        let is_head = upstream.is_some_and(|upstream| upstream.method == "HEAD");
        let none = bodiless(status) || is_head;
        let body = response.body().filter(|_| !none);
        let reader = self.reader(response);
        let waits = reader.is_some() || self.ticket.waits_for_end();
        let Some(source) = body.clone().filter(|_| waits) else {
            return Ok(Some(Built {
                answer: with_body(builder, body),
                passing: None,
                observer: None,
            }));
        };
        let length = response.headers().get("content-length").ok().flatten();
        let length = length.and_then(|text| text.parse().ok());
        let (passing, observer) = match reader {
            Some(reader) => {
                let (passing, read) = observe(&source, length, reader)?;
                (passing, Some(read))
            }
            None => (pass(&source, length)?, None),
        };
        Ok(Some(Built {
            answer: with_body(builder, Some(passing.out.clone())),
            passing: Some(passing),
            observer,
        }))
    }

    /// What reads the answer, where there is something to read.
    fn reader(&self, response: &web_sys::Response) -> Option<UsageReader> {
        let reading = self.reading.as_ref()?;
        let headers = response.headers();
        let field = |name: &str| headers.get(name).ok().flatten();
        let (kind, coding) = (field("content-type"), field("content-encoding"));
        let form = AnswerForm::of(kind.as_deref(), coding.as_deref());
        Some(UsageReader::new(
            &reading.usage.format,
            form,
            reading.drops_usage,
        ))
    }

    /// Follows the body to its end, and tells how the origin did: a failure at once, a success when the body has lasted
    /// for a while. Of a body that breaks off before, nobody can tell who has left it: that says nothing.
    async fn watch(&self, passing: Promise, ending: Ending) {
        let end = pin!(JsFuture::from(passing));
        if outcome(ending) != Some(Outcome::Success) {
            self.report(ending);
            let _ended = end.await;
            return;
        }
        match select(end, pin!(sleep(OUTCOME_MS))).await {
            Either::Left((Ok(_), _)) => self.report(ending),
            Either::Left((Err(_), _)) => self.report(Ending::ClientLeft),
            Either::Right((_, end)) => {
                self.report(ending);
                let _ended = end.await;
            }
        }
    }
}

/// The body of a request on its way.
struct Uploading {
    passing: Promise,
    counted: Option<Counted>,
}

/// How far the body of a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upload {
    /// Some of it has not passed.
    UnderWay,
    /// All of it, or there is none.
    Passed,
    /// The rest will not, as either side has left. Which, the platform does not tell.
    BrokenOff,
}

/// Waits until the body of the request has passed, or cannot.
async fn uploaded(upload: Option<&Uploading>, state: &Cell<Upload>) {
    let Some(upload) = upload else {
        return;
    };
    let passed: Result<JsValue, JsValue> = JsFuture::from(upload.passing.clone()).await;
    state.set(match passed {
        Ok(_) => Upload::Passed,
        Err(_) => Upload::BrokenOff,
    });
}
