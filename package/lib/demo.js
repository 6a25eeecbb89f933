// Demo traffic: a dozen tenants of three tiers in three regions, one of them a flood. About 250 checks a second.

const REGIONS = ["wnam", "weur", "apac"];

// Who sends, and how many checks a second. The flood alone asks for more units than the whole budget has.
const TENANTS = [
  ["enterprise:acme", 12],
  ["enterprise:globex", 9],
  ["enterprise:initech", 6],
  ["pro:hooli", 8],
  ["pro:umbrella", 7],
  ["pro:wonka", 5],
  ["pro:stark", 4],
  ["free:duff", 3],
  ["free:tyrell", 3],
  ["free:cyberdyne", 2],
  ["free:monolith", 1],
  ["free:flood", 190],
];

// Requests under way at a time: a slow machine gets fewer, never a queue of them.
const CONCURRENCY_MAX = 64;

// The budget and the limit of the policy that Weir ships with; a policy without them is sent what it has.
const named = async (url, token) => {
  const answer = await fetch(`${url}/operator/v1/policy`, { headers: { authorization: `Bearer ${token}` } });
  const { budgets = {}, limits = {} } = answer.ok ? await answer.json() : {};
  const one = (map, name) => (name in map ? name : Object.keys(map)[0]);
  return { budget: one(budgets, "tokens"), limit: one(limits, "per_ip") };
};

// Every fourth check is of the limit, by one of fifty addresses of which one is busy.
const question = ({ budget, limit }, tenant, step) => {
  if (limit !== undefined && (budget === undefined || step % 4 === 3)) {
    return { tenant, limit, key: `203.0.113.${step % 8 === 3 ? 1 : step % 50}` };
  }
  return budget === undefined ? undefined : { tenant, budget, cost: 1 + ((step * 7) % 9) };
};

// Starts the traffic; `stop` ends it.
export const demo = (url, token) => {
  let underWay = 0;
  let names;
  named(url, token).then((found) => (names = found), () => {});
  const ask = async (tenant, region, step) => {
    const body = names === undefined ? undefined : question(names, tenant, step);
    if (body === undefined || underWay >= CONCURRENCY_MAX) {
      return;
    }
    underWay += 1;
    try {
      const answer = await fetch(`${url}/v1/check`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "weir-region": region,
        },
        body: JSON.stringify(body),
      });
      await answer.arrayBuffer();
    } catch {
      // The Worker has ended, or is about to.
    } finally {
      underWay -= 1;
    }
  };
  const timers = TENANTS.map(([tenant, perSecond], index) => {
    let step = 0;
    return setInterval(() => {
      ask(tenant, REGIONS[(index + step) % REGIONS.length], step);
      step += 1;
    }, 1000 / perSecond);
  });
  return { stop: () => timers.forEach(clearInterval) };
};
