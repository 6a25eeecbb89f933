/**
 * Decisions as counts of hits: the form in which stores answer limiters of frameworks. A limiter denies when `totalHits` is
 * above its `limit`; so a denial is told as `limit + 1`, and an admission as what is not left of `limit`.
 */
import type { Decision } from "../answer.js";
import type { Question } from "../question.js";
import type { Weir } from "../weir.js";
import { Refunds } from "./refunds.js";

/** The name of a limit that counts by key, or the question that a key stands for. */
export type Asks = string | ((key: string) => Question);

/** What a limiter says of itself. */
export interface Limiter {
  /** Requests that it lets pass; a function of the request is not known here. */
  limit: unknown;
  /** Whether it gives back hits of requests that failed. */
  skipFailedRequests?: boolean;
  /** Whether it gives back hits of requests that succeeded. */
  skipSuccessfulRequests?: boolean;
}

/** What a limiter is told. */
export interface Hits {
  totalHits: number;
  resetTime: Date;
}

/** A store that asks Weir. Weir's policy decides; the limiter's own `limit` and `windowMs` only stand in header fields. */
export class HitStore {
  /** Keys are counted for all instances together. */
  readonly localKeys = false;
  /** Tells stores of two limits apart. */
  readonly prefix: string;
  readonly #weir: Weir;
  readonly #question: (key: string) => Question;
  readonly #refunds = new Refunds();
  #limit: number | undefined;
  #refunding = false;

  constructor(weir: Weir, asks: Asks) {
    this.#weir = weir;
    this.#question = typeof asks === "string" ? (key) => ({ limit: asks, key }) : asks;
    this.prefix = typeof asks === "string" ? `${asks}:` : "";
  }

  /** Hears of the limiter. */
  start(limiter: Limiter): void {
    this.#limit = typeof limiter.limit === "number" ? limiter.limit : undefined;
    this.#refunding = Boolean(limiter.skipFailedRequests || limiter.skipSuccessfulRequests);
    this.#refunds.expectsDenied = Boolean(limiter.skipFailedRequests);
  }

  /** Charges a hit. */
  async increment(key: string): Promise<Hits> {
    const question = this.#question(key);
    const decision = await this.#weir.check(this.#refunding ? { ...question, reserve: true } : question);
    if (this.#refunding) this.#refunds.add(key, decision);
    return hits(decision, this.#limit);
  }

  /** Looks without charging anything. Of several checks, or of meters, nobody can look: undefined. */
  async get(key: string): Promise<Hits | undefined> {
    const question = this.#question(key);
    if ("checks" in question || "meters" in question || "guard" in question) return undefined;
    return hits(await this.#weir.check({ ...question, cost: 0 }), this.#limit);
  }

  /** Gives the last hit of a key back. */
  async decrement(key: string): Promise<void> {
    const reservation = this.#refunds.take(key);
    if (reservation !== undefined) await this.#weir.settle(reservation, 0);
  }

  /** Refused: state is put back by operators, in the console or with `POST /operator/v1/reset`. */
  resetKey(_key: string): never {
    throw new Error("Weir's state is reset by operators: POST /operator/v1/reset");
  }
}

/** A decision as hits of a limiter that lets `limit` pass; undefined where that depends on the request. */
export function hits(decision: Decision, limit: number | undefined): Hits {
  const { allowed, remaining, reset_at, retry_after_ms } = decision;
  if (allowed) return { totalHits: Math.max(1, (limit ?? 1) - remaining), resetTime: new Date(reset_at) };
  // What could never pass is told to come back when the state is full again: `Retry-After` needs a number.
  const resetTime = new Date(retry_after_ms === null ? reset_at : Date.now() + retry_after_ms);
  return { totalHits: limit === undefined ? Number.MAX_SAFE_INTEGER : limit + 1, resetTime };
}
