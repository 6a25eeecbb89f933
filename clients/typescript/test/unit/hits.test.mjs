// Decisions as counts of hits, and what may be given back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hits } from "../../dist/stores/hits.js";
import { Refunds } from "../../dist/stores/refunds.js";

const admitted = { allowed: true, remaining: 3, reset_at: 5_000, retry_after_ms: 0 };
const denied = { allowed: false, remaining: 0, reset_at: 5_000, retry_after_ms: 250 };

test("a denial is above any limit, an admission is not", () => {
  assert.equal(hits(admitted, 10).totalHits, 7);
  assert.equal(hits({ ...admitted, remaining: 50 }, 10).totalHits, 1);
  assert.equal(hits(denied, 10).totalHits, 11);
  assert.equal(hits(admitted, undefined).totalHits, 1);
  assert.equal(hits(denied, undefined).totalHits, Number.MAX_SAFE_INTEGER);
});

test("the reset of a denial is when it could pass", () => {
  assert.equal(hits(admitted, 10).resetTime.getTime(), 5_000);
  const soon = hits(denied, 10).resetTime.getTime() - Date.now();
  assert.ok(soon > 200 && soon <= 250, `${soon}`);
  assert.equal(hits({ ...denied, retry_after_ms: null }, 10).resetTime.getTime(), 5_000);
});

test("the last hit is given back first, each once, and a denied one gives back nothing", () => {
  const refunds = new Refunds();
  refunds.expectsDenied = true;
  for (const reservation of ["a", "b"]) refunds.add("k", { allowed: true, reservation });
  refunds.add("k", { allowed: false });
  const taken = [1, 2, 3, 4].map(() => refunds.take("k"));
  assert.deepEqual(taken, [undefined, "b", "a", undefined]);
  assert.equal(refunds.take("other"), undefined);
});

test("hits are bounded, by key and in all", () => {
  const refunds = new Refunds();
  for (let index = 0; index < 150; index += 1) refunds.add("k", { allowed: true, reservation: `${index}` });
  const taken = Array.from({ length: 150 }, () => refunds.take("k")).filter(Boolean);
  assert.deepEqual([taken.length, taken[0], taken.at(-1)], [100, "149", "50"]);
  for (let index = 0; index <= 10_000; index += 1) refunds.add(`${index}`, { allowed: true, reservation: "r" });
  assert.equal(refunds.take("0"), undefined);
  assert.equal(refunds.take("1"), "r");
});
