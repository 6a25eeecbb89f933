//! A container on the page, what is mounted in it, and figures to show.

use std::any::Any;
use std::sync::Arc;

use js_sys::Promise;
use leptos::prelude::*;
use leptos::tachys::view::Mountable;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, HtmlElement, HtmlInputElement};
use weir_console::overview::Overview;
use weir_console::rates::RateWindow;
use weir_shared::wire::accounting::{ANONYMOUS, OTHERS};

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

/// Five rows in three regions, one of them out of reach; `growth` more calls for each tenant than in the poll before.
pub(crate) fn overview(growth: u128) -> Arc<Overview> {
    let mut window = RateWindow::default();
    let (before, after) = (reply(1_000, 0), reply(2_000, growth));
    window.push(Arc::new(serde_json::from_value(before).unwrap()));
    let after = Arc::new(serde_json::from_value(after).unwrap());
    window.push(Arc::clone(&after));
    Arc::new(Overview::new(&after, &window.rates()))
}

fn reply(at: u64, growth: u128) -> serde_json::Value {
    let tally = |calls: u128, denied: u128| {
        serde_json::json!({
            "admitted_calls": (calls + growth) as u64, "admitted_units": (10 * (calls + growth)) as u64,
            "denied_calls": denied as u64, "denied_units": (10 * denied) as u64,
        })
    };
    let tenant = |name: &str, tier: Option<&str>, calls: u128, denied: u128| {
        let units = 10 * (calls + growth) as u64;
        serde_json::json!({
            "tenant": name, "tier": tier, "weight": 1.5, "total": tally(calls, denied),
            "budgets": {"tokens": {"weight": 1.5, "guarantee": 0, "used": units, "borrowed": units,
                                   "denied": denied as u64, "total": tally(calls, denied)}},
            "limits": {"per_ip": tally(0, 3)},
        })
    };
    serde_json::json!({
        "at": at, "policy_revision": 7, "enforcing": true,
        "regions": [
            {"region": "weur", "reachable": true, "total": tally(1_234_567, 0)},
            {"region": "enam", "reachable": true, "total": tally(0, 45_678)},
            {"region": "apac", "reachable": false, "total": {}},
        ],
        "tenants": [
            tenant("acme", Some("pro"), 1_000, 0),
            tenant("flood", Some("free"), 500, 9_999),
            tenant("others", Some("free"), 10, 0),
            tenant(OTHERS, None, 2_000, 1),
            tenant(ANONYMOUS, None, 1, 2),
        ],
    })
}
