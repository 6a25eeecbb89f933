//! The components, in a browser.
#![cfg(target_arch = "wasm32")]

mod app;
mod dialogs;
mod fields;
mod states;
mod support;
mod toasts;

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);
