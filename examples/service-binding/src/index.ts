import { isProblem, type Decision, type Weir } from "./weir";

interface Env {
  /** The service binding. */
  WEIR: Weir;
  /** A token of the role service: `wrangler secret put WEIR_TOKEN`. */
  WEIR_TOKEN: string;
  /** What is protected. */
  ORIGIN: { fetch(request: Request): Promise<Response> };
}

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

/** Asks Weir before it asks the origin, and tells Weir how that went. */
export default {
  async fetch(request: Request & { cf?: object }, env: Env, context: Context): Promise<Response> {
    const tenant = request.headers.get("x-tenant") ?? "anonymous";
    const question = { tenant, checks: [{ limit: "per_tenant" }, { overload: "origin" }] };
    const decision = await env.WEIR.check(env.WEIR_TOKEN, question, request.cf);
    if (isProblem(decision)) {
      // A name or a token is wrong, or Weir is out of reach: this Worker lets requests pass then. Yours may not.
      console.error(`weir: ${decision.status} ${decision.detail} ${decision.field ?? ""}`);
    } else if (!decision.allowed) {
      return denied(decision);
    }
    const response = await env.ORIGIN.fetch(request);
    const outcome = response.status >= 500 || response.status === 429 ? "failure" : "success";
    context.waitUntil(env.WEIR.report(env.WEIR_TOKEN, { resource: "origin", tenant, outcome }));
    return response;
  },
};

/** 503 for who is early while the origin is overloaded, 429 for who has used up its own. */
function denied(decision: Decision): Response {
  const status = decision.reason === "overloaded" || decision.reason === "unavailable" ? 503 : 429;
  const headers = new Headers();
  if (decision.retry_after_ms !== null) {
    headers.set("retry-after", String(Math.max(1, Math.ceil(decision.retry_after_ms / 1000))));
  }
  return Response.json({ denied_by: decision.binding, reason: decision.reason }, { status, headers });
}
