/** A Worker that binds Weir, by the types of `examples/service-binding`: what compiles, and what must not. */
import { isProblem, type Weir } from "../../example/weir";

/** The decision's fields are the client's. */
export async function remaining(weir: Weir): Promise<number> {
  const decision = await weir.check("token", { tenant: "acme", budget: "tokens", reserve: true });
  return isProblem(decision) ? decision.status : decision.remaining;
}

/** Never called: it has to be refused by the compiler. */
export async function refused(weir: Weir): Promise<void> {
  // @ts-expect-error: nothing is asked
  await weir.check("token", { tenant: "acme" });
  const decision = await weir.check("token", { tenant: "acme", budget: "tokens" });
  // @ts-expect-error: it may be a problem
  console.log(decision.allowed);
  if (isProblem(decision)) return;
  // @ts-expect-error: over a binding there is always an answer
  console.log(decision.cause);
  // @ts-expect-error: the same
  console.log(decision.reason === "unreachable");
}
