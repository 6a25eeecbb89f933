/** Many checks in one request: `POST /v1/check/batch`. */
import { isDecision, isObject, type Decision } from "./answer.js";
import { notWeir, WeirError } from "./error.js";
import type { Bounds, Waiting } from "./coalescer.js";
import type { Settings } from "./options.js";
import { send, type Call } from "./transport.js";
import { unreachableDecision } from "./unreachable.js";

/** What Weir takes of a batch: 1,000 questions, and 64 KiB with the 15 bytes around them. */
export const BATCH: Bounds = { questions: 1_000, bytes: 64 * 1024 - 15 };

/** Where the question at fault is named. */
const AT = /^\/requests\/(\d+)(\/.*)?$/;

interface Decisions {
  decisions: Decision[];
}

/** Decides a batch, and answers all that wait. Never throws. */
export async function decide(settings: Settings, batch: Waiting<Decision>[]): Promise<void> {
  const deadline = performance.now() + settings.timeoutMs;
  let open = batch;
  // A question at fault has the batch refused, and nothing charged. It is told, and the others are asked again: at worst as
  // many requests as there are questions.
  while (open.length > 0) {
    const timeoutMs = Math.max(1, Math.floor(deadline - performance.now()));
    const error = await ask(settings, open, timeoutMs);
    if (error === undefined) return;
    const fault = faultIn(error, open);
    if (fault === undefined) return answerAll(settings, open, error);
    fault.waiting.reject(error instanceof WeirError ? error.at(fault.field) : error);
    open = open.filter((one) => one !== fault.waiting);
  }
}

/** Asks, and answers all; or says why there is no answer. A question that has no company is an ordinary check. */
async function ask(settings: Settings, open: Waiting<Decision>[], timeoutMs: number): Promise<unknown> {
  try {
    const [first, second] = open;
    if (first && !second) {
      first.resolve((await send(settings, checkCall(first.text), { timeoutMs })).value);
      return undefined;
    }
    const body = `{"requests":[${open.map((one) => one.text).join(",")}]}`;
    const { value } = await send(settings, call(body), { timeoutMs });
    if (value.decisions.length !== open.length) return notWeir(200, `${value.decisions.length} decisions`);
    value.decisions.forEach((decision, index) => open[index]?.resolve(decision));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** One check, which may be tried again. */
export function checkCall(body: string): Call<Decision> {
  return { path: "/v1/check", body, again: "key", expects: isDecision };
}

function call(body: string): Call<Decisions> {
  return { path: "/v1/check/batch", body, again: "never", expects: isDecisions };
}

function isDecisions(answer: unknown): answer is Decisions {
  return isObject(answer) && Array.isArray(answer["decisions"]) && answer["decisions"].every(isDecision);
}

function faultIn(error: unknown, open: Waiting<Decision>[]) {
  const named = error instanceof WeirError && !error.unreachable ? AT.exec(error.field ?? "") : null;
  const waiting = open[Number(named?.[1])];
  return waiting && { waiting, field: named?.[2] };
}

function answerAll(settings: Settings, open: Waiting<Decision>[], error: unknown): void {
  for (const one of open) {
    if (error instanceof WeirError && error.unreachable) one.resolve(unreachableDecision(settings.fail, error));
    else one.reject(error);
  }
}
