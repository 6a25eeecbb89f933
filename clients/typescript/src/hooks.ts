/** What an application hears of each request: for traces, logs and metrics. */
import type { WeirError } from "./error.js";

/** A request that is about to leave. */
export interface RequestEvent {
  /** Where to, such as `/v1/check`. */
  path: string;
  /** Which try it is, from 1. */
  attempt: number;
  /** What it is sent with, the token left out. What is added here is sent, too: `headers.set("traceparent", ...)`. */
  headers: Headers;
  /** The body: JSON. */
  body: string;
}

/** What came of it. */
export interface ResponseEvent {
  /** The request, the same object that `request` was given. */
  request: RequestEvent;
  /** The HTTP status; 0 when there was no answer. */
  status: number;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** What went wrong, if anything. A denial is no error. */
  error?: WeirError;
}

/** The hooks. They are called in place: slow ones slow the request. What they throw is dropped. */
export interface Hooks {
  request?(event: RequestEvent): void;
  response?(event: ResponseEvent): void;
}

/** Calls a hook; an observer never breaks what it observes. */
export function tell<E>(hook: ((event: E) => void) | undefined, event: E): void {
  try {
    hook?.(event);
  } catch {
    // Nobody to tell.
  }
}
