// What stands before Weir may answer in its place: on a real server that says what Weir never does.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Weir, WeirError } from "../../dist/index.js";

/** What each path says: status, body, and header fields. */
const ANSWERS = {
  "/page/v1/check": [200, "<html>Log in to the network</html>", {}],
  "/other/v1/check": [200, '{"hello":"world"}', {}],
  "/gateway/v1/check": [502, "Bad gateway", {}],
  "/busy/v1/check": [429, "Slow down", { "retry-after": "7" }],
  "/moved/v1/check": [307, "", { location: "/elsewhere" }],
  "/denied/v1/check": [403, '{"type":"t","title":"T","status":403,"detail":"D","decision":"5.x"}', {}],
  "/lost/v1/check": [404, "<html>Not here</html>", {}],
  "/few/v1/check/batch": [200, '{"decisions":[]}', {}],
  "/wrong/v1/check/batch": [401, '{"type":"/problems/unauthorized","title":"T","status":401,"detail":"D"}', {}],
};

const seen = [];
const server = createServer((request, response) => {
  seen.push({ url: request.url, headers: request.headers });
  request.resume();
  const [status, body, headers] = ANSWERS[request.url] ?? [500, "", {}];
  response.writeHead(status, headers).end(body);
});
before(() => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => {
  server.close();
  server.closeAllConnections();
});

const question = { tenant: "acme", budget: "tokens" };

/** A client of a server below a path. */
function below(path, options) {
  const url = `http://127.0.0.1:${server.address().port}/${path}`;
  return new Weir({ url, token: "secret", fail: "closed", timeoutMs: 5_000, ...options });
}

for (const [path, status] of [["page", 200], ["other", 200], ["gateway", 502], ["busy", 429]]) {
  test(`an answer that is not Weir's is no decision: ${path}`, async () => {
    const decision = await below(path).check(question);
    assert.deepEqual([decision.allowed, decision.reason, decision.cause.status], [false, "unreachable", status]);
    assert.ok(decision.cause instanceof WeirError);
  });
}

test("a denial in Weir's place says when to come back, if anybody did", async () => {
  assert.equal((await below("busy").check(question)).retry_after_ms, 7_000);
  assert.equal((await below("gateway").check(question)).retry_after_ms, 1_000);
});

test("a pause that is longer than the deadline is not waited for", async () => {
  const start = performance.now();
  const decision = await below("busy", { retries: 3 }).check(question);
  assert.equal(decision.reason, "unreachable");
  assert.ok(performance.now() - start < 4_000);
});

test("a denial tells the id that leads to its explanation", async () => {
  await assert.rejects(below("denied").check(question), { status: 403, decision: "5.x" });
  await assert.rejects(below("lost").check(question), { status: 404, decision: undefined });
});

test("the token goes nowhere else, and a wrong address is an error", async () => {
  seen.length = 0;
  await assert.rejects(below("moved").check(question), { name: "WeirError", status: 307 });
  await assert.rejects(below("lost").check(question), { name: "WeirError", status: 404, type: "about:blank" });
  assert.deepEqual(seen.map(({ url }) => url), ["/moved/v1/check", "/lost/v1/check"]);
});

test("a batch that is answered in part is not answered, and one that is refused is refused to all", async () => {
  const both = (path) => {
    const weir = below(path, { batchMs: 0 });
    return Promise.allSettled([weir.check(question), weir.check(question)]);
  };
  const few = await both("few");
  assert.deepEqual(few.map(({ value }) => value?.reason), ["unreachable", "unreachable"]);
  const wrong = await both("wrong");
  assert.deepEqual(wrong.map(({ reason }) => reason?.status), [401, 401]);
  const fewListed = await below("few").batch([question, question]);
  assert.deepEqual(fewListed.map(({ reason }) => reason), ["unreachable", "unreachable"]);
  const wrongListed = await below("wrong").batch([question, question]);
  assert.deepEqual(wrongListed.map((error) => [error instanceof WeirError, error.status]), [[true, 401], [true, 401]]);
});

test("a list is asked in as many requests as it needs, one alone as a check, and none asks nothing", async () => {
  seen.length = 0;
  const weir = below("few");
  assert.deepEqual(await weir.batch([]), []);
  assert.equal(seen.length, 0);
  await weir.batch(new Set([question]));
  assert.deepEqual(seen.splice(0).map(({ url }) => url), ["/few/v1/check"]);
  // 1,000 and 1,000 and 1; three of 30 KiB are two requests.
  const large = { tenant: "a".repeat(30 * 1024), budget: "tokens" };
  for (const [list, requests] of [[Array(2_001).fill(question), 3], [Array(3).fill(large), 2]]) {
    assert.equal((await weir.batch(list)).length, list.length);
    assert.equal(seen.splice(0).length, requests);
  }
});

test("what is no JSON is thrown before anything is asked", async () => {
  seen.length = 0;
  await assert.rejects(below("few").batch([question, { ...question, cost: 1n }]), TypeError);
  assert.equal(seen.length, 0);
});

test("hooks see each request without the token, and may add fields", async () => {
  seen.length = 0;
  const events = [];
  const on = {
    request: (event) => {
      event.headers.set("traceparent", "00-1-2-01");
      events.push(event);
    },
    response: (event) => events.push(event),
  };
  await below("gateway", { on, retries: 1 }).check(question);
  const sent = seen.map(({ headers }) => [headers.traceparent, headers.authorization, headers["content-type"]]);
  assert.deepEqual(sent, Array(2).fill(["00-1-2-01", "Bearer secret", "application/json"]));
  const [request, response, second] = events;
  assert.deepEqual([request.path, request.attempt, second.attempt], ["/v1/check", 1, 2]);
  assert.equal(request.headers.has("authorization"), false);
  assert.deepEqual(JSON.parse(request.body), question);
  assert.equal(response.request, request);
  assert.deepEqual([response.status, response.error.status], [502, 502]);
  assert.ok(response.durationMs > 0);
});
