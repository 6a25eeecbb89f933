// Weir is killed in the middle of it all, and comes back.
import { client, nextLine, tell } from "./client.mjs";

const options = { timeoutMs: 15_000, retries: 1 };
const open = client({ ...options, fail: "open" });
const closed = client({ ...options, fail: "closed" });
const batching = client({ ...options, fail: "open", batchMs: 0 });
const question = { tenant: "acme", budget: "tokens", cost: 5 };

/** What each client makes of it. */
async function ask() {
  const both = await Promise.all([batching.check(question), batching.check(question)]);
  const decisions = [await open.check(question), await closed.check(question), ...both];
  return decisions.map(({ allowed, reason, retry_after_ms, cause }) => ({
    allowed, reason, retry_after_ms, cause: cause?.title,
  }));
}

tell(await ask());

// Checks never stop meanwhile: none of them throws, and each is answered one way or the other.
const reasons = new Set();
let running = true;
let pass;
const passed = new Promise((resolve) => (pass = resolve));
const traffic = Array.from({ length: 4 }, async () => {
  while (running) {
    const { allowed, reason } = await closed.check({ ...question, cost: 0 });
    reasons.add(`${reason} ${allowed}`);
    if (allowed) pass();
  }
});
let take;
const taken = new Promise((resolve) => (take = resolve));
const held = open.reserve(question, async (reservation) => {
  // Weir dies once it is told: the slot is taken before, and a check has passed.
  await Promise.all([taken, passed]);
  tell("reserved");
  await nextLine();
  reservation.used(1);
  return "kept";
});
const guarded = open.acquire({ tenant: "acme", guard: "calls" }, async (slot) => {
  take();
  await new Promise((resolve) => slot.signal.addEventListener("abort", resolve));
  return slot.signal.reason.message;
});
for (const scope of [held, guarded]) {
  scope.then(({ decision }) => {
    if (decision.reason !== "admitted") process.exit(1);
  });
}
const outcome = await held;
const lost = (await guarded).value;
const guard = { tenant: "acme", guard: "calls" };
const scopes = [open.reserve(question, () => "ran"), open.acquire(guard, () => "ran")];
const closedScopes = [closed.reserve(question, () => "ran"), closed.acquire(guard, () => "ran")];
const ran = (await Promise.all([...scopes, ...closedScopes])).map(({ value }) => value ?? null);
tell({ value: outcome.value, lost, ran, asked: await ask() });

await nextLine();
running = false;
await Promise.all(traffic);
tell({ asked: await ask(), reasons: [...reasons].sort() });
process.exit(0);
