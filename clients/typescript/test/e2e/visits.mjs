// The same visitors in front of every framework.
import { nextLine, tell } from "./client.mjs";

/** One visit: its status, and what the limiter says is left. */
export async function visit(send, url, who) {
  const response = await send(new Request(url, { headers: { who } }));
  await response.text();
  const { headers } = response;
  const remaining = headers.get("x-ratelimit-remaining") ?? headers.get("ratelimit-remaining");
  return { status: response.status, remaining: Number(remaining), again: headers.get("retry-after") !== null };
}

/** Visits, one after another. */
async function visits(reach, path, who, count) {
  const seen = [];
  for (let index = 0; index < count; index += 1) seen.push(await reach(path, who));
  return seen;
}

/** Everybody. */
export async function visitAll(reach) {
  const statuses = (seen) => seen.map(({ status }) => status);
  return {
    ann: await visits(reach, "/plain", "ann", 7),
    bob: await visits(reach, "/plain", "bob", 1),
    // Failures are given back: ten of them leave room for five successes, and a denial leaves nothing behind.
    bad: statuses(await visits(reach, "/skips/bad", "ann", 10)),
    good: statuses(await visits(reach, "/skips/good", "ann", 7)),
    budget: statuses(await visits(reach, "/budget", "acme", 3)),
    gone: statuses(await visits(reach, "/gone", "ann", 2)),
  };
}

const AGAIN_TRIES_MAX = 600;

/** The first status that is 200, or the last of many. */
async function again(reach) {
  let status;
  for (let tries = 0; tries < AGAIN_TRIES_MAX && status !== 200; tries += 1) {
    ({ status } = await reach());
    if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return status;
}

/** Visitors who never stop while Weir is killed and comes back, of an application that fails open and one that fails closed. */
export async function visitThroughAKill(open, closed) {
  const both = async () => [(await open()).status, (await closed()).status];
  tell(await both());
  const seen = new Set();
  let running = true;
  const visitors = Array.from({ length: 4 }, async () => {
    while (running) seen.add((await closed()).status);
  });
  await nextLine();
  tell(await both());
  await nextLine();
  const after = [await again(open), await again(closed)];
  running = false;
  await Promise.all(visitors);
  tell({ after, seen: [...seen].sort() });
}
