/** What is answered in Weir's place while it is out of reach. */
import type { Decision, Place } from "./answer.js";
import { WeirError } from "./error.js";

/** Milliseconds after which to ask again, where a denial has to say something. */
const RETRY_MS = 1_000;

/** The decision of `fail`. */
export function unreachableDecision(fail: "open" | "closed", cause: WeirError): Decision {
  const allowed = fail === "open";
  const retry_after_ms = retryMs(allowed, cause);
  return {
    allowed,
    reason: "unreachable",
    limit: 0,
    remaining: 0,
    reset_at: Date.now() + retry_after_ms,
    retry_after_ms,
    binding: "",
    region: "",
    window: null,
    policy_revision: 0,
    cause,
  };
}

/** The place of `fail`: `open` lets go on at once. */
export function unreachablePlace(fail: "open" | "closed", cause: WeirError): Place {
  const accepted = fail === "open";
  return { accepted, delay_ms: 0, retry_after_ms: retryMs(accepted, cause), cause };
}

/** An answer, or what is answered in its place; an error of the request itself is thrown on. */
export async function orElse<T>(asked: Promise<T>, inItsPlace: (cause: WeirError) => T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof WeirError && error.unreachable) return inItsPlace(error);
    throw error;
  }
}

function retryMs(allowed: boolean, cause: WeirError): number {
  return allowed ? 0 : (cause.retry_after_ms ?? RETRY_MS);
}
