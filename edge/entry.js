// The Worker's module entry. What decides (`POST /v1/check` and its batch) goes to wasm as text and comes back as text,
// in one call; all else goes to the Worker as it is built, which sees requests and makes responses itself.
//
// Whatever this module exports answers the outside: the entry point and the four objects, nothing else. Each method of
// the entry point can be called by other Workers over a service binding, and authenticates inside itself.

import { WorkerEntrypoint } from "cloudflare:workers";
import { DOCUMENTS } from "./documents.js";
import { again, isKept, remember } from "./prepared.js";
import Worker, { Coordinator, Ledger, Region, Registry } from "./worker.js";

export { Coordinator, Ledger, Region, Registry };

const { admits, misframed, held, decide, flush, traced } = Worker.prototype;

// Set when wasm has stopped on a panic: the Worker then starts anew with its next request.
const wasm = globalThis.__worker_init_state;

// What wasm asks for by name when somebody wants to read it.
globalThis.weirDocument = (name) => DOCUMENTS[name];

const CHECK = "/v1/check";
const DECIDES = new Set([CHECK, `${CHECK}/batch`]);

// Longer bodies, and those of another framing, are read piece by piece, up to the same bound (`CHECK_BODY_BYTES_MAX`).
const BODY_BYTES_MAX = 65536;

const JSON_TYPE = "application/json";
const PROBLEM_TYPE = "application/problem+json";

// The path of a URL without a query; another text for one with a query.
const pathOf = (url) => url.slice(url.indexOf("/", 8));

// How long the body of a request says to be that can be asked as text; nothing of one that is left to the Worker.
const lengthOf = (headers) => {
  const length = headers.get("content-length");
  const type = headers.get("content-type");
  const isPlain =
    length !== null &&
    length >= 0 &&
    length <= BODY_BYTES_MAX &&
    (type === JSON_TYPE || !!type?.startsWith(`${JSON_TYPE};`)) &&
    !headers.has("transfer-encoding") &&
    !headers.has("idempotency-key");
  return isPlain ? +length : undefined;
};

const pinned = (headers, env) =>
  (env.ALLOW_REGION_HEADER === "1" ? headers.get("weir-region") : null) ?? env.REGION;

// Whether a question is traced, and as what (`traced`): nothing where no collector is set.
const traceOf = (headers, env) =>
  env.WEIR_OTLP_ENDPOINT === undefined
    ? undefined
    : traced(env, headers.get("traceparent") ?? undefined, headers.get("tracestate") ?? undefined);

// The response of a batch that `held` has answered.
const respondBatch = (body) => {
  const headers = { "content-type": JSON_TYPE, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  return new Response(body, { headers });
};

// The response of what was decided by what is held: the body, and the values of four headers, the last two of a denial alone.
const respondHeld = (body, policy, left, decision, retryAfter) => {
  // Written at once: an object that grows is slower to read.
  const headers = {
    "content-type": JSON_TYPE,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "ratelimit-policy": policy,
    ratelimit: left,
  };
  if (decision) {
    headers["weir-decision"] = decision;
  }
  if (retryAfter) {
    headers["retry-after"] = retryAfter;
  }
  return new Response(body, { headers });
};

// The response of what `decide` has answered: lines of status, body, then name and value of each header.
const respond = (text) => {
  const lines = text.split("\n");
  const status = +lines[0];
  const headers = {
    "content-type": status === 200 ? JSON_TYPE : PROBLEM_TYPE,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  for (let at = 2; at < lines.length; at += 2) {
    headers[lines[at]] = lines[at + 1];
  }
  return new Response(lines[1], { status, headers });
};

// A question: who asks, where, and what; of what comes over HTTP also how many bytes it says that it has.
const questionOf = (authorization, region, continent, longitude) => ({
  authorization,
  region,
  continent,
  longitude,
  text: "",
  body: undefined,
  length: BODY_BYTES_MAX,
  trace: undefined,
});

// What was asked before in the same words, decided by what is held: the lines of an answer (body, `ratelimit-policy`,
// `ratelimit`, and of a denial `weir-decision` and `retry-after`), or nothing where the words have to be read.
const decideAgain = (asked, env, context) => {
  const answered = again(asked);
  if (answered?.flushes) {
    flush(env, context);
  }
  return answered?.lines;
};

// What is decided by what is held, once it is read: the same lines (of a batch the body alone), or nothing where somebody has to
// be asked.
const decideHeld = (asked, batch, env, context) => {
  const { authorization, region, continent, longitude, body } = asked;
  const text = held(authorization, region, continent, longitude, batch, body);
  if (text === undefined) {
    return undefined;
  }
  const [flushes, ...lines] = text.split("\n");
  if (flushes === "1") {
    flush(env, context);
  }
  if (!batch) {
    remember(asked);
  }
  return lines;
};

// Notes what wasm has thrown, where it stopped on a panic.
const noted = (error) => {
  wasm.criticalError ||= error instanceof WebAssembly.RuntimeError;
  return error;
};

const ENCODER = new TextEncoder();

// The bytes of a text that was read from them. They are not UTF-8 where a character that stands for malformed ones makes more
// of them than came: then it is malformed here, too, and refused where it stands.
const bytesOf = (text, length) => {
  const bytes = ENCODER.encode(text);
  if (bytes.byteLength <= length || !text.includes("\ufffd")) {
    return bytes;
  }
  const parts = text.split("\ufffd").flatMap((part) => [...ENCODER.encode(part), 0xff]);
  return Uint8Array.from(parts.slice(0, -1));
};

const answer = async (request, path, asked, env, context) => {
  const { authorization, region, continent, longitude, trace } = asked;
  const batch = path.length > CHECK.length;
  // The platform reads text faster than bytes, and over HTTP no more of it than its length says. A Worker of the same account
  // may say less than it sends.
  asked.text = await request.text();
  try {
    // What is traced takes the way of all.
    const plain = trace === undefined;
    let lines = plain && !batch ? decideAgain(asked, env, context) : undefined;
    if (lines === undefined) {
      asked.body = bytesOf(asked.text, asked.length);
      if (asked.body.byteLength > asked.length) {
        return respond(misframed());
      }
      lines = plain ? decideHeld(asked, batch, env, context) : undefined;
    }
    if (lines !== undefined) {
      return batch ? respondBatch(lines[0]) : respondHeld(lines[0], lines[1], lines[2], lines[3], lines[4]);
    }
    const text = decide(env, context, path, authorization, region, continent, longitude, asked.body, trace);
    return respond(typeof text === "string" ? text : await text);
  } catch (error) {
    throw noted(error);
  }
};

const textOrNothing = (value) => (typeof value === "string" ? value : undefined);

// The answer to what another Worker asks over a service binding, in kind, where it is decided by what is held; else nothing.
const answerCall = (token, question, arrival, batch, env, context) => {
  if (typeof token !== "string" || wasm.criticalError) {
    return undefined;
  }
  const isText = typeof question === "string";
  let text = question;
  if (!isText) {
    try {
      text = JSON.stringify(question);
    } catch {
      // What JSON cannot express is refused by its route.
      return undefined;
    }
  }
  const region = env.REGION;
  const from = region === undefined ? arrival : undefined;
  const continent = textOrNothing(from?.continent);
  const longitude = textOrNothing(from?.longitude);
  const asked = questionOf(`Bearer ${token}`, region, continent, longitude);
  asked.text = text ?? "";
  try {
    let lines = batch ? undefined : decideAgain(asked, env, context);
    if (lines === undefined) {
      asked.body = ENCODER.encode(asked.text);
      if (asked.body.byteLength > BODY_BYTES_MAX) {
        return undefined;
      }
      lines = decideHeld(asked, batch, env, context);
    }
    return lines === undefined || isText ? lines?.[0] : JSON.parse(lines[0]);
  } catch (error) {
    throw noted(error);
  }
};

export default class extends WorkerEntrypoint {
  fetch(request) {
    const path = pathOf(request.url);
    if (DECIDES.has(path) && request.method === "POST" && !wasm.criticalError) {
      const { headers } = request;
      const authorization = headers.get("authorization");
      const length = authorization === null ? undefined : lengthOf(headers);
      if (length !== undefined) {
        const region = pinned(headers, this.env);
        const { continent, longitude } = (region === undefined && request.cf) || {};
        const asked = questionOf(authorization, region, continent, longitude);
        // Nothing is read of a body before its bearer is known.
        if (isKept(asked) || admits(authorization)) {
          asked.trace = traceOf(headers, this.env);
          asked.length = length;
          return answer(request, path, asked, this.env, this.ctx);
        }
      }
    }
    return new Worker(this.ctx, this.env).fetch(request);
  }

  acquire(...given) {
    return new Worker(this.ctx, this.env).acquire(...given);
  }

  check(...given) {
    const [token, question, arrival] = given;
    const answered = answerCall(token, question, arrival, false, this.env, this.ctx);
    return answered ?? new Worker(this.ctx, this.env).check(...given);
  }

  checkBatch(...given) {
    const [token, question, arrival] = given;
    const answered = answerCall(token, question, arrival, true, this.env, this.ctx);
    return answered ?? new Worker(this.ctx, this.env).checkBatch(...given);
  }

  release(...given) {
    return new Worker(this.ctx, this.env).release(...given);
  }

  renew(...given) {
    return new Worker(this.ctx, this.env).renew(...given);
  }

  report(...given) {
    return new Worker(this.ctx, this.env).report(...given);
  }

  reserve(...given) {
    return new Worker(this.ctx, this.env).reserve(...given);
  }

  settle(...given) {
    return new Worker(this.ctx, this.env).settle(...given);
  }
}
