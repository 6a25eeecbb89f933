/**
 * Weir over a service binding: what the methods of its entry point take and answer. They are the routes of the same
 * names of the public interface (`/openapi.json`), token included.
 *
 * No method throws for a denial or for bad input: a denial is a `Decision` with `allowed: false`, and an error is a
 * `Problem`, which `isProblem` tells apart. A question may also be JSON text; the answer is text then.
 */
export interface Weir {
  /** Decides. A denial is an answer, not a problem. `arrival` is the `cf` of the request that the question is about:
   * the nearest region decides. */
  check(token: string, question: CheckRequest, arrival?: Arrival): Promise<Decision | Problem>;
  /** Decides many questions, in order. */
  checkBatch(token: string, question: { requests: CheckRequest[] }, arrival?: Arrival): Promise<BatchReply | Problem>;
  /** Takes a place in the queue of a `leaky_bucket`. */
  reserve(token: string, question: ReserveRequest, arrival?: Arrival): Promise<Place | Problem>;
  /** Says what a reservation really cost; 0 releases it. */
  settle(token: string, question: { reservation: string; actual: number }, arrival?: Arrival): Promise<Settled | Problem>;
  /** Says how a request that used an overload resource came out. Needs the role service. */
  report(token: string, question: ReportRequest, arrival?: Arrival): Promise<{ reported: true } | Problem>;
  /** Takes a slot of a guard; a refusal is a problem with the status 429. */
  acquire(token: string, guard: string, question: { tenant?: string }, arrival?: Arrival): Promise<Slot | Problem>;
  /** Keeps a slot for longer. */
  renew(token: string, guard: string, question: { slot: string }, arrival?: Arrival): Promise<SlotState | Problem>;
  /** Gives a slot back; again changes nothing. */
  release(token: string, guard: string, question: { slot: string }, arrival?: Arrival): Promise<SlotState | Problem>;
}

/** Where a request arrived, in the platform's words: `request.cf` as it is. */
export interface Arrival {
  continent?: string;
  longitude?: string;
}

/** One thing to charge. Costs are whole units, 1 when absent; 0 only looks. */
export interface CheckItem {
  budget?: string;
  limit?: string;
  key?: string;
  keys?: Record<string, string>;
  meter?: string;
  meters?: Record<string, number>;
  guard?: string;
  overload?: string;
  cost?: number;
}

/** One thing at the top, or several in `checks`, all or nothing. */
export interface CheckRequest extends CheckItem {
  tenant?: string;
  checks?: CheckItem[];
  reserve?: boolean;
}

export type Reason =
  | "admitted"
  | "over_share"
  | "cap_reached"
  | "limit_exceeded"
  | "concurrency"
  | "overloaded"
  | "unavailable"
  | "never";

/** A decision. Times are epoch milliseconds; `retry_after_ms` is null for `never` alone. */
export interface Decision {
  allowed: boolean;
  limit: number;
  remaining: number;
  reset_at: number;
  retry_after_ms: number | null;
  binding: string;
  reason: Reason;
  region: string;
  window: number | null;
  policy_revision: number;
  reservation?: string;
  slot?: string;
  expires_at?: number;
}

/** One decision for each question, in order. */
export interface BatchReply {
  decisions: Decision[];
}

/** Asks for a place in a queue. */
export interface ReserveRequest {
  tenant?: string;
  limit: string;
  key?: string;
  cost?: number;
}

/** The place, or why there is none. */
export interface Place {
  accepted: boolean;
  delay_ms: number;
  retry_after_ms: number | null;
}

/** What was settled, in units. */
export interface Settled {
  reserved: number;
  actual: number;
  refunded: number;
  debt: number;
}

/** How a request came out. */
export interface ReportRequest {
  resource: string;
  tenant: string;
  outcome: "success" | "failure";
}

/** A slot, until it is released or lapses. */
export interface Slot {
  allowed: true;
  slot: string;
  expires_at: number;
}

/** A slot after it was renewed or released. */
export interface SlotState {
  held: boolean;
  expires_at: number | null;
}

/** Every error (RFC 9457). `field` is a JSON pointer to the value at fault. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  field?: string;
  retry_after_ms?: number;
}

/** Whether Weir answered with an error. */
export function isProblem(answer: object): answer is Problem {
  return "status" in answer && "type" in answer;
}
