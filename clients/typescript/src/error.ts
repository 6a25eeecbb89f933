/** What goes wrong. */
import { isObject } from "./answer.js";

/** The fields of a problem (RFC 9457). */
interface Problem {
  status: number;
  type: string;
  title: string;
  detail: string;
  field?: string | undefined;
  retry_after_ms?: number | undefined;
  decision?: string | undefined;
}

/** Answers that say nothing of the request, only of the moment. A 409 of this kind says that its first try is under way. */
const LATER = new Set([408, 425, 429]);
const UNDER_WAY = "/problems/under-way";

/** Weir refused a request, or did not answer it. */
export class WeirError extends Error {
  override readonly name = "WeirError";
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** The kind of problem, such as `/problems/invalid`; `about:blank` when the answer was not Weir's. */
  readonly type: string;
  /** The kind in a few words. */
  readonly title: string;
  /** What was wrong this time. */
  readonly detail: string;
  /** JSON pointer to the value at fault in the question, such as `/checks/1/cost`. */
  readonly field: string | undefined;
  /** Milliseconds after which to try again, where the answer said so. */
  readonly retry_after_ms: number | undefined;
  /** What leads to the explanation of a denial, where a rule denied. */
  readonly decision: string | undefined;

  constructor(problem: Problem, options?: { cause?: unknown }) {
    super(`${problem.title}: ${problem.detail}${problem.field === undefined ? "" : ` (${problem.field})`}`, options);
    this.status = problem.status;
    this.type = problem.type;
    this.title = problem.title;
    this.detail = problem.detail;
    this.field = problem.field;
    this.retry_after_ms = problem.retry_after_ms;
    this.decision = problem.decision;
  }

  /** Whether Weir is out of reach: no answer, or one that says to try later. Otherwise the request itself is at fault. */
  get unreachable(): boolean {
    const { status } = this;
    return status < 300 || status >= 500 || LATER.has(status) || (status === 409 && this.type === UNDER_WAY);
  }

  /** The same with another field. */
  at(field: string | undefined): WeirError {
    return new WeirError({ ...this.#problem(), field }, { cause: this.cause });
  }

  #problem(): Problem {
    const { status, type, title, detail, field, retry_after_ms, decision } = this;
    return { status, type, title, detail, field, retry_after_ms, decision };
  }
}

/** No answer came: the connection failed, or the deadline passed. */
export function noAnswer(cause: unknown): WeirError {
  const late = cause instanceof Error && cause.name === "TimeoutError";
  const detail = late ? "The deadline passed." : String(cause);
  return new WeirError({ status: 0, type: "about:blank", title: "Weir did not answer", detail }, { cause });
}

/** An answer with a status of success that is not one of Weir's. */
export function notWeir(status: number, text: string): WeirError {
  return new WeirError({ status, type: "about:blank", title: "The answer is not Weir's", detail: text.slice(0, 200) });
}

/** The answer to a request that was refused. */
export function refused(status: number, headers: Headers, text: string): WeirError {
  const told = problemIn(text);
  return new WeirError({
    status,
    type: word(told["type"]) ?? "about:blank",
    title: word(told["title"]) ?? `HTTP ${status}`,
    detail: word(told["detail"]) ?? text.slice(0, 200),
    field: word(told["field"]),
    retry_after_ms: retryAfterMs(told["retry_after_ms"], headers.get("retry-after"), Date.now()),
    decision: word(told["decision"]),
  });
}

/** Milliseconds to wait: those of the problem, else `Retry-After` in seconds or as a date. */
export function retryAfterMs(told: unknown, header: string | null, now: number): number | undefined {
  if (typeof told === "number") return told;
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function problemIn(text: string): Record<string, unknown> {
  try {
    const told: unknown = JSON.parse(text);
    return isObject(told) ? told : {};
  } catch {
    return {};
  }
}

function word(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
