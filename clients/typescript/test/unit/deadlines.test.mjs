// A call ends in its time, on a real socket that takes everything and answers nothing.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { Weir } from "../../dist/index.js";

const sockets = new Set();
const server = createServer((socket) => sockets.add(socket));
before(() => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const question = { tenant: "acme", budget: "tokens" };

function silent(options) {
  return new Weir({ url: `http://127.0.0.1:${server.address().port}`, token: "t", fail: "open", ...options });
}

test("a call that nobody answers is decided by `fail` when its time is over", async () => {
  const start = performance.now();
  const open = await silent({ timeoutMs: 150 }).check(question);
  const took = performance.now() - start;
  assert.equal(open.allowed, true);
  assert.equal(open.reason, "unreachable");
  assert.equal(open.retry_after_ms, 0);
  assert.equal(open.cause.status, 0);
  assert.equal(open.cause.detail, "The deadline passed.");
  assert.ok(took >= 140 && took < 5_000, `${took}`);
  const closed = await silent({ timeoutMs: 150, fail: "closed" }).check(question);
  assert.equal(closed.allowed, false);
  assert.equal(closed.retry_after_ms, 1_000);
});

test("a try that hangs leaves time for the next, with the same key", async () => {
  const keys = [];
  const on = { request: ({ headers }) => keys.push(headers.get("idempotency-key")) };
  await silent({ timeoutMs: 900, retries: 2, on }).check(question);
  assert.equal(keys.length, 3);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.deepEqual(new Set(keys).size, 1);
});

test("a batch is not tried again, and each of its checks is decided by `fail`", async () => {
  const paths = [];
  const on = { request: ({ path }) => paths.push(path) };
  const weir = silent({ timeoutMs: 150, retries: 2, batchMs: 0, on });
  const decisions = await Promise.all([weir.check(question), weir.check(question)]);
  assert.deepEqual(paths, ["/v1/check/batch"]);
  assert.deepEqual(decisions.map(({ reason }) => reason), ["unreachable", "unreachable"]);
  for (const fail of ["open", "closed"]) {
    const listed = await silent({ timeoutMs: 150, retries: 2, fail, on }).batch([question, question]);
    assert.deepEqual(listed.map(({ allowed, reason }) => [allowed, reason]), Array(2).fill([fail === "open", "unreachable"]));
  }
  assert.equal(paths.length, 3);
});

test("the caller's signal ends a call with its own reason", async () => {
  const reason = new Error("the client left");
  const stop = new AbortController();
  const asked = silent({ timeoutMs: 60_000 }).check(question, { signal: stop.signal });
  stop.abort(reason);
  await assert.rejects(asked, reason);
  await assert.rejects(silent({}).check(question, { signal: AbortSignal.abort(reason) }), reason);
});

test("what is not said for ever is no exception: a place, a settlement, a report", async () => {
  const weir = silent({ timeoutMs: 60 });
  assert.equal((await weir.place({ limit: "shape" })).accepted, true);
  assert.equal(await weir.settle("r", 1), null);
  assert.equal(await weir.release("g", "s"), null);
  assert.equal(await weir.report("origin", "acme", "success"), false);
});

test("options that make no sense are refused by name", () => {
  const refused = (options, name) => assert.throws(() => silent(options), new RegExp(`^\\w+Error: ${name}: `));
  refused({ fail: undefined }, "fail");
  refused({ token: "" }, "token");
  refused({ url: "ftp://example.com" }, "url");
  refused({ timeoutMs: 0 }, "timeoutMs");
  refused({ timeoutMs: 1.5 }, "timeoutMs");
  refused({ retries: 11 }, "retries");
  refused({ batchMs: -1 }, "batchMs");
});

test("a hook that throws breaks nothing", async () => {
  const on = { request: () => { throw new Error("a bad day"); } };
  assert.equal((await silent({ timeoutMs: 60, on }).check(question)).reason, "unreachable");
});
