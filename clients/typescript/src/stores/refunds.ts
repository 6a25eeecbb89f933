/** Hits that may be given back. A limiter names the key alone, so the last hit of it goes first. */
import type { Decision } from "../answer.js";

/** Keys that are remembered, and hits of each. What is forgotten stays charged. */
const KEYS_MAX = 10_000;
const HITS_MAX = 100;

/** The hits of a key. */
interface Hits {
  /** Reservations, oldest first. */
  reservations: string[];
  /** Denied hits, for which nothing was charged. */
  denied: number;
}

/** What may be given back, by key. */
export class Refunds {
  /** Whether the limiter gives back denied hits, too. */
  expectsDenied = false;
  readonly #keys = new Map<string, Hits>();

  /** Remembers a hit. */
  add(key: string, { allowed, reservation }: Decision): void {
    const hits = this.#keys.get(key) ?? { reservations: [], denied: 0 };
    if (reservation !== undefined) hits.reservations.push(reservation);
    else if (!allowed && this.expectsDenied) hits.denied += 1;
    if (hits.reservations.length > HITS_MAX) hits.reservations.shift();
    this.#keep(key, hits);
    if (this.#keys.size > KEYS_MAX) this.#forgetOldest();
  }

  /** The reservation to be released; undefined when the hit had charged nothing, or is forgotten. */
  take(key: string): string | undefined {
    const hits = this.#keys.get(key);
    if (hits === undefined) return undefined;
    const reservation = hits.denied > 0 ? undefined : hits.reservations.pop();
    hits.denied = Math.max(0, hits.denied - 1);
    this.#keep(key, hits);
    return reservation;
  }

  /** As the youngest key, or not at all. */
  #keep(key: string, hits: Hits): void {
    this.#keys.delete(key);
    if (hits.denied > 0 || hits.reservations.length > 0) this.#keys.set(key, hits);
  }

  #forgetOldest(): void {
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}
