// What is left of the budget, in every runtime.

/** Units that are left of the budget of acme. */
export async function left(weir) {
  const { remaining } = await weir.check({ tenant: "acme", budget: "tokens", cost: 0 });
  return remaining;
}

/** Asks until `due` units are left, for ten seconds at most: an isolate hears of a settlement only with its next contact. */
export async function settledLeft(weir, due) {
  const end = performance.now() + 10_000;
  for (;;) {
    const units = await left(weir);
    if (units === due || performance.now() > end) return units;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
