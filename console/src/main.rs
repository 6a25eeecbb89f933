//! Starts the console in a browser.

#[cfg(target_arch = "wasm32")]
fn main() {
    std::panic::set_hook(Box::new(|panic| {
        web_sys::console::error_1(&panic.to_string().into());
        if let Some(notice) = leptos::prelude::document().get_element_by_id("stopped") {
            let _ = notice.remove_attribute("hidden");
        }
    }));
    if let Some(placeholder) = leptos::prelude::document().get_element_by_id("starting") {
        placeholder.remove();
    }
    leptos::mount::mount_to_body(weir_console::app::App);
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    println!("The console runs in a browser: `cargo xtask build` makes its page.");
}
