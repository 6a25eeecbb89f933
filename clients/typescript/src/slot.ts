/** A slot of a guard: one call at a time of those that a tenant may have open. */
import type { Decision, SlotState } from "./answer.js";
import { WeirError } from "./error.js";
import { leaseMs, renewalMs } from "./schedule.js";
import type { Answered } from "./transport.js";

/** How a slot is kept and given back. */
export interface Keeping {
  renew(slot: string, timeoutMs: number): Promise<Answered<SlotState>>;
  release(slot: string): Promise<unknown>;
}

/**
 * A slot that is renewed at a third of its lease until it is released. `signal` fires when it is lost: Weir refused to renew
 * it, or its lease passed while Weir was out of reach. What it guards should stop then, for another may have the slot.
 */
export class Slot implements AsyncDisposable {
  /** The decision. */
  readonly decision: Decision;
  readonly #keeping: Keeping;
  readonly #lost = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #endsAt = Number.POSITIVE_INFINITY;
  #released: Promise<void> | undefined;

  /** `date` is Weir's clock at the decision, as the answer's `Date` field says it. */
  constructor(decision: Decision, date: string | null, keeping: Keeping) {
    this.decision = decision;
    this.#keeping = keeping;
    if (decision.slot !== undefined) this.#schedule(decision.expires_at, date);
  }

  /** Whether the request may pass. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Fires when the slot is lost; its reason is an `Error`. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Gives the slot back; a second call changes nothing. Where Weir cannot be told, the slot lapses with its lease. */
  release(): Promise<void> {
    return (this.#released ??= this.#release());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #release(): Promise<void> {
    clearTimeout(this.#timer);
    const { slot } = this.decision;
    // What is lost is not ours to give back.
    if (slot === undefined || this.signal.aborted) return;
    // It is gone at the end of its lease in any case.
    await this.#keeping.release(slot).catch(() => undefined);
  }

  #schedule(expiresAt: number | null | undefined, date: string | null): void {
    const lease = leaseMs(expiresAt ?? Date.now(), date, Date.now());
    const every = renewalMs(lease);
    this.#endsAt = performance.now() + 3 * every;
    this.#wait(every);
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#renew(ms), ms);
  }

  /** What is left of the lease, in milliseconds. */
  get #leftMs(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }

  async #renew(every: number): Promise<void> {
    try {
      const timeoutMs = Math.max(1, Math.floor(this.#leftMs));
      const { value, date } = await this.#keeping.renew(this.decision.slot ?? "", timeoutMs);
      if (this.#released) return;
      if (value.held) this.#schedule(value.expires_at, date);
      else this.#lose("The slot had lapsed.");
    } catch (error) {
      if (!this.#released) this.#missed(every, error);
    }
  }

  #missed(every: number, error: unknown): void {
    const refused = !(error instanceof WeirError && error.unreachable);
    if (refused) this.#lose("The slot was not renewed.", error);
    else if (this.#leftMs === 0) this.#lose("The lease passed without an answer.", error);
    else this.#wait(Math.min(every, this.#leftMs));
  }

  #lose(why: string, cause?: unknown): void {
    this.#lost.abort(new Error(why, { cause }));
  }
}
