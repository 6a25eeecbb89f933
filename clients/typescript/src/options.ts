/** How a client is set up. */
import type { Hooks } from "./hooks.js";

/** The options of a client. */
export interface WeirOptions {
  /** Where Weir is, such as `https://weir.example.com`. */
  url: string | URL;
  /** A token of the role service, or of one tenant. */
  token: string;
  /** What a check is answered with while Weir is out of reach: `open` lets pass, `closed` denies. There is no default. */
  fail: "open" | "closed";
  /** Milliseconds that a call may take, its retries included: 1 to 2^31-1, 2000 when absent. */
  timeoutMs?: number;
  /**
   * How often a check is tried again: 0 to 10, 0 when absent. Above 0 every check carries an `Idempotency-Key`, so that it is
   * charged once however often it is tried; that costs Weir a row a check, and the check a call to the object that keeps it.
   */
  retries?: number;
  /**
   * Milliseconds within which checks are gathered into one request; 0 gathers those of one tick. Absent: each is a request of
   * its own. A batch carries no `Idempotency-Key` and is never tried again.
   */
  batchMs?: number;
  /** Another `fetch`, such as one with an agent or a proxy. */
  fetch?: typeof fetch;
  /** Called before each request and after it. */
  on?: Hooks;
}

/** What one call may say otherwise. */
export interface CallOptions {
  /** Milliseconds that the call may take, its retries included. */
  timeoutMs?: number;
  /** How often it is tried again: 0 to 10. */
  retries?: number;
  /** Ends the call, with an exception: the signal's reason. */
  signal?: AbortSignal;
  /** The key by which Weir knows the call again, within 10 minutes: 1 to 128 bytes. Made up when absent and needed. */
  idempotencyKey?: string;
}

/** The options, checked and complete. */
export interface Settings {
  base: URL;
  token: string;
  fail: "open" | "closed";
  timeoutMs: number;
  retries: number;
  batchMs: number | undefined;
  fetch: typeof fetch;
  on: Hooks;
}

const TIMEOUT_MS = 2_000;
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const RETRIES_MAX = 10;
const BATCH_MS_MAX = 10_000;

/** Checks the options; throws a `TypeError` or a `RangeError` that names the one at fault. */
export function settings(options: WeirOptions): Settings {
  const { url, token, fail, batchMs } = options;
  if (typeof token !== "string" || token === "") throw new TypeError("token: a text is needed");
  if (fail !== "open" && fail !== "closed") throw new TypeError('fail: "open" or "closed" is needed');
  return {
    base: baseOf(url),
    token,
    fail,
    timeoutMs: timeout(options.timeoutMs ?? TIMEOUT_MS),
    retries: retries(options.retries ?? 0),
    batchMs: batchMs === undefined ? undefined : whole("batchMs", batchMs, 0, BATCH_MS_MAX),
    // Called as a plain function: a `fetch` that is a method of anything but the global object refuses to work.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    on: options.on ?? {},
  };
}

/** A checked time-out of a call. */
export function timeout(ms: number): number {
  return whole("timeoutMs", ms, 1, TIMEOUT_MS_MAX);
}

/** A checked number of retries. */
export function retries(count: number): number {
  return whole("retries", count, 0, RETRIES_MAX);
}

/** A whole number between two bounds, both included. */
export function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name}: a whole number from ${least} to ${most} is needed, not ${value}`);
}

function baseOf(url: string | URL): URL {
  const base = new URL(url);
  if (base.protocol !== "https:" && base.protocol !== "http:") throw new TypeError("url: https: or http: is needed");
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}
