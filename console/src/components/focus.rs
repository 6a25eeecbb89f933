//! The focus, where something came that is to be read next.

use leptos::html::ElementType;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Goes to an element each time it is shown, and moves the page there.
pub fn goes_to<E>(node: NodeRef<E>)
where
    E: ElementType,
    E::Output: JsCast + Clone + AsRef<HtmlElement> + 'static,
{
    Effect::new(move |_| {
        if let Some(shown) = node.get() {
            let shown: &HtmlElement = shown.as_ref();
            let _ = shown.focus();
            shown.scroll_into_view();
        }
    });
}
