//! Sleeps that are longer than a timer takes.

use weir_core::limits::TIMER_MS_MAX;

/// The pieces, of at most 2^31 - 1 ms each, in which a wait of `delay_ms` is slept. A timer with a longer delay fires
/// at once (HTML, section 8.6: the delay is a signed number of 32 bits).
///
/// ```
/// use weir_algorithms::sleep::sleep_chunks;
/// let thirty_days_ms = 30 * 24 * 3_600_000;
/// let pieces: Vec<u64> = sleep_chunks(thirty_days_ms).collect();
/// assert_eq!(pieces, [2_147_483_647, 444_516_353]); // together 2 592 000 000
/// assert_eq!(sleep_chunks(0).count(), 0);
/// ```
pub fn sleep_chunks(delay_ms: u64) -> impl Iterator<Item = u64> {
    let mut left_ms = delay_ms;
    std::iter::from_fn(move || {
        let piece_ms = left_ms.min(TIMER_MS_MAX);
        left_ms -= piece_ms;
        (piece_ms > 0).then_some(piece_ms)
    })
}
