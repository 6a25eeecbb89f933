// A check whose first answer is lost on its way.
import { client, tell } from "./client.mjs";
import { left } from "./left.mjs";

const tries = [];
const sent = [];
const on = {
  request: () => sent.push(performance.now()),
  response: ({ request, status }) => tries.push({ path: request.path, attempt: request.attempt, status }),
};
const weir = client({ on });
const question = { tenant: "acme", budget: "tokens", cost: 30 };
const told = {};

const { allowed, remaining } = await weir.check(question, { retries: 2 });
told.check = { allowed, remaining };
told.tries = tries.splice(0);
told.apart_ms = sent[1] - sent[0];
told.left = await left(weir);
tries.length = 0;

const once = await weir.check(question);
told.once = { allowed: once.allowed, reason: once.reason };
told.onceTries = tries.splice(0);
told.end = await left(weir);
tell(told);
