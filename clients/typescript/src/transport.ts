/** One call over HTTP: its tries, within its deadline. */
import { noAnswer, notWeir, refused, WeirError } from "./error.js";
import { tell, type RequestEvent } from "./hooks.js";
import { retries, timeout, type CallOptions, type Settings } from "./options.js";
import { pauseMs, shareMs, sleep } from "./schedule.js";

/** What is sent. */
export interface Call<T> {
  /** Such as `/v1/check`. */
  path: string;
  /** JSON. */
  body: string;
  /**
   * Why it may be tried again: a `key` makes Weir charge it once, by `nature` the second time changes nothing, `never` says
   * that it may not.
   */
  again: "key" | "nature" | "never";
  /** Whether the answer is one of this kind. */
  expects: (answer: unknown) => answer is T;
}

/** An answer, and Weir's clock when it was given. */
export interface Answered<T> {
  value: T;
  date: string | null;
}

/** What is tried again whatever the options say, because nothing else would happen in its place. */
const SURE_RETRIES = 2;

/** Sends a call until it is answered. Throws a `WeirError`, or the reason of the caller's signal. */
export async function send<T>(settings: Settings, call: Call<T>, options: CallOptions = {}): Promise<Answered<T>> {
  const deadline = performance.now() + timeout(options.timeoutMs ?? settings.timeoutMs);
  const more = retriesOf(settings, call, options);
  const key = keyOf(call, options, more);
  for (let failed = 0; ; ) {
    options.signal?.throwIfAborted();
    const mayTakeMs = shareMs(deadline - performance.now(), more - failed);
    const outcome = await attempt(settings, call, { key, mayTakeMs, number: failed + 1, signal: options.signal });
    if (!(outcome instanceof WeirError)) return outcome;
    failed += 1;
    const pause = pauseMs(failed, outcome.retry_after_ms, Math.random());
    const inTime = performance.now() + pause < deadline;
    if (!outcome.unreachable || failed > more || !inTime) throw outcome;
    await sleep(pause, options.signal);
  }
}

function retriesOf<T>(settings: Settings, call: Call<T>, options: CallOptions): number {
  if (call.again === "never") return 0;
  const wanted = retries(options.retries ?? settings.retries);
  return call.again === "nature" ? Math.max(wanted, SURE_RETRIES) : wanted;
}

function keyOf<T>(call: Call<T>, options: CallOptions, more: number): string | undefined {
  if (call.again !== "key") return undefined;
  return options.idempotencyKey ?? (more > 0 ? randomKey() : undefined);
}

/** 128 random bits. `crypto.randomUUID` is missing on pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface Try {
  key: string | undefined;
  mayTakeMs: number;
  number: number;
  signal: AbortSignal | undefined;
}

/** One try: an answer, or what went wrong. Throws only the reason of the caller's signal. */
async function attempt<T>(settings: Settings, call: Call<T>, one: Try): Promise<Answered<T> | WeirError> {
  const headers = new Headers({ "content-type": "application/json" });
  if (one.key !== undefined) headers.set("idempotency-key", one.key);
  const request: RequestEvent = { path: call.path, attempt: one.number, headers, body: call.body };
  tell(settings.on.request, request);
  const start = performance.now();
  const { status, outcome } = await exchange(settings, call, request, one);
  const event = { request, status, durationMs: performance.now() - start };
  const failed = outcome instanceof WeirError;
  tell(settings.on.response, failed ? { ...event, error: outcome } : event);
  return outcome;
}

async function exchange<T>(settings: Settings, call: Call<T>, request: RequestEvent, one: Try) {
  const late = AbortSignal.timeout(one.mayTakeMs);
  try {
    const sent = new Headers(request.headers);
    sent.set("authorization", `Bearer ${settings.token}`);
    const response = await settings.fetch(new URL(call.path.slice(1), settings.base), {
      method: "POST",
      headers: sent,
      body: call.body,
      // The token goes to this address and to no other.
      redirect: "manual",
      signal: one.signal ? AbortSignal.any([late, one.signal]) : late,
    });
    const outcome = read(call, response, await response.text());
    return { status: response.status, outcome };
  } catch (cause) {
    one.signal?.throwIfAborted();
    return { status: 0, outcome: noAnswer(cause) };
  }
}

function read<T>(call: Call<T>, response: Response, text: string): Answered<T> | WeirError {
  if (!response.ok) return refused(response.status, response.headers, text);
  try {
    const value: unknown = JSON.parse(text);
    if (call.expects(value)) return { value, date: response.headers.get("date") };
  } catch {
    // As any other text that is not Weir's.
  }
  return notWeir(response.status, text);
}
