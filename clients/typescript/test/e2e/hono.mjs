// Weir behind hono-rate-limiter, in a Hono application.
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { WeirStore } from "@weir/client/hono-rate-limiter";
import { client, tell } from "./client.mjs";
import { visit, visitAll } from "./visits.mjs";

const weir = client();

/** A limiter in front of everything below a path, counted by the header `who`. */
function limiter(store, more) {
  const keyGenerator = (context) => context.req.header("who");
  return rateLimiter({ windowMs: 3_600_000, limit: 5, standardHeaders: "draft-6", keyGenerator, store, ...more });
}

const app = new Hono();
const plain = new WeirStore(weir, "hits");
app.use("/plain", limiter(plain));
app.use("/skips/*", limiter(new WeirStore(weir, "skips"), { skipFailedRequests: true }));
const byTenant = new WeirStore(weir, (tenant) => ({ tenant, budget: "tokens", cost: 400 }));
app.use("/budget", limiter(byTenant, { limit: () => 1_000 }));
const gone = client({ url: process.env.GONE, timeoutMs: 500, fail: "closed" });
app.use("/gone", limiter(new WeirStore(gone, "hits")));
app.all("/skips/bad", (context) => context.text("bad", 400));
app.all("*", (context) => context.text("ok"));

const reach = (path, who) => visit((request) => app.fetch(request), `http://app.example${path}`, who);
const told = await visitAll(reach);
told.looked = (await plain.get("ann")).totalHits;
try {
  plain.resetKey("ann");
} catch (error) {
  told.reset = error.message;
}
tell(told);
