// A Worker, on the runtime of Workers: it reaches Weir over a service binding, or over the network.
import { everywhere } from "./everywhere.mjs";

/** As an application names it that has nothing but a binding. */
const BOUND = "https://weir";

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    const places = Object.fromEntries(searchParams);
    const token = env.WEIR_TOKEN;
    if (pathname === "/network") return Response.json(await everywhere({ ...places, token }));
    // What is not Weir's is not behind the binding.
    const bound = (input, init) => (input.origin === BOUND ? env.WEIR.fetch(input, init) : fetch(input, init));
    const { url, ...others } = places;
    const busy = others.busy.replace(url, BOUND);
    const silent = others.silent.replace(url, BOUND);
    return Response.json(await everywhere({ ...others, url: BOUND, busy, silent, token, fetch: bound }));
  },
};
