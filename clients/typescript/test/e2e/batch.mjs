// Fifty checks of one tick in one request, and some of them at fault.
import { WeirError } from "@weir/client";
import { client, errorOf, tell } from "./client.mjs";

const requests = [];
const weir = client({ batchMs: 0, on: { request: ({ path }) => requests.push(path) } });
const one = { tenant: "acme", budget: "tokens", cost: 2 };
const told = {};

const decisions = await Promise.all(Array.from({ length: 50 }, () => weir.check(one)));
told.remaining = decisions.map(({ remaining }) => remaining);
told.allowed = decisions.filter(({ allowed }) => allowed).length;
told.requests = requests.splice(0);

const mixed = [one, { tenant: "acme", budget: "none" }, one, { tenant: "", budget: "tokens" }, one];
told.mixed = await Promise.all(mixed.map((question) => errorOf(weir.check(question))));
told.retried = requests.splice(0);

told.alone = (await weir.check(one)).remaining;
told.single = requests.splice(0);

// A batch of 1,500 is more than Weir takes at once.
const many = await weir.batch(Array.from({ length: 1_500 }, () => ({ ...one, cost: 0 })));
told.many = {};
for (const { reason, cause } of many) {
  const answer = `${reason} ${cause?.message ?? ""}`.trim();
  told.many[answer] = (told.many[answer] ?? 0) + 1;
}
told.cut = requests.splice(0);

// The same in one call, where errors stand in the places of decisions.
const listed = await client().batch(mixed.map((question) => ({ ...question, cost: 0 })));
told.listed = listed.map((answer) => (answer instanceof WeirError ? answer.status : answer.reason));
tell(told);
