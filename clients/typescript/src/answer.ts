/**
 * What is answered. Fields are named as the HTTP interface names them and handed on untouched: one word for each thing, and what
 * a newer Weir adds is there, too. Times are epoch milliseconds, durations milliseconds.
 */
import type { WeirError } from "./error.js";

/** Why a decision came out as it did. `unreachable` is this client's own: Weir did not answer in time. */
export type Reason =
  | "admitted"
  | "over_share"
  | "cap_reached"
  | "limit_exceeded"
  | "concurrency"
  | "overloaded"
  | "unavailable"
  | "never"
  | "unreachable";

/** A decision. */
export interface Decision {
  /** Whether the request may pass. */
  allowed: boolean;
  /** Why. */
  reason: Reason;
  /** The ceiling that was compared with, in units; 0 when Weir was out of reach. */
  limit: number;
  /** Units that could still be admitted now. */
  remaining: number;
  /** When the state is back to full, or the window's expected end. */
  reset_at: number;
  /** After how long the same request could be admitted; 0 when allowed, null when it never could. */
  retry_after_ms: number | null;
  /** The name of the budget, limit, meter, guard or resource that decided; empty when Weir was out of reach. */
  binding: string;
  /** The region that decided. */
  region: string;
  /** The label of the window that was charged; null where there is none. */
  window: number | null;
  /** The revision of the policy that was applied. */
  policy_revision: number;
  /** What leads to the explanation of a denial, for whoever operates Weir. */
  decision?: string;
  /** What settles the charge, where that was asked for. */
  reservation?: string;
  /** What renews and releases the slot, where one was taken. */
  slot?: string;
  /** When the slot lapses unless it is renewed, by Weir's clock. */
  expires_at?: number;
  /** Why there was no answer, where `reason` is `unreachable`. */
  cause?: WeirError;
}

/** A place in the queue of a `leaky_bucket`, or why there is none. */
export interface Place {
  /** Whether there is a place. */
  accepted: boolean;
  /** How long to wait before going on; 0 when not accepted. */
  delay_ms: number;
  /** After how long the same request could get a place; 0 when accepted, null for never. */
  retry_after_ms: number | null;
  /** What leads to the explanation of a denial, for whoever operates Weir. */
  decision?: string;
  /** Why there was no answer, where Weir was out of reach. */
  cause?: WeirError;
}

/** What was settled, in units. */
export interface Settled {
  /** Units that were reserved. */
  reserved: number;
  /** Units that were used. */
  actual: number;
  /** Units that were given back. */
  refunded: number;
  /** Units that were charged beyond what was reserved. */
  debt: number;
}

/** A slot after it was renewed or released. */
export interface SlotState {
  /** Whether it is held. */
  held: boolean;
  /** Until when, by Weir's clock; null when it is not. */
  expires_at: number | null;
}

/** Whether an answer is a decision, and not what something else on the way said. */
export function isDecision(answer: unknown): answer is Decision {
  return isObject(answer) && typeof answer["allowed"] === "boolean" && typeof answer["reason"] === "string";
}

/** Whether an answer is a JSON object. */
export function isObject(answer: unknown): answer is Record<string, unknown> {
  return typeof answer === "object" && answer !== null && !Array.isArray(answer);
}
