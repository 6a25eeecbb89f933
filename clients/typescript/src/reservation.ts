/** What was charged before it is known what it costs. */
import type { Decision, Settled } from "./answer.js";
import { whole } from "./options.js";
import { Slot } from "./slot.js";

/** How a reservation is settled; null when Weir could not be told. */
export type Settle = (reservation: string, actual: number) => Promise<Settled | null>;

/**
 * A reservation, to be settled at the end of its scope: to what `used` said last, in full when it was never called. Without a
 * function around it nobody can tell whether the scope failed; inside of `weir.reserve(question, run)` a `run` that throws
 * before it called `used` settles to 0.
 */
export class Reservation implements AsyncDisposable {
  /** The decision. */
  readonly decision: Decision;
  readonly #units: number;
  readonly #settle: Settle;
  readonly #slot: Slot;
  #used: number | undefined;
  #settled: Promise<Settled | null> | undefined;

  /** `units` is what a settlement in full names. */
  constructor(decision: Decision, units: number, settle: Settle, slot: Slot) {
    this.decision = decision;
    this.#units = units;
    this.#settle = settle;
    this.#slot = slot;
  }

  /** Whether the request may pass. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Fires when the slot of a guard that the question named is lost; never where it named none. */
  get signal(): AbortSignal {
    return this.#slot.signal;
  }

  /** Says what was used, in units: 0 to 2^53-1. The last word counts. More than was reserved is charged as debt. */
  used(units: number): void {
    this.#used = whole("units", units, 0, Number.MAX_SAFE_INTEGER);
  }

  /**
   * Settles now, and releases the slot where there is one; a second call changes nothing. Null when there was nothing to
   * settle, or when Weir could not be told: then all stays charged.
   */
  settle(): Promise<Settled | null> {
    return (this.#settled ??= this.#end(this.#used ?? this.#units));
  }

  /** The end of a scope that threw: what was said, else 0. */
  fail(): Promise<Settled | null> {
    return (this.#settled ??= this.#end(this.#used ?? 0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settle();
  }

  async #end(actual: number): Promise<Settled | null> {
    const { reservation } = this.decision;
    const settling = reservation === undefined ? null : this.#settle(reservation, actual);
    await this.#slot.release();
    return settling;
  }
}
