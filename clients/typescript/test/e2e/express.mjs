// Weir behind express-rate-limit, on a real server.
import { once } from "node:events";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { WeirStore } from "@weir/client/express-rate-limit";
import { client, tell } from "./client.mjs";
import { visit, visitAll } from "./visits.mjs";

const weir = client();

/** A limiter in front of everything below a path, counted by the header `who`. */
function limiter(store, more) {
  const keyGenerator = (request) => request.get("who");
  const headers = { standardHeaders: "draft-8", legacyHeaders: true };
  return rateLimit({ windowMs: 3_600_000, limit: 5, ...headers, keyGenerator, store, ...more });
}

/** As the README shows it. */
function ofTheReadme(app) {
  app.use(rateLimit({ windowMs: 60_000, limit: 100, store: new WeirStore(weir, "per_ip") }));
  return app;
}
ofTheReadme(express());

const app = express();
const plain = limiter(new WeirStore(weir, "hits"));
app.use("/plain", plain, (_request, response) => response.send("ok"));
app.use("/skips", limiter(new WeirStore(weir, "skips"), { skipFailedRequests: true }));
app.use("/skips/good", (_request, response) => response.send("ok"));
app.use("/skips/bad", (_request, response) => response.status(400).send("bad"));
const byTenant = new WeirStore(weir, (tenant) => ({ tenant, budget: "tokens", cost: 400 }));
app.use("/budget", limiter(byTenant, { limit: () => 1_000 }), (_request, response) => response.send("ok"));
const gone = client({ url: process.env.GONE, timeoutMs: 500, fail: "closed" });
app.use("/gone", limiter(new WeirStore(gone, "hits")), (_request, response) => response.send("ok"));

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const base = `http://127.0.0.1:${server.address().port}`;
const reach = (path, who) => visit((request) => fetch(request), `${base}${path}`, who);
const told = await visitAll(reach);
told.looked = (await plain.getKey("ann")).totalHits;
try {
  plain.resetKey("ann");
} catch (error) {
  told.reset = error.message;
}
tell(told);
server.close();
server.closeAllConnections();
