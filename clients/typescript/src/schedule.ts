/** When to try again, and how long a try may take. */

/** The pause before the first retry is up to this, in milliseconds; it doubles with each further one. */
const PAUSE_MS = 50;
/** The longest pause, where the answer names none. */
const PAUSE_MS_MAX = 2_000;

/**
 * Milliseconds until the next try, after `failed` tries (from 1). What Weir said counts; else a drawn part (`random` from 0
 * to 1) of a length that doubles, so that many clients do not come back at once.
 */
export function pauseMs(failed: number, toldMs: number | undefined, random: number): number {
  if (toldMs !== undefined) return toldMs;
  return random * Math.min(PAUSE_MS * 2 ** (failed - 1), PAUSE_MS_MAX);
}

/**
 * Milliseconds that a try may take when `leftMs` are left for it and for `retries` more: an even share, so that one that hangs
 * leaves time for the next. At least 1.
 */
export function shareMs(leftMs: number, retries: number): number {
  return Math.max(1, Math.floor(leftMs / (retries + 1)));
}

/** The shortest lease of a guard, in milliseconds. */
const LEASE_MS_MIN = 100;

/**
 * Milliseconds until a slot is to be renewed: a third of its lease, so that two renewals may fail. A lease that seems shorter
 * than any is taken for the shortest: the clocks disagree.
 */
export function renewalMs(leaseMs: number): number {
  return Math.max(LEASE_MS_MIN, leaseMs) / 3;
}

/**
 * What is left of a lease that ends at `expiresAt` by Weir's clock, in milliseconds. `date` is the `Date` field of the answer,
 * which counts whole seconds: where this machine's clock is not within that second, the nearer end of it is taken for now.
 */
export function leaseMs(expiresAt: number, date: string | null, now: number): number {
  const second = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(second)) return expiresAt - now;
  return expiresAt - Math.min(Math.max(now, second), second + 1_000);
}

/** Waits; ends early, with its reason, when `signal` fires. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
