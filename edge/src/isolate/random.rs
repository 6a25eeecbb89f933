//! Random numbers of the platform's cryptographic generator, drawn many at a time: a call for each would cost more than
//! the number.

use std::cell::RefCell;

use wasm_bindgen::throw_str;

/// Numbers that are drawn at a time.
const DRAWN: usize = 64;

thread_local! {
    /// Random values are refused while the module loads, so the first are drawn in the first request.
    static LEFT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A number that nobody can guess, of 53 bits: it is exact in JSON.
pub fn random() -> u64 {
    let take = || LEFT.with(|left| left.try_borrow_mut().ok()?.pop());
    take().unwrap_or_else(|| {
        let mut bytes = [0; DRAWN * size_of::<u64>()];
        if getrandom::fill(&mut bytes).is_err() {
            // There is no platform without; a number that can be guessed would be worse than no answer.
            throw_str("no random numbers");
        }
        let (chunks, _) = bytes.as_chunks();
        let mut drawn: Vec<u64> = chunks
            .iter()
            .map(|chunk| u64::from_le_bytes(*chunk) >> 11)
            .collect();
        let number = drawn.pop().unwrap_or_default();
        LEFT.with(|left| {
            if let Ok(mut left) = left.try_borrow_mut() {
                *left = drawn;
            }
        });
        number
    })
}
