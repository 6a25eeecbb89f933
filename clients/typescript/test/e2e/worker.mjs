// A Worker that asks Weir over a service binding: everything that the client does, within one request.
import { Weir } from "@weir/client";

export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/healthz") return new Response("ok");
    const requests = [];
    const weir = new Weir({
      url: "https://weir", token: env.WEIR_TOKEN, fail: "closed", timeoutMs: 20_000, batchMs: 0,
      fetch: (input, init) => env.WEIR.fetch(input, init),
      on: { request: ({ path }) => requests.push(path) },
    });
    const question = { tenant: "acme", budget: "tokens", cost: 10 };
    const told = {};
    const together = await Promise.all([weir.check(question), weir.check(question)]);
    told.together = together.map(({ remaining }) => remaining);
    told.batch = requests.splice(0);
    told.again = (await weir.check(question, { retries: 1 })).remaining;
    told.reserved = await weir.reserve(question, (reservation) => reservation.used(4));
    told.slot = (await weir.acquire({ tenant: "acme", guard: "calls" }, (slot) => slot.signal.aborted)).value;
    told.left = (await weir.check({ ...question, cost: 0 })).remaining;
    return Response.json(told);
  },
};
