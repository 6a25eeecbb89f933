// Weir behind hono-rate-limiter is killed in the middle of visits, and comes back.
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { WeirStore } from "@weir/client/hono-rate-limiter";
import { client } from "./client.mjs";
import { visit, visitThroughAKill } from "./visits.mjs";

const app = new Hono();
for (const fail of ["open", "closed"]) {
  const store = new WeirStore(client({ fail }), (tenant) => ({ tenant, budget: "tokens" }));
  const keyGenerator = (context) => context.req.header("who");
  app.use(`/${fail}`, rateLimiter({ windowMs: 3_600_000, limit: 1_000_000, keyGenerator, store }));
}
app.all("*", (context) => context.text("ok"));

const reach = (path) => () => visit((request) => app.fetch(request), `http://app.example${path}`, "acme");
await visitThroughAKill(reach("/open"), reach("/closed"));
process.exit(0);
