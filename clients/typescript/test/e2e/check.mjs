// Checks of every kind, denied ones, and requests that are wrong.
import { client, errorOf, tell } from "./client.mjs";
import { left } from "./left.mjs";

const weir = client();
const tenant = "acme";
const told = {};

told.budget = await weir.check({ tenant, budget: "tokens", cost: 3 });
told.denied = await weir.check({ tenant, budget: "tokens", cost: 998 });
told.never = await weir.check({ tenant, budget: "tokens", cost: 1_001 });
told.limit = await weir.check({ limit: "per_ip", key: "203.0.113.9" });
told.login = await weir.check({ limit: "login", keys: { ip: "203.0.113.9", user: "bob" } });
told.meter = await weir.check({ tenant, meter: "results", cost: 20 });
told.meters = await weir.check({ tenant, meters: { results: 2, bytes: 4_096 } });
told.guard = await weir.check({ tenant, guard: "calls" });
told.released = await weir.release("calls", told.guard.slot);
told.overload = await weir.check({ tenant, overload: "origin" });
told.reported = await weir.report("origin", tenant, "success");
const checks = [{ budget: "tokens", cost: 7 }, { limit: "per_ip", key: "203.0.113.9" }, { overload: "origin" }];
told.several = await weir.check({ tenant, checks, require: "all" });
told.place = await weir.place({ limit: "shape", key: "k" });
told.queued = await weir.place({ limit: "shape", key: "k" });
told.left = await left(weir);

const wrong = { tenant, checks: [{ budget: "tokens" }, { limit: "per_ip", key: "k", cost: -1 }] };
told.invalid = await errorOf(weir.check(wrong));
told.unknown = await errorOf(weir.check({ tenant, budget: "none" }));
told.stranger = await errorOf(client({ token: "nobody" }).check({ tenant, budget: "tokens" }));
tell(told);
