// Weir behind express-rate-limit is killed in the middle of visits, and comes back.
import { once } from "node:events";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { WeirStore } from "@weir/client/express-rate-limit";
import { client } from "./client.mjs";
import { visit, visitThroughAKill } from "./visits.mjs";

const app = express();
for (const fail of ["open", "closed"]) {
  const store = new WeirStore(client({ fail }), (tenant) => ({ tenant, budget: "tokens" }));
  const keyGenerator = (request) => request.get("who");
  app.use(`/${fail}`, rateLimit({ windowMs: 3_600_000, limit: 1_000_000, keyGenerator, store }));
}
app.use((_request, response) => response.send("ok"));

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const base = `http://127.0.0.1:${server.address().port}`;
const reach = (path) => () => visit((request) => fetch(request), `${base}${path}`, "acme");
await visitThroughAKill(reach("/open"), reach("/closed"));
process.exit(0);
