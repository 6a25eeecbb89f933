//! What Workers are billed for, with any limiter, at list price in dollars.

/// CPU time of Workers. Paid with any limiter. <https://developers.cloudflare.com/workers/platform/pricing/>
const CPU_PER_MILLION_MS: f64 = 0.02;

/// Requests of Workers. Paid with any limiter.
const WORKER_REQUESTS_PER_MILLION: f64 = 0.30;

/// CPU time and requests of Workers for a million checks, in dollars.
pub fn worker_fees(cpu_ms_per_million: f64) -> (f64, f64) {
    (
        cpu_ms_per_million / 1e6 * CPU_PER_MILLION_MS,
        WORKER_REQUESTS_PER_MILLION,
    )
}
