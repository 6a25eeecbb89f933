//! Code that comes when a page is first visited, in a file of its own.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos::wasm_split::SplitLoaderError;

use crate::components::notice::{Notice, Severity};
use crate::components::states::Waiting;

/// What a function of another part of the code makes, or why that part is not here.
pub type Made = Result<AnyView, SplitLoaderError>;

/// A function whose code is a part of its own: `lazy!(PART, FETCH, fn NAME(ARGUMENTS) { VIEW })`. `FETCH` has the code
/// brought; `NAME` makes the view. Where the code is one whole, as for tests, both have nothing to wait for.
#[macro_export]
macro_rules! lazy {
    ($part:ident, $fetch:ident, fn $name:ident($($argument:ident: $type:ty),*) $view:block) => {
        #[cfg(feature = "split")]
        #[allow(unsafe_code, reason = "the two ends of a call from one part of the code to another")]
        #[::leptos::wasm_split::wasm_split(
            $part,
            fallible,
            wasm_split_path = ::leptos::wasm_split,
            preload($fetch)
        )]
        fn $name($($argument: $type),*) -> $crate::lazy::Made {
            Ok(::leptos::prelude::IntoAny::into_any($view))
        }
        #[cfg(not(feature = "split"))]
        async fn $fetch() -> Result<(), ::leptos::wasm_split::SplitLoaderError> {
            Ok(())
        }
        #[cfg(not(feature = "split"))]
        async fn $name($($argument: $type),*) -> $crate::lazy::Made {
            Ok(::leptos::prelude::IntoAny::into_any($view))
        }
    };
}

/// How far a part of the code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Coming,
    Here,
    Failed,
}

/// A part of the code that was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    progress: RwSignal<Progress>,
    again: Callback<()>,
}

/// Has a part of the code brought, from now on.
pub fn fetch_part<F>(fetch: fn() -> F) -> Part
where
    F: Future<Output = Result<(), SplitLoaderError>> + 'static,
{
    let progress = RwSignal::new(Progress::Coming);
    let again = Callback::new(move |()| {
        progress.set(Progress::Coming);
        spawn_local(async move {
            let now = match fetch().await {
                Ok(()) => Progress::Here,
                Err(_) => Progress::Failed,
            };
            // The page may have been left.
            progress.try_set(now);
        });
    });
    again.run(());
    Part { progress, again }
}

/// Shows what a function of a part makes, once the part is here; until then that it is coming, or that it did not.
pub fn shown_with<F>(part: Part, make: impl Fn() -> F + Send + 'static) -> impl IntoView
where
    F: Future<Output = Made>,
{
    move || match part.progress.get() {
        Progress::Coming => view! { <Waiting/> }.into_any(),
        Progress::Here => at_once(make()).unwrap_or_else(|| missing(part)),
        Progress::Failed => missing(part),
    }
}

/// What a function of a part that is here makes: there is nothing to wait for.
fn at_once(made: impl Future<Output = Made>) -> Option<AnyView> {
    match pin!(made).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(view)) => Some(view),
        Poll::Ready(Err(_)) | Poll::Pending => None,
    }
}

/// The code did not come, and what can be done.
fn missing(part: Part) -> AnyView {
    let reload = |_| drop(window().location().reload());
    view! {
        <Notice
            severity=Severity::Error
            title="This page's code did not come."
            detail="The network may be away, or another version has been deployed since the console was opened: then it takes a reload."
            testid="code-missing"
        >
            <button type="button" data-testid="retry" on:click=move |_| part.again.run(())>"Try again"</button>
            <button type="button" data-testid="reload" on:click=reload>"Reload the page"</button>
        </Notice>
    }
    .into_any()
}
