/**
 * Weir over a service binding: the methods of its entry point. They are the routes of the same names of the public interface
 * (`/openapi.json`), token included. What they take and answer has the types of Weir's client, which nothing but the compiler
 * needs.
 *
 * No method throws for a denial or for bad input: a denial is a `Decision` with `allowed: false`, and an error is a
 * `Problem`, which `isProblem` tells apart. A question may also be JSON text; the answer is text then.
 */
import type * as client from "@weir/client";

/** The binding. */
export interface Weir {
  /** Decides. A denial is an answer, not a problem. `arrival` is the `cf` of the request that the question is about:
   * the nearest region decides. */
  check(token: string, question: client.Question, arrival?: Arrival): Promise<Decision | Problem>;
  /** Decides many questions, in order. */
  checkBatch(token: string, question: { requests: client.Question[] }, arrival?: Arrival): Promise<BatchReply | Problem>;
  /** Takes a place in the queue of a `leaky_bucket`. */
  reserve(token: string, question: client.PlaceQuestion, arrival?: Arrival): Promise<Place | Problem>;
  /** Says what a reservation really cost; 0 releases it. */
  settle(token: string, question: Settlement, arrival?: Arrival): Promise<client.Settled | Problem>;
  /** Says how a request that used an overload resource came out. Needs the role service. */
  report(token: string, question: Report, arrival?: Arrival): Promise<{ reported: true } | Problem>;
  /** Takes a slot of a guard; a refusal is a problem with the status 429. */
  acquire(token: string, guard: string, question: { tenant?: string }, arrival?: Arrival): Promise<Slot | Problem>;
  /** Keeps a slot for longer. */
  renew(token: string, guard: string, question: { slot: string }, arrival?: Arrival): Promise<client.SlotState | Problem>;
  /** Gives a slot back; again changes nothing. */
  release(token: string, guard: string, question: { slot: string }, arrival?: Arrival): Promise<client.SlotState | Problem>;
}

/** Where a request arrived, in the platform's words: `request.cf` as it is. */
export interface Arrival {
  continent?: string;
  longitude?: string;
}

/** A decision. Without what the client adds: over a binding there is always an answer, if only a problem. */
export type Decision = Omit<client.Decision, "cause" | "reason"> & { reason: Exclude<client.Reason, "unreachable"> };

/** One decision for each question, in order. */
export interface BatchReply {
  decisions: Decision[];
}

/** The place, or why there is none. */
export type Place = Omit<client.Place, "cause">;

/** What a reservation came to, in units. */
export interface Settlement {
  reservation: string;
  actual: number;
}

/** How a request came out. */
export interface Report {
  resource: string;
  tenant: string;
  outcome: client.ReportedOutcome;
}

/** A slot, until it is released or lapses. */
export interface Slot {
  allowed: true;
  slot: string;
  expires_at: number;
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
