//! A container on the page, and what is mounted in it.

use std::any::Any;

use js_sys::Promise;
use leptos::prelude::*;
use leptos::tachys::view::Mountable;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, HtmlElement, HtmlInputElement, HtmlSelectElement};

/// What a test mounted; it leaves the page with this.
pub(crate) struct Mounted {
    container: HtmlElement,
    handle: Option<Box<dyn Any>>,
}

impl Mounted {
    /// Puts a view on the page.
    pub(crate) async fn new<V: IntoView + 'static>(view: impl FnOnce() -> V + 'static) -> Self
    where
        V::State: Mountable,
    {
        let container: HtmlElement = document().create_element("div").unwrap().unchecked_into();
        document().body().unwrap().append_child(&container).unwrap();
        let handle = leptos::mount::mount_to(container.clone(), view);
        settle().await;
        Self {
            container,
            handle: Some(Box::new(handle)),
        }
    }

    /// The first element that matches, which must be there.
    pub(crate) fn one(&self, css: &str) -> HtmlElement {
        let found = self.container.query_selector(css).unwrap();
        found
            .unwrap_or_else(|| panic!("no {css} in {}", self.container.inner_html()))
            .unchecked_into()
    }

    /// All elements that match.
    pub(crate) fn all(&self, css: &str) -> Vec<Element> {
        let found = self.container.query_selector_all(css).unwrap();
        (0..found.length())
            .filter_map(|index| found.item(index))
            .map(JsCast::unchecked_into)
            .collect()
    }

    /// The text of the first element that matches.
    pub(crate) fn text(&self, css: &str) -> String {
        self.one(css)
            .text_content()
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// The values of an attribute, one an element that matches.
    pub(crate) fn attributes(&self, css: &str, name: &str) -> Vec<String> {
        self.all(css)
            .iter()
            .map(|element| element.get_attribute(name).unwrap_or_default())
            .collect()
    }

    /// How many elements match.
    pub(crate) fn count(&self, css: &str) -> usize {
        self.all(css).len()
    }

    /// Presses an element.
    pub(crate) async fn press(&self, css: &str) {
        self.one(css).click();
        settle().await;
    }

    /// Types into a field.
    pub(crate) async fn enter(&self, css: &str, text: &str) {
        let field: HtmlInputElement = self.one(css).unchecked_into();
        field.set_value(text);
        field
            .dispatch_event(&web_sys::Event::new("input").unwrap())
            .unwrap();
        settle().await;
    }

    /// Chooses an option of a select.
    pub(crate) async fn choose(&self, css: &str, value: &str) {
        let select: HtmlSelectElement = self.one(css).unchecked_into();
        select.set_value(value);
        select
            .dispatch_event(&web_sys::Event::new("change").unwrap())
            .unwrap();
        settle().await;
    }

    /// The element that an attribute of another names by its id.
    pub(crate) fn named_by(&self, css: &str, attribute: &str) -> String {
        let ids = self.one(css).get_attribute(attribute).unwrap_or_default();
        let text = |id: &str| self.text(&format!("[id=\"{id}\"]"));
        ids.split(' ')
            .filter(|id| !id.is_empty())
            .map(text)
            .collect::<Vec<_>>()
            .join(" | ")
    }

    /// Waits until the first element that matches says something, for at most two seconds.
    pub(crate) async fn said(&self, css: &str) -> String {
        for _ in 0..100 {
            let found = self.container.query_selector(css).unwrap();
            let text = found
                .and_then(|element| element.text_content())
                .unwrap_or_default();
            if !text.trim().is_empty() {
                return text.trim().to_owned();
            }
            sleep(20).await;
        }
        panic!("{css} said nothing in {}", self.container.inner_html());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.handle.take();
        self.container.remove();
    }
}

/// Lets effects run.
pub(crate) async fn settle() {
    sleep(0).await;
    sleep(0).await;
}

/// Waits.
pub(crate) async fn sleep(ms: i32) {
    let promise = Promise::new(&mut |resolve, _| {
        window()
            .set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms)
            .unwrap();
    });
    JsFuture::from(promise).await.unwrap();
}

/// An owner of signals for a test; they live as long as it does.
pub(crate) fn owner() -> Owner {
    let owner = Owner::new();
    owner.set();
    owner
}
