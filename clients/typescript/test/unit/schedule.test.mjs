// When to try again, how long a try may take, and when a slot is renewed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAfterMs } from "../../dist/error.js";
import { leaseMs, pauseMs, renewalMs, shareMs, sleep } from "../../dist/schedule.js";

test("pauses double up to two seconds, and are drawn below that", () => {
  const longest = [1, 2, 3, 4, 5, 6, 7, 8, 20].map((failed) => pauseMs(failed, undefined, 1));
  assert.deepEqual(longest, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
  assert.equal(pauseMs(3, undefined, 0), 0);
  assert.equal(pauseMs(3, undefined, 0.5), 100);
});

test("what Weir says of the next try counts", () => {
  assert.equal(pauseMs(1, 1_000, 0), 1_000);
  assert.equal(pauseMs(9, 0, 1), 0);
});

test("the tries share what is left of the deadline evenly", () => {
  assert.equal(shareMs(2_000, 0), 2_000);
  assert.equal(shareMs(2_000, 3), 500);
  assert.equal(shareMs(1_500, 2), 500);
  assert.equal(shareMs(-5, 1), 1);
});

test("Retry-After is seconds or a date, and the problem's milliseconds count more", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  assert.equal(retryAfterMs(undefined, "3", now), 3_000);
  assert.equal(retryAfterMs(250, "3", now), 250);
  assert.equal(retryAfterMs(undefined, "Thu, 01 Jan 2026 00:00:02 GMT", now), 2_000);
  assert.equal(retryAfterMs(undefined, "Wed, 31 Dec 2025 00:00:00 GMT", now), 0);
  assert.equal(retryAfterMs(undefined, "soon", now), undefined);
  assert.equal(retryAfterMs(undefined, null, now), undefined);
});

test("a slot is renewed at a third of its lease, and never in a rush", () => {
  assert.equal(renewalMs(30_000), 10_000);
  assert.equal(Math.round(renewalMs(-86_400_000)), 33);
});

test("a clock that is wrong by an hour makes a lease longer by no more than a second", () => {
  const date = "Thu, 01 Jan 2026 00:00:00 GMT";
  const second = Date.parse(date);
  const ends = second + 400 + 30_000;
  assert.equal(leaseMs(ends, date, second + 400), 30_000);
  assert.equal(leaseMs(ends, date, second - 3_600_000), 30_400);
  assert.equal(leaseMs(ends, date, second + 3_600_000), 29_400);
  assert.equal(leaseMs(ends, null, second + 400), 30_000);
  assert.equal(leaseMs(ends, "nonsense", second + 400), 30_000);
});

test("a pause ends with the caller's signal", async () => {
  const reason = new Error("enough");
  await assert.rejects(sleep(60_000, AbortSignal.abort(reason)), reason);
  const stop = new AbortController();
  const slept = sleep(60_000, stop.signal);
  stop.abort(reason);
  await assert.rejects(slept, reason);
  await sleep(1, new AbortController().signal);
});
