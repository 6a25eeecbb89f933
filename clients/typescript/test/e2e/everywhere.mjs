// What the client does alike in every runtime: its calls, a denial, and a Weir that is out of reach.
import { Weir, WeirError } from "@weir/client";
import { settledLeft } from "./left.mjs";

const tenant = "acme";
const question = { tenant, budget: "tokens", cost: 10 };
const guard = { tenant, guard: "calls" };

/** What an error says of itself, or what was answered instead. */
async function errorOf(promise) {
  try {
    return { answered: await promise };
  } catch (error) {
    if (!(error instanceof WeirError)) return { name: error.name };
    return { status: error.status, field: error.field };
  }
}

/** The decisions of both words of `fail`. */
async function outOfReach(client, options) {
  const told = [];
  for (const fail of ["open", "closed"]) {
    const { allowed, reason, retry_after_ms, cause } = await client({ ...options, fail }).check(question);
    told.push({ allowed, reason, retry_after_ms, status: cause.status, title: cause.title, detail: cause.detail });
  }
  return told;
}

/**
 * Does all of it. Weir is at `url`. Nobody listens at `gone`, nobody answers at `silent`, and at `busy` the second and every
 * later request is denied with `Retry-After`. `fetch` is how Weir is reached; the global one when absent.
 */
export async function everywhere({ url, gone, silent, busy, token, fetch }) {
  const client = (options) => new Weir({ url, token, fetch, fail: "closed", timeoutMs: 20_000, ...options });
  const requests = [];
  const on = { request: ({ path }) => requests.push(path) };
  const weir = client({ on });
  const batching = client({ on, batchMs: 0 });
  const told = {};

  const { allowed, reason, remaining } = await weir.check(question);
  told.check = { allowed, reason, remaining };
  const denied = await weir.check({ ...question, cost: 995 });
  told.denied = { allowed: denied.allowed, reason: denied.reason, later: denied.retry_after_ms > 0 };
  requests.length = 0;
  const together = await Promise.all([batching.check(question), batching.check(question)]);
  told.batch = together.map((decision) => decision.remaining);
  told.requests = requests.splice(0);
  told.listed = (await weir.batch([{ ...question, cost: 0 }, { ...question, cost: -1 }])).map((one) => one.status ?? one.reason);
  requests.length = 0;
  told.again = (await weir.check(question, { retries: 1 })).remaining;

  told.reserved = (await weir.reserve(question, (reservation) => reservation.used(4))).allowed;
  told.threw = await weir.reserve(question, () => Promise.reject(new Error("run"))).catch((error) => error.message);
  const other = async () => (await weir.check(guard)).reason;
  told.acquired = (await weir.acquire(guard, other)).value;
  told.released = (await weir.acquire(guard, (slot) => slot.signal.aborted)).value;
  told.place = await weir.place({ limit: "shape", key: "k" });
  told.reported = await errorOf(weir.report("origin", tenant, "success"));
  told.wrong = await errorOf(weir.check({ ...question, cost: -1 }));
  told.aborted = await errorOf(weir.check(question, { signal: AbortSignal.abort() }));
  told.left = await settledLeft(weir, 956);

  told.gone = await outOfReach(client, { url: gone });
  told.ran = (await client({ url: gone, fail: "open" }).reserve(question, () => "ran")).value;
  told.late = await outOfReach(client, { url: silent, timeoutMs: 300 });
  told.notWeir = (await client({ url: busy }).check(question)).cause.title;
  told.busy = await outOfReach(client, { url: busy });
  return told;
}
