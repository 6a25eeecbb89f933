/** The client. */
import { isObject, type Decision, type Place, type Settled, type SlotState } from "./answer.js";
import { BATCH, checkCall, decide } from "./batch.js";
import { Coalescer } from "./coalescer.js";
import { WeirError } from "./error.js";
import { settings, type CallOptions, type Settings, type WeirOptions } from "./options.js";
import { guardOf, unitsOf, type OfGuard, type PlaceQuestion, type Question, type ReportedOutcome } from "./question.js";
import { Reservation } from "./reservation.js";
import { within, type Outcome } from "./scope.js";
import { Slot } from "./slot.js";
import { send, type Answered, type Call } from "./transport.js";
import { orElse, unreachableDecision, unreachablePlace } from "./unreachable.js";

/**
 * Asks Weir. One client serves a whole process; it keeps nothing but its options and, with `batchMs`, the checks that wait.
 *
 * Each call throws a `WeirError` when the request itself is at fault (a name that the policy does not have, a token that is not
 * valid), and never because Weir is out of reach: `fail` decides then.
 */
export class Weir {
  readonly #settings: Settings;
  readonly #coalescer: Coalescer<Decision> | undefined;

  constructor(options: WeirOptions) {
    const checked = settings(options);
    this.#settings = checked;
    if (checked.batchMs !== undefined) this.#coalescer = this.#gatherer(checked.batchMs);
  }

  /** Decides. A denial is an answer. With options of its own a check is never part of a batch. */
  async check(question: Question, options?: CallOptions): Promise<Decision> {
    if (this.#coalescer && options === undefined) return this.#coalescer.ask(JSON.stringify(question));
    return (await this.#decision(question, options)).value;
  }

  /**
   * Decides many in as few requests as they fit in: 1,000 and 64 KiB each. The answers are in the order of the questions. One at
   * fault has its `WeirError` in the place of a decision, and harms no other.
   */
  async batch(questions: Iterable<Question>): Promise<(Decision | WeirError)[]> {
    const texts = Array.from(questions, (question) => JSON.stringify(question));
    const gatherer = this.#gatherer(0);
    const asked = texts.map((text) => gatherer.ask(text).catch(wrong));
    gatherer.flush();
    return Promise.all(asked);
  }

  /**
   * Charges what a call may cost at most, runs it, and settles what it did cost: to what `reservation.used(units)` said last;
   * when it said nothing, in full if `run` returned and to 0 if it threw. Denied, `run` is not called.
   *
   * A guard among the question's checks is renewed meanwhile and released at the end. A settlement that does not reach Weir
   * leaves all charged, and is no error.
   */
  reserve<T>(
    question: Question,
    run: (reservation: Reservation) => T | PromiseLike<T>,
    options?: CallOptions,
  ): Promise<Outcome<T>>;
  /** The same for `await using`: settled at the end of the block, in full unless `used` was called. */
  reserve(question: Question, options?: CallOptions): Promise<Reservation>;
  async reserve<T>(
    question: Question,
    run?: CallOptions | ((reservation: Reservation) => T | PromiseLike<T>),
    options?: CallOptions,
  ): Promise<Outcome<T> | Reservation> {
    if (typeof run !== "function") return this.#reservation(question, run);
    const held = await this.#reservation(question, options);
    return within(held, { done: () => held.settle(), failed: () => held.fail() }, run);
  }

  /**
   * Takes a slot of a guard, runs `run`, and gives the slot back. Meanwhile the slot is renewed at a third of its lease;
   * `slot.signal` fires when it is lost. Denied, `run` is not called.
   */
  acquire<T>(
    question: { tenant?: string } & OfGuard,
    run: (slot: Slot) => T | PromiseLike<T>,
    options?: CallOptions,
  ): Promise<Outcome<T>>;
  /** The same for `await using`: released at the end of the block. */
  acquire(question: { tenant?: string } & OfGuard, options?: CallOptions): Promise<Slot>;
  async acquire<T>(
    question: { tenant?: string } & OfGuard,
    run?: CallOptions | ((slot: Slot) => T | PromiseLike<T>),
    options?: CallOptions,
  ): Promise<Outcome<T> | Slot> {
    if (typeof run !== "function") return this.#slot(question, await this.#decision(question, run));
    const held = this.#slot(question, await this.#decision(question, options));
    const release = () => held.release();
    return within(held, { done: release, failed: release }, run);
  }

  /** Takes a place in the queue of a `leaky_bucket`; whoever has it waits `delay_ms` and goes on. */
  place(question: PlaceQuestion, options?: CallOptions): Promise<Place> {
    const call = { path: "/v1/reserve", body: JSON.stringify(question), again: "key", expects: isPlace } as const;
    const asked = send(this.#settings, call, options).then(({ value }) => value);
    return orElse(asked, (cause) => unreachablePlace(this.#settings.fail, cause));
  }

  /** Says what a reservation came to, in units; 0 releases it. Null when Weir could not be told: then all stays charged. */
  settle(reservation: string, actual: number, options?: CallOptions): Promise<Settled | null> {
    const body = JSON.stringify({ reservation, actual });
    const call = { path: "/v1/settle", body, again: "nature", expects: isSettled } as const;
    const asked = send(this.#settings, call, options).then(({ value }): Settled | null => value);
    return orElse(asked, () => null);
  }

  /** Gives a slot back that a check took; again changes nothing. Null when Weir could not be told: it lapses then. */
  release(guard: string, slot: string, options?: CallOptions): Promise<SlotState | null> {
    const asked = this.#change(guard, "release", slot, options).then(({ value }): SlotState | null => value);
    return orElse(asked, () => null);
  }

  /**
   * Says how a request to an overloaded resource came out. Needs the role service. False when Weir could not be told; it is not
   * told again, as it might have heard it.
   */
  report(resource: string, tenant: string, outcome: ReportedOutcome, options?: CallOptions): Promise<boolean> {
    const body = JSON.stringify({ resource, tenant, outcome });
    const call = { path: "/v1/report", body, again: "never", expects: isObject } as const;
    return orElse(send(this.#settings, call, options).then(() => true), () => false);
  }

  #gatherer(withinMs: number): Coalescer<Decision> {
    return new Coalescer(withinMs, BATCH, (batch) => void decide(this.#settings, batch));
  }

  /** The decision, and Weir's clock. */
  #decision(question: Question, options?: CallOptions): Promise<Answered<Decision>> {
    const call = checkCall(JSON.stringify(question));
    return orElse(send(this.#settings, call, options), (cause) => ({
      value: unreachableDecision(this.#settings.fail, cause),
      date: null,
    }));
  }

  async #reservation(question: Question, options?: CallOptions): Promise<Reservation> {
    const answered = await this.#decision({ ...question, reserve: true }, options);
    const slot = this.#slot(question, answered);
    // A reservation that is not known, or whose time is over, stays charged as well.
    const settle = (text: string, actual: number) => this.settle(text, actual).catch(() => null);
    return new Reservation(answered.value, unitsOf(question), settle, slot);
  }

  #slot(question: Question, { value, date }: Answered<Decision>): Slot {
    const guard = guardOf(question) ?? "";
    return new Slot(value, date, {
      renew: (slot, timeoutMs) => this.#change(guard, "renew", slot, { timeoutMs }),
      release: (slot) => this.release(guard, slot),
    });
  }

  #change(
    guard: string,
    what: "renew" | "release",
    slot: string,
    options?: CallOptions,
  ): Promise<Answered<SlotState>> {
    const path = `/v1/guards/${encodeURIComponent(guard)}/${what}`;
    const call: Call<SlotState> = { path, body: JSON.stringify({ slot }), again: "nature", expects: isSlotState };
    return send(this.#settings, call, options);
  }
}

/** What is wrong with a request; all else is thrown on. */
function wrong(error: unknown): WeirError {
  if (error instanceof WeirError) return error;
  throw error;
}

function isPlace(answer: unknown): answer is Place {
  return isObject(answer) && typeof answer["accepted"] === "boolean";
}

function isSettled(answer: unknown): answer is Settled {
  return isObject(answer) && typeof answer["actual"] === "number";
}

function isSlotState(answer: unknown): answer is SlotState {
  return isObject(answer) && typeof answer["held"] === "boolean";
}
