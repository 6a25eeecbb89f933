/** A function around what is charged or held. */
import type { Decision } from "./answer.js";

/** What came of a scope: what its function returned, or why it was not called. */
export type Outcome<T> =
  | { allowed: true; decision: Decision; value: T }
  | { allowed: false; decision: Decision; value?: undefined };

/** What a scope holds. */
interface Held {
  allowed: boolean;
  decision: Decision;
}

/** The two ends of a scope. */
interface Ends {
  /** The function returned. */
  done(): Promise<unknown>;
  /** The function threw. */
  failed(): Promise<unknown>;
}

/** Runs `run` when `held` is allowed, and ends the scope whatever comes of it. What `run` throws is thrown on. */
export async function within<H extends Held, T>(
  held: H,
  ends: Ends,
  run: (held: H) => T | PromiseLike<T>,
): Promise<Outcome<T>> {
  const { decision } = held;
  if (!held.allowed) return { allowed: false, decision };
  let value: T;
  try {
    value = await run(held);
  } catch (error) {
    await ends.failed();
    throw error;
  }
  await ends.done();
  return { allowed: true, decision, value };
}
