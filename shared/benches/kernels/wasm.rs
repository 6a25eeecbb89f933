//! The kernels as a module for V8: made group by group, run as often as is asked.

#![cfg(target_arch = "wasm32")]

mod kernel;

use std::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use self::kernel::{GROUPS, Kernel};

thread_local! {
    static GROUP: RefCell<Vec<Kernel>> = const { RefCell::new(Vec::new()) };
}

/// Makes the kernels of a group in place of those before, and tells their names, a line each; nothing after the last
/// group.
#[wasm_bindgen]
pub fn make(group: usize) -> String {
    GROUP.with_borrow_mut(|kernels| {
        kernels.clear();
        if let Some((_, make)) = GROUPS.get(group) {
            *kernels = make();
        }
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        names.join("\n")
    })
}

/// Runs a kernel of the group so many times.
#[wasm_bindgen]
pub fn run(kernel: usize, times: u32) {
    GROUP.with_borrow_mut(|kernels| kernels[kernel].run(times.into()));
}
