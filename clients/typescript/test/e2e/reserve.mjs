// Reservations, settled when their scope ends, however it ends.
import { client, left, tell } from "./client.mjs";
import { withinABlock } from "../../build/application.js";

const settled = [];
const on = { request: ({ path, body }) => path === "/v1/settle" && settled.push(JSON.parse(body).actual) };
const weir = client({ on });
const question = { tenant: "acme", budget: "tokens", cost: 100 };
const told = {};

/** Runs one, and tells what it came to. */
async function scope(run, asked = question) {
  let outcome;
  try {
    outcome = await weir.reserve(asked, run);
  } catch (error) {
    outcome = { thrown: error.message };
  }
  const { allowed, value, thrown } = outcome;
  return { allowed, value, thrown, settled: settled.splice(0), left: await left(weir) };
}

function fail(why) {
  throw new Error(why);
}

told.used = await scope(async (reservation) => {
  reservation.used(10);
  reservation.used(30);
  return "answer";
});
told.silent = await scope(() => "answer");
told.threw = await scope(() => fail("before a word"));
told.threwLate = await scope((reservation) => {
  reservation.used(20);
  fail("after a word");
});
told.beyond = await scope((reservation) => reservation.used(150));
told.denied = await scope(() => fail("it is not called"), { ...question, cost: 5_000 });
const several = [{ budget: "tokens", cost: 100 }, { limit: "per_ip", key: "k" }, { guard: "calls" }];
told.several = await scope(async (reservation) => {
  const other = await weir.check({ tenant: "acme", guard: "calls" });
  reservation.used(50);
  return other.reason;
}, { tenant: "acme", checks: several });
told.free = (await weir.acquire({ tenant: "acme", guard: "calls" }, () => "mine")).value;
told.block = await withinABlock(weir, 40);
told.blockSettled = settled.splice(0);
told.left = await left(weir);
tell(told);
