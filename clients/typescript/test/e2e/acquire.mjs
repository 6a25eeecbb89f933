// A slot that is kept for longer than its lease, given back, and lost.
import { setTimeout as wait } from "node:timers/promises";
import { client, tell } from "./client.mjs";
import { slotInABlock } from "../../build/application.js";

const paths = [];
const weir = client({ on: { response: ({ request, status }) => paths.push(`${request.path} ${status}`) } });
const question = { tenant: "acme", guard: "calls" };
const told = {};

/** Longer than the lease of six seconds. */
const LONG_MS = 8_000;

const held = await weir.acquire(question, async (slot) => {
  await wait(LONG_MS);
  const other = await weir.acquire(question, () => "it is not called");
  return { lost: slot.signal.aborted, other: other.decision.reason, ran: other.value };
});
told.held = held.value;
told.renewals = paths.filter((path) => path === "/v1/guards/calls/renew 200").length;
told.released = paths.at(-1);

let thrown;
await weir.acquire(question, () => Promise.reject(new Error("inside"))).catch((error) => (thrown = error.message));
told.thrown = thrown;
told.block = await slotInABlock(weir, question);

const lost = await weir.acquire(question, async (slot) => {
  // Somebody else gives it back.
  await weir.release("calls", slot.decision.slot);
  const reason = await new Promise((resolve) => {
    slot.signal.addEventListener("abort", () => resolve(slot.signal.reason.message));
    wait(20_000, undefined, { ref: false }).then(() => resolve("nothing fired"));
  });
  paths.length = 0;
  return reason;
});
told.lost = lost.value;
told.after = paths;
tell(told);
