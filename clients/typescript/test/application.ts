/** An application in TypeScript: what compiles, and what must not. */
import { Weir, WeirError, type Decision, type Question } from "@weir/client";

/** Settles when the block ends. */
export async function withinABlock(weir: Weir, units: number): Promise<boolean> {
  await using reservation = await weir.reserve({ tenant: "acme", budget: "tokens", cost: 100 });
  reservation.used(units);
  return reservation.allowed;
}

/** Releases when the block ends; whether somebody else could have it meanwhile, and afterwards. */
export async function slotInABlock(weir: Weir, question: { tenant: string; guard: string }): Promise<string[]> {
  const other = async () => (await weir.acquire(question, () => "taken")).decision.reason;
  const reasons: string[] = [];
  {
    await using slot = await weir.acquire(question);
    reasons.push(slot.decision.reason, await other());
  }
  reasons.push(await other());
  return reasons;
}

/** An outcome knows its value once it is known to be allowed. */
export async function answer(weir: Weir): Promise<string | Decision> {
  const outcome = await weir.reserve({ tenant: "acme", budget: "tokens" }, () => "answer");
  return outcome.allowed ? outcome.value : outcome.decision;
}

/** Each answer is a decision or what was wrong. */
export async function ofEach(weir: Weir, questions: Set<Question>): Promise<(boolean | string)[]> {
  const answers = await weir.batch(questions);
  return answers.map((answer) => (answer instanceof WeirError ? answer.detail : answer.allowed));
}

interface Model {
  complete(prompt: string): Promise<{ usage: { total_tokens: number } }>;
}

/** As the README shows it. */
export async function ofTheReadme(weir: Weir, tenant: string, model: Model, prompt: string, tooMany: (why: Decision) => null) {
  const outcome = await weir.reserve({ tenant, budget: "tokens", cost: 1500 }, async (reservation) => {
    const answer = await model.complete(prompt);
    reservation.used(answer.usage.total_tokens);
    return answer;
  });
  return outcome.allowed ? outcome.value : tooMany(outcome.decision);
}

/** Never called: it has to be refused by the compiler. */
export function refused(weir: Weir): void {
  // @ts-expect-error: what `fail` says is not left to chance
  new Weir({ url: "https://weir.example.com", token: "t" });
  // @ts-expect-error: nothing is asked
  void weir.check({ tenant: "acme" });
  // @ts-expect-error: nothing has a price
  void weir.check({ tenant: "acme", budget: "tokens", price: 3 });
  // @ts-expect-error: the value of a scope that may not have run
  void weir.reserve({ tenant: "acme", budget: "tokens" }, () => "x").then((outcome) => outcome.value.length);
  // @ts-expect-error: a question of a list may be at fault
  void weir.batch([{ tenant: "acme", budget: "tokens" }]).then(([answer]) => answer?.allowed);
  // @ts-expect-error: outcomes have names
  void weir.report("origin", "acme", "good");
}
