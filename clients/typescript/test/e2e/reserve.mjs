// Reservations, settled when their scope ends, however it ends.
import { client, tell } from "./client.mjs";
import { settledLeft } from "./left.mjs";
import { withinABlock } from "../../build/application.js";

const settled = [];
const on = { request: ({ path, body }) => path === "/v1/settle" && settled.push(JSON.parse(body).actual) };
const weir = client({ on });
const question = { tenant: "acme", budget: "tokens", cost: 100 };
const told = {};

/** Runs one, after which `due` units are left, and tells what it came to. */
async function scope(due, run, asked = question) {
  let outcome;
  try {
    outcome = await weir.reserve(asked, run);
  } catch (error) {
    outcome = { thrown: error.message };
  }
  const { allowed, value, thrown } = outcome;
  return { allowed, value, thrown, settled: settled.splice(0), left: await settledLeft(weir, due) };
}

function fail(why) {
  throw new Error(why);
}

told.used = await scope(970, async (reservation) => {
  reservation.used(10);
  reservation.used(30);
  return "answer";
});
told.silent = await scope(870, () => "answer");
told.threw = await scope(870, () => fail("before a word"));
told.threwLate = await scope(850, (reservation) => {
  reservation.used(20);
  fail("after a word");
});
told.beyond = await scope(700, (reservation) => reservation.used(150));
told.denied = await scope(700, () => fail("it is not called"), { ...question, cost: 5_000 });
const several = [{ budget: "tokens", cost: 100 }, { limit: "per_ip", key: "k" }, { guard: "calls" }];
told.several = await scope(650, async (reservation) => {
  const other = await weir.check({ tenant: "acme", guard: "calls" });
  reservation.used(50);
  return other.reason;
}, { tenant: "acme", checks: several });
told.free = (await weir.acquire({ tenant: "acme", guard: "calls" }, () => "mine")).value;
told.block = await withinABlock(weir, 40);
told.blockSettled = settled.splice(0);
told.left = await settledLeft(weir, 610);
tell(told);
