// What is asked together leaves together, within the bounds of a batch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as tick, setTimeout as wait } from "node:timers/promises";
import { Coalescer } from "../../dist/coalescer.js";

/** A coalescer, and the batches that left it. */
function gather(withinMs, bounds = {}) {
  const batches = [];
  const send = (batch) => {
    batches.push(batch.map((one) => one.text));
    for (const one of batch) one.resolve(`answer to ${one.text}`);
  };
  return { batches, coalescer: new Coalescer(withinMs, { questions: 1_000, bytes: 65_536, ...bounds }, send) };
}

test("what is asked in one tick is one batch, and each is given its own answer", async () => {
  const { batches, coalescer } = gather(0);
  const answers = await Promise.all(["a", "b", "c"].map((text) => coalescer.ask(text)));
  assert.deepEqual(batches, [["a", "b", "c"]]);
  assert.deepEqual(answers, ["answer to a", "answer to b", "answer to c"]);
});

test("what is asked in microtasks of one tick is in it, too", async () => {
  const { batches, coalescer } = gather(0);
  const later = async (text) => {
    await null;
    await null;
    return coalescer.ask(text);
  };
  await Promise.all([later("a"), coalescer.ask("b"), later("c")]);
  assert.deepEqual(batches, [["b", "a", "c"]]);
});

test("the next tick is the next batch", async () => {
  const { batches, coalescer } = gather(0);
  await coalescer.ask("a");
  await coalescer.ask("b");
  assert.deepEqual(batches, [["a"], ["b"]]);
});

test("a longer time gathers what comes within it", async () => {
  const { batches, coalescer } = gather(200);
  const first = coalescer.ask("a");
  await tick();
  await wait(5);
  assert.deepEqual(batches, []);
  await Promise.all([first, coalescer.ask("b")]);
  assert.deepEqual(batches, [["a", "b"]]);
});

test("a full batch leaves at once", async () => {
  const { batches, coalescer } = gather(60_000, { questions: 2 });
  const asked = ["a", "b", "c", "d"].map((text) => coalescer.ask(text));
  assert.deepEqual(batches, [["a", "b"], ["c", "d"]]);
  await Promise.all(asked);
});

test("what there is leaves at once when it is sent, and nothing leaves twice or empty", async () => {
  const { batches, coalescer } = gather(0, { questions: 2 });
  const asked = ["a", "b", "c"].map((text) => coalescer.ask(text));
  coalescer.flush();
  coalescer.flush();
  assert.deepEqual(batches, [["a", "b"], ["c"]]);
  await Promise.all(asked);
  await wait(5);
  assert.equal(batches.length, 2);
});

test("bytes are those of UTF-8 with a comma each, and one that is too long goes alone", async () => {
  const { batches, coalescer } = gather(0, { bytes: 10 });
  const asked = ["aaaa", "\u00fc\u00fc", "b", "x".repeat(50), "c"].map((text) => coalescer.ask(text));
  await Promise.all(asked);
  assert.deepEqual(batches, [["aaaa", "\u00fc\u00fc"], ["b"], ["x".repeat(50)], ["c"]]);
});
