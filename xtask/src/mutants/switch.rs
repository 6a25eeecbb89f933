//! What is put into the copy beside its sources: the switch that says which mutant is on.

/// Names the mutant that is on.
pub(super) const MUTANT: &str = "WEIR_MUTANT";

/// Names the file that takes the numbers of the mutants that were reached; none is on then.
pub(super) const REACHED: &str = "WEIR_MUTANTS_REACHED";

/// What the copy's crate begins with.
pub(super) const FEATURES: &str =
    "#![feature(core_intrinsics, const_eval_select)]\n#![allow(internal_features)]\n";

/// What the copy's crate ends with.
pub(super) const MODULE: &str = "\npub mod mutant;\n";

/// The module `mutant` of the copy, for `count` mutants.
///
/// What is worked out while compiling is unchanged: a mutant is on in a running program alone. The variables are read before
/// `main`, so that a test that counts allocations counts none of these.
pub(super) fn module(count: usize) -> String {
    TEMPLATE
        .replace("COUNT", &(count + 1).to_string())
        .replace("\"MUTANT\"", &format!("{MUTANT:?}"))
        .replace("\"REACHED\"", &format!("{REACHED:?}"))
}

/// The numbers in a file of those that were reached.
pub(super) fn reached(bytes: &[u8]) -> Vec<u32> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().copied().map(u32::from_le_bytes).collect()
}

const TEMPLATE: &str = r#"
use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const TRACING: u32 = u32::MAX;
static ACTIVE: AtomicU32 = AtomicU32::new(0);
static TRACE: OnceLock<File> = OnceLock::new();
static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    if let Ok(text) = std::env::var("MUTANT") {
        ACTIVE.store(text.parse().unwrap_or(0), Ordering::Relaxed);
    }
    if let Some(path) = std::env::var_os("REACHED") {
        if let Ok(file) = File::options().create(true).append(true).open(path) {
            let _ = TRACE.set(file);
            ACTIVE.store(TRACING, Ordering::Relaxed);
        }
    }
}

#[inline(always)]
pub const fn is(n: u32) -> bool {
    std::intrinsics::const_eval_select((n,), compiled, running)
}

const fn compiled(_: u32) -> bool {
    false
}

#[inline(always)]
fn running(n: u32) -> bool {
    let active = ACTIVE.load(Ordering::Relaxed);
    if active == TRACING {
        note(n);
    }
    active == n
}

#[cold]
fn note(n: u32) {
    if !SEEN[n as usize].swap(true, Ordering::Relaxed) {
        if let Some(mut file) = TRACE.get() {
            let _ = file.write_all(&n.to_le_bytes());
        }
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_holds_the_variables_and_a_place_for_each_mutant() {
        let module = module(7);
        assert!(module.contains("[AtomicBool; 8]"));
        assert!(module.contains("var(\"WEIR_MUTANT\")"));
        assert!(module.contains("var_os(\"WEIR_MUTANTS_REACHED\")"));
        assert!(syn::parse_file(&module).is_ok());
    }

    #[test]
    fn what_was_reached_is_read_back() {
        let bytes = [7_u32, 258].map(u32::to_le_bytes).concat();
        assert_eq!(reached(&bytes), [7, 258]);
        assert_eq!(reached(&bytes[..6]), [7]);
    }
}
