// What the scripts share: a client of the Worker under test, and how they tell what they saw.
import { Weir, WeirError } from "@weir/client";

/** A client that is patient: the machine may be busy. */
export function client(options) {
  return new Weir({ url: process.env.BASE, token: process.env.TOKEN, fail: "closed", timeoutMs: 20_000, ...options });
}

/** Prints one line of JSON. */
export function tell(value) {
  console.log(JSON.stringify(value));
}

/** What an error says of itself. */
export async function errorOf(promise) {
  try {
    return { answered: await promise };
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    const { status, type, title, detail, field } = error;
    return { status, type, title, detail, field };
  }
}

/** The next line of the standard input, which the test writes when it has done its part. */
export async function nextLine() {
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once("data", resolve));
  process.stdin.pause();
}
