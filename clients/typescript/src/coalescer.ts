/** Gathers what is asked within a short time, and cuts it into batches. */

/** What bounds a batch. */
export interface Bounds {
  /** Questions, at most. */
  questions: number;
  /** Bytes of their texts, commas included, at most. One that is longer goes alone. */
  bytes: number;
}

/** A question that waits for its answer. */
export interface Waiting<A> {
  /** JSON. */
  text: string;
  resolve(answer: A): void;
  reject(error: unknown): void;
}

/** Gathers questions and hands them to `send` in batches, in their order. */
export class Coalescer<A> {
  readonly #withinMs: number;
  readonly #bounds: Bounds;
  readonly #send: (batch: Waiting<A>[]) => void;
  #open: Waiting<A>[] = [];
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `withinMs`: how long a question may wait for company; 0 until the present tick is over. */
  constructor(withinMs: number, bounds: Bounds, send: (batch: Waiting<A>[]) => void) {
    this.#withinMs = withinMs;
    this.#bounds = bounds;
    this.#send = send;
  }

  /** The answer to a question, which is JSON. */
  ask(text: string): Promise<A> {
    return new Promise((resolve, reject) => this.#add({ text, resolve, reject }));
  }

  /** Sends what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#open;
    this.#open = [];
    this.#bytes = 0;
    if (batch.length > 0) this.#send(batch);
  }

  #add(waiting: Waiting<A>): void {
    const bytes = bytesOf(waiting.text) + 1;
    if (this.#open.length > 0 && this.#bytes + bytes > this.#bounds.bytes) this.flush();
    this.#open.push(waiting);
    this.#bytes += bytes;
    if (this.#open.length >= this.#bounds.questions) this.flush();
    // A timer, not a microtask: those who were waiting for the same thing ask in microtasks of their own.
    else this.#timer ??= setTimeout(() => this.flush(), this.#withinMs);
  }
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}
