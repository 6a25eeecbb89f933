//! The keys of identity providers, as this isolate knows them: plain data by the URL of each key set, fetched again
//! every hour.

use std::cell::RefCell;

use futures_channel::oneshot;
use futures_util::StreamExt;
use weir_shared::access::jwt::{KeySet, PublicKey};
use weir_shared::json;
use weir_shared::limits::{
    CALL_MS_MAX, PROVIDER_KEYS_BYTES_MAX, PROVIDER_KEYS_MAX, PROVIDER_KEYS_MS,
    PROVIDER_KEYS_MS_MAX, PROVIDER_KEYS_MS_MIN, PROVIDERS_MAX,
};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use worker::{Fetch, Method, Request, RequestInit, RequestRedirect, console_error};

use crate::http::failure::Failure;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;
use crate::objects::deadline::{sleep, within};

/// How long a request sleeps before it looks again while another fetches them.
const LOOK_MS: u64 = 20;

thread_local! {
    static KEYS: RefCell<Sets> = RefCell::default();
}

/// What is known of each key set, by its URL. Only the deployment and its policy name URLs.
type Sets = OrderedMap<String, Keys>;

/// What is known of the keys of one set.
#[derive(Default)]
struct Keys {
    keys: Vec<PublicKey>,
    fetched_at: Option<EpochMs>,
    asked_at: Option<EpochMs>,
    asking: bool,
}

/// What a request does about the keys.
enum Next {
    /// This is the key, or there is none by that name.
    Known(Option<PublicKey>),
    /// This is the key; they are fetched again meanwhile.
    Refresh(PublicKey),
    /// They have to be fetched first.
    Fetch,
    /// Another request fetches them.
    Wait,
    /// They could not be fetched a moment ago.
    OutOfReach,
}

impl Keys {
    fn next(&mut self, id: &str, now: EpochMs) -> Next {
        let age_ms = self.fetched_at.map(|at| now.since(at));
        if age_ms.is_some_and(|age_ms| age_ms >= PROVIDER_KEYS_MS_MAX) {
            self.keys.clear();
            self.fetched_at = None;
        }
        let since_ms = self.asked_at.map(|at| now.since(at));
        // A fetch that has not ended by then never will: what ran it was ended.
        self.asking &= since_ms.is_some_and(|since_ms| since_ms <= CALL_MS_MAX);
        let may_ask = !self.asking && since_ms.is_none_or(|ms| ms >= PROVIDER_KEYS_MS_MIN);
        let stale = age_ms.is_none_or(|age_ms| age_ms >= PROVIDER_KEYS_MS);
        let key = self.keys.iter().find(|key| key.kid == id).cloned();
        let next = match key {
            Some(key) if stale && may_ask => Next::Refresh(key),
            Some(key) => Next::Known(Some(key)),
            None if may_ask => Next::Fetch,
            None if self.asking => Next::Wait,
            None if self.fetched_at.is_some() => Next::Known(None),
            None => Next::OutOfReach,
        };
        if matches!(next, Next::Refresh(_) | Next::Fetch) {
            self.asking = true;
            self.asked_at = Some(now);
        }
        next
    }

    fn take(&mut self, fetched: Option<KeySet>, now: EpochMs) {
        self.asking = false;
        if let Some(set) = fetched {
            let usable = set.keys.into_iter().filter(PublicKey::is_of_signatures);
            self.keys = usable.take(PROVIDER_KEYS_MAX).collect();
            self.fetched_at = Some(now);
        }
    }
}

/// The key of that name in the key set at `url`; `None` when it has none.
///
/// # Errors
/// 503 while the keys cannot be had.
pub async fn key(
    handles: &RequestHandles,
    url: &str,
    id: &str,
) -> Result<Option<PublicKey>, Failure> {
    let started = now();
    let out_of_reach = || Failure::Unavailable {
        what: format!("the keys of {url}"),
    };
    loop {
        let at = now();
        let next = with(url, |keys| keys.next(id, at))?;
        match next {
            Next::Known(key) => return Ok(key),
            Next::Refresh(key) => {
                let _landing = start(handles, url);
                return Ok(Some(key));
            }
            Next::Fetch => {
                // Looked at again, whatever came of it.
                let _landed = start(handles, url).await;
            }
            Next::Wait if at.since(started) < CALL_MS_MAX => sleep(LOOK_MS).await,
            Next::Wait | Next::OutOfReach => return Err(out_of_reach()),
        }
    }
}

fn with<R>(url: &str, step: impl FnOnce(&mut Keys) -> R) -> Result<R, Failure> {
    KEYS.with(|sets| match sets.try_borrow_mut() {
        Ok(mut sets) => {
            make_room(&mut sets, url);
            Ok(step(sets.entry(url.to_owned()).or_default()))
        }
        Err(error) => Err(Failure::Internal(error.to_string())),
    })
}

/// Forgets the set that was asked for longest ago, where a policy after another has named more than fit.
fn make_room(sets: &mut Sets, url: &str) {
    if sets.contains_key(url) || sets.len() < PROVIDERS_MAX {
        return;
    }
    let oldest = sets.iter().min_by_key(|(_, keys)| keys.asked_at);
    if let Some(oldest) = oldest.map(|(url, _)| url.clone()) {
        sets.remove(&oldest);
    }
}

/// Fetches the keys, whatever becomes of the request.
fn start(handles: &RequestHandles, url: &str) -> oneshot::Receiver<()> {
    let (landed, landing) = oneshot::channel();
    let url = url.to_owned();
    handles.detach(async move {
        let fetched = match within(CALL_MS_MAX, fetch(&url)).await {
            Some(Ok(set)) => Some(set),
            Some(Err(message)) => {
                console_error!("{url}: {message}");
                None
            }
            None => {
                console_error!("{url}: no answer within {CALL_MS_MAX} ms");
                None
            }
        };
        let at = now();
        if let Err(failure) = with(&url, |keys| keys.take(fetched, at)) {
            console_error!("{url}: {failure:?}");
        }
        // The request may have stopped waiting.
        let _gone = landed.send(());
    });
    landing
}

async fn fetch(url: &str) -> Result<KeySet, String> {
    let words = |error: worker::Error| error.to_string();
    let mut init = RequestInit::new();
    init.with_method(Method::Get)
        .with_redirect(RequestRedirect::Manual);
    let request = Request::new_with_init(url, &init).map_err(words)?;
    let mut response = Fetch::Request(request).send().await.map_err(words)?;
    if response.status_code() != 200 {
        return Err(format!("answered {}", response.status_code()));
    }
    let mut stream = response.stream().map_err(words)?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(words)?;
        if bytes.len() + chunk.len() > PROVIDER_KEYS_BYTES_MAX {
            return Err(format!("is longer than {PROVIDER_KEYS_BYTES_MAX} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    json::from_slice(&bytes).map_err(|error| error.to_string())
}
