/**
 * What is asked. Names are those of the HTTP interface, so that a question reads alike here, in its documentation, in a log and
 * in the console.
 */

/** Units to charge: a whole number from 0 to 2^53-1, 1 when absent. 0 looks without charging anything. */
type Cost = { cost?: number };

/** Units of a budget of the tenant. */
export type OfBudget = { budget: string } & Cost;

/** Units of a limit; `key` is what it counts by (1 to 128 bytes), `keys` the key of each part of a limit made of others. */
export type OfLimit = { limit: string; key?: string; keys?: Record<string, string> } & Cost;

/** Units of a meter of the tenant. */
export type OfMeter = { meter: string } & Cost;

/** Units of several meters of the tenant, all or none. */
export type OfMeters = { meters: Record<string, number> };

/** A slot of a guard of the tenant: a call at a time. `acquire` keeps and releases it. */
export type OfGuard = { guard: string };

/** Whether the tenant may use an overloaded resource. `report` tells how that went. */
export type OfOverload = { overload: string } & Cost;

/** One thing to charge. */
export type Item = OfBudget | OfLimit | OfMeter | OfMeters | OfGuard | OfOverload;

/** Up to 16 things to charge, all or nothing; at most one of them a guard. */
export type Items = { checks: Item[]; require?: "all" };

/**
 * A check. `tenant` (1 to 128 bytes) says who asks, and may be absent for limits that are not per tenant. With `reserve` the
 * decision names a reservation, to be settled within 15 minutes.
 */
export type Question = { tenant?: string; reserve?: boolean } & (Item | Items);

/** Asks for a place in the queue of a `leaky_bucket`. */
export type PlaceQuestion = { tenant?: string; limit: string; key?: string } & Cost;

/** How a request to a resource came out. */
export type ReportedOutcome = "success" | "failure";

/** What a question charges, item by item. */
export function itemsOf(question: Question): Item[] {
  return "checks" in question ? question.checks : [question];
}

/** The guard that a question takes a slot of. */
export function guardOf(question: Question): string | undefined {
  const guarded = itemsOf(question).find((item): item is OfGuard => "guard" in item && item.guard !== undefined);
  return guarded?.guard;
}

/** Units that a settlement in full names: the largest cost of what can be settled. */
export function unitsOf(question: Question): number {
  return Math.max(0, ...itemsOf(question).flatMap(settledCosts));
}

function settledCosts(item: Item): number[] {
  if ("guard" in item || "overload" in item) return [];
  if ("meters" in item) return Object.values(item.meters);
  return [item.cost ?? 1];
}
